"""Weighted shares: reduce to Wilson's interval, and cover."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats import wilson
from cuecard.stats.weighted import (
    effective_counts,
    effective_sample_size,
    weighted_change,
    weighted_quantiles,
    weighted_share,
)


def test_equal_weights_give_wilsons_interval() -> None:
    right = np.arange(200) < 130
    found = weighted_share(right, np.full(200, 3.0))
    low, high = wilson(130, 200)
    assert (found.share, found.low, found.high) == pytest.approx((0.65, float(low), float(high)))
    assert found.effective_n == pytest.approx(200)


def test_the_interval_covers_the_weighted_mean_in_about_95_percent() -> None:
    rng = np.random.default_rng(0)
    weights = rng.lognormal(0, 1, 100_000)
    chance = np.clip(0.4 + 0.1 * np.log(weights), 0.05, 0.95)
    truth = np.average(chance, weights=weights)
    hits = 0
    for _ in range(1000):
        rows = rng.integers(0, len(weights), 800)
        found = weighted_share(rng.random(800) < chance[rows], weights[rows])
        hits += found.low <= truth <= found.high
    assert 0.92 < hits / 1000 < 0.975


def test_all_right_still_has_an_interval() -> None:
    found = weighted_share(np.ones(50), np.ones(50))
    assert found.high == 1
    assert 0.9 < found.low < 1


def test_one_heavy_row_is_worth_about_one_row() -> None:
    assert effective_sample_size([1000, 1, 1]) == pytest.approx(1.004, abs=1e-3)
    assert effective_sample_size([]) == 0


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [1.0, np.inf]])
def test_weights_that_cannot_be_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="weights"):
        weighted_share([1, 0], weights)


def test_weighted_quantiles_of_whole_weights_are_those_of_repeated_values():
    rng = np.random.default_rng(0)
    values, times = rng.integers(0, 30, 200), rng.integers(1, 5, 200)
    levels = [0.05, 0.25, 0.5, 0.95, 1.0]
    ours = weighted_quantiles(values, times / times.mean(), levels)
    expected = np.quantile(np.repeat(values, times), levels, method="inverted_cdf")
    np.testing.assert_array_equal(ours, expected)


def test_effective_counts_of_equal_weights_are_the_counts_and_of_none_nothing():
    assert effective_counts([[3.0, 2.0], [0.0, 0.0]], [5.0, 0.0]).tolist() == [[3, 2], [0, 0]]
    assert effective_counts([[6.0, 2.0]], [16.0]).tolist() == [[3, 1]]


def test_the_interval_covers_where_a_few_weights_dominate() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(600):
        weights, right = rng.lognormal(0, 2, 300), rng.random(300) < 0.7
        found = weighted_share(right, weights)
        covered += found.low <= 0.7 <= found.high
    assert covered / 600 > 0.93


def test_the_change_by_heavy_weights_is_covered_where_few_of_them_decide_it() -> None:
    """77 to 82 % of intervals by the values' own spread; a floor of even values raises that above 90."""
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(300):
        right, weights = rng.random(50) < 0.7, rng.pareto(1.5, 50) + 1
        _, low, high = weighted_change(right, weights)
        held += low <= 0 <= high
    assert held >= 0.92 * 300
