from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

from cuecard.stats.models.flattened import bits_from, flattened_choice


def simulated(rng, n, k, m, *, strength, accuracy, follow):
    """Examples whose right choice has the cue with probability `strength`, and what a model picks."""
    right_has = rng.random(n) < strength
    # Choices 0…m−1 have the cue; the right one is among them or not.
    right = np.where(right_has, rng.integers(0, m, n), rng.integers(m, k, n))
    wrong = (right + rng.integers(1, k, n)) % k
    picked = np.where(rng.random(n) < accuracy, right, wrong)
    picked = np.where(rng.random(n) < follow, rng.integers(0, m, n), picked)
    return picked < m, right_has, np.full(n, m), np.full(n, k)


@pytest.mark.parametrize(("k", "m", "accuracy"), [(2, 1, 0.9), (4, 1, 0.6), (5, 3, 0.8)])
def test_a_model_that_errs_evenly_is_at_flat_whatever_its_accuracy_and_the_cue(k, m, accuracy):
    rng = np.random.default_rng(k)
    p = []
    for _ in range(200):
        found = flattened_choice(*simulated(rng, 400, k, m, strength=0.8, accuracy=accuracy, follow=0))
        assert found.flat == pytest.approx(1 / k)
        p.append(10.0**found.log10_p)
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert kstest(p, "uniform").pvalue > 1e-3


def test_a_follower_picks_the_cue_as_often_as_it_follows():
    rng = np.random.default_rng(0)
    found = flattened_choice(*simulated(rng, 40_000, 4, 1, strength=0.7, accuracy=0.8, follow=0.5))
    assert found.share == pytest.approx(0.5 + 0.5 / 4, abs=0.01)
    assert found.low < found.share < found.high
    assert found.log10_p < -50


def test_the_interval_covers_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    inside = 0
    for _ in range(200):
        sample = simulated(rng, 300, 3, 1, strength=0.6, accuracy=0.7, follow=0.2)
        found = flattened_choice(*sample)
        inside += found.low <= 0.2 + 0.8 / 3 <= found.high
    assert 0.90 <= inside / 200 <= 0.99


def test_strata_without_both_kinds_are_left_out():
    assert flattened_choice([1, 0], [1, 1], [1, 1], [2, 2]) is None
    mixed = flattened_choice([1, 0, 1, 0], [1, 0, 1, 1], [1, 1, 2, 2], [2, 2, 3, 3])
    assert mixed.examples == 2


def test_what_is_no_stratum_is_refused():
    with pytest.raises(ValueError, match="some but not all"):
        flattened_choice([1], [1], [2], [2])
    with pytest.raises(ValueError, match="one entry per example"):
        flattened_choice([1], [1, 0], [1, 1], [2, 2])


def test_bits_from_flat_are_zero_at_flat_and_log_k_at_one():
    assert bits_from([0.25] * 4, [0.25] * 4) == 0
    assert bits_from([1, 0, 0, 0], [0.25] * 4) == pytest.approx(2)
