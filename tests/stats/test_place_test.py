from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cuecard.stats.scores.contingency import place_log_p


def rejections(runs: int, draw, **options) -> float:
    return (
        sum(place_log_p(*draw(np.random.default_rng(i)), **options) <= np.log(0.05) for i in range(runs))
        / runs
    )


def test_equal_numbers_of_options_are_pearsons_test():
    places = np.random.default_rng(0).choice(4, 300, p=[0.5, 0.2, 0.2, 0.1])
    expected = stats.chisquare(np.bincount(places, minlength=4)).pvalue
    assert np.exp(place_log_p(places, np.full(300, 4))) == pytest.approx(expected, rel=1e-6)


def test_level_with_differing_numbers_of_options_and_copies():
    def draw(rng):
        options = np.repeat(rng.integers(2, 6, 40), 3)
        return np.repeat((rng.random(40) * options[::3]).astype(int), 3), options

    assert rejections(200, draw, units=np.arange(120) // 3) <= 0.1
    assert rejections(200, draw) > 0.3  # where copies count


def test_power_is_that_of_the_chi_square():
    def draw(rng):
        return rng.choice(4, 200, p=[0.4, 0.2, 0.2, 0.2]), np.full(200, 4)

    assert rejections(60, draw) >= 0.9


def test_weights_keep_the_level():
    weights = np.random.default_rng(1).pareto(1.5, 150) + 0.1
    assert rejections(200, lambda rng: (rng.integers(0, 4, 150), np.full(150, 4)), weights=weights) <= 0.09
