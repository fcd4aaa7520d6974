"""Agreement measures by hand, by scikit-learn, and at their arithmetic limits."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from cuecard.stats.models.agreement import agreement, nba, nbr, nbr_released


def test_small_case_by_hand() -> None:
    gold = np.array(["e", "n", "c", "e", "n", "c"])
    normal = np.array(["e", "n", "c", "n", "n", "e"])
    biased = np.array(["e", "c", "c", "n", "e", "c"])
    result = agreement(normal, biased, gold)
    assert (result.n, result.agreed, result.both_right) == (6, 3, 2)
    assert (result.normal_right, result.biased_right) == (4, 3)
    assert result.only_biased == 1 / 6
    assert nba(normal, biased) == result.nba == 3 / 6
    assert nbr(normal, biased, gold) == result.nbr == 2 / 3
    assert nbr_released(normal, biased, gold) == result.nbr_released == 2 / 4


def test_kappa_equals_scikit_learn_and_is_zero_on_average_for_independent_models() -> None:
    rng = np.random.default_rng(0)
    values = []
    for _ in range(200):
        normal, biased, gold = rng.choice(3, (3, 400), p=[0.5, 0.3, 0.2])
        result = agreement(normal, biased, gold)
        assert result.kappa == pytest.approx(cohen_kappa_score(normal, biased))
        values.append(result.kappa)
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(200)


def test_agreement_is_never_below_what_the_accuracies_force() -> None:
    rng = np.random.default_rng(1)
    gold = rng.integers(0, 3, 1000)
    normal = np.where(rng.random(1000) < 0.9, gold, (gold + 1) % 3)
    biased = np.where(rng.random(1000) < 0.7, gold, (gold + 2) % 3)
    result = agreement(normal, biased, gold)
    assert result.nba >= np.mean(normal == gold) + np.mean(biased == gold) - 1


def test_undefined_shares_are_nan() -> None:
    result = agreement([0, 0], [1, 1], [2, 2])
    assert np.isnan(result.nbr)
    assert np.isnan(result.nbr_released)
    assert result.nba == 0.0
    assert np.isnan(agreement([0, 0], [0, 0], [0, 0]).kappa)


def test_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        agreement([0, 1], [0, 1], [0])
    with pytest.raises(ValueError, match="one length"):
        nba([], [])
