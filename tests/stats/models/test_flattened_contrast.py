"""The contrast with and without a cue: level for models that lean everywhere or err more; power; null by scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from cuecard.stats.models.flattened import _likeliest_equal_shares, flattened_contrast


def _even_model(rng: np.random.Generator, gold: Any, accuracy: float) -> Any:
    wrong = (gold + rng.integers(1, 3, len(gold))) % 3
    return np.where(rng.random(len(gold)) < accuracy, gold, wrong)


@pytest.mark.parametrize(
    ("sizes", "drop"),
    [
        *(((5, 5, 5), drop) for drop in (-0.18, 0.0, 0.2, 0.4)),
        *(((5, 50, 50), drop) for drop in (-0.18, 0.0, 0.2, 0.4)),
        ((7, 100, 16), 0.4),
        ((20, 200, 200), 0.0),
        ((20, 200, 200), 0.2),
        ((30, 30, 30), 0.2),
    ],
)
def test_contrast_keeps_its_level_whatever_a_model_prefers_and_however_good_it_is_with_the_cue(
    sizes: tuple[int, int, int], drop: float
) -> None:
    rng = np.random.default_rng(5)
    gold = np.repeat([0, 1, 2, 0, 1, 2], [*sizes, 150, 150, 150])
    having = np.arange(len(gold)) < sum(sizes)
    p_values = []
    for i in range(300):
        # A model that prefers label 0 everywhere, and with `drop` is worse (or better) where the cue is.
        even = np.where(having, _even_model(rng, gold, 0.8 - drop), _even_model(rng, gold, 0.8))
        predicted = np.where(rng.random(len(gold)) < 0.3, 0, even)
        found = flattened_contrast(predicted == 0, gold, having, draws=499, seed=i)
        assert found is not None
        p_values.append(10.0**found.log10_p)
    assert np.mean(np.array(p_values) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_contrast_finds_a_follower_and_needs_every_label_on_both_sides() -> None:
    rng = np.random.default_rng(6)
    gold, having = np.tile([0, 1, 2], 200), np.arange(600) < 150
    predicted = np.where(having & (rng.random(600) < 0.4), 0, _even_model(rng, gold, 0.8))
    found = flattened_contrast(predicted == 0, gold, having)
    assert found is not None
    assert found.difference == pytest.approx(0.4 * 2 / 3, abs=0.1)
    assert found.log10_p == pytest.approx(-4)
    assert flattened_contrast(predicted == 0, gold, gold == 0) is None
    with pytest.raises(ValueError, match="one length"):
        flattened_contrast([1], [0, 1], [1, 0])


def test_rates_of_the_null_are_the_likeliest_with_equal_shares() -> None:
    rng = np.random.default_rng(8)
    for _ in range(10):
        inside, outside = rng.integers(5, 40, 3), rng.integers(50, 400, 3)
        found, others = rng.binomial(inside, 0.7), rng.binomial(outside, 0.3)
        k, n = np.concatenate([found, others]) + 0.5, np.concatenate([inside, outside]) + 1.0
        best = minimize(
            lambda p, k=k, n=n: -(k * np.log(p) + (n - k) * np.log(1 - p)).sum(),
            np.full(6, 0.5),
            bounds=[(1e-4, 1 - 1e-4)] * 6,
            constraints={"type": "eq", "fun": lambda p: p[:3].sum() - p[3:].sum()},
        )
        fitted = np.concatenate(_likeliest_equal_shares(found, inside, others, outside))
        np.testing.assert_allclose(fitted, best.x, atol=2e-3)
        assert fitted[:3].sum() == pytest.approx(fitted[3:].sum())
