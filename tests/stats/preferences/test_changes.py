"""Mean changes over units, slopes with their influence, and what is said of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from cuecard.stats.preferences.changes import mean_change, ruling, slope_parts


def test_without_shared_units_the_interval_is_students_and_slightly_wider():
    x = np.random.default_rng(1).normal(0.05, 0.3, 200)
    mean, low, high, p = mean_change(x, np.arange(200))
    expected = ttest_1samp(x, 0)
    ends = expected.confidence_interval()
    assert mean == pytest.approx(x.mean())
    assert low < ends.low < ends.high < high
    assert high - low == pytest.approx(ends.high - ends.low, rel=0.02)
    assert p == pytest.approx(expected.pvalue, rel=0.2)


@pytest.mark.parametrize("per_unit", [1, 4])
def test_the_interval_covers_and_the_test_keeps_its_level(per_unit):
    rng, held, false = np.random.default_rng(2), 0, 0
    units = np.repeat(np.arange(40), per_unit)
    for _ in range(400):
        shared = rng.normal(0, 0.2, 40)[units] if per_unit > 1 else 0.0
        _, low, high, p = mean_change(0.1 + shared + rng.normal(0, 0.2, len(units)), units)
        held += low <= 0.1 <= high
        false += mean_change(shared + rng.normal(0, 0.2, len(units)), units)[3] <= 0.05
        assert (p <= 0.05) == (not low <= 0 <= high)
    assert held >= 372
    assert false <= 30


def test_the_mean_of_the_parts_is_the_slope_of_least_squares():
    rng = np.random.default_rng(3)
    x, quality = rng.normal(size=50), rng.normal(size=50)
    y = 0.3 * x + 0.5 * quality + rng.normal(size=50)
    design = np.column_stack([np.ones(50), x, quality])
    slope = np.linalg.lstsq(design, y, rcond=None)[0][1]
    assert slope_parts(y, x, quality[:, None]).mean() == pytest.approx(slope * x.std())
    assert not len(slope_parts(y, quality, quality[:, None]))


def test_a_slope_of_nothing_is_rarely_significant():
    rng, hits = np.random.default_rng(4), 0
    for _ in range(300):
        parts = slope_parts(rng.random(60), rng.normal(size=60))
        hits += mean_change(parts, np.arange(60))[3] <= 0.05
    assert hits <= 25


@pytest.mark.parametrize(
    ("expected", "low", "high", "p", "said"),
    [
        ("same", -0.01, 0.04, 0.4, "fair"),
        ("same", 0.01, 0.04, 0.001, "fair"),
        ("same", 0.02, 0.2, 0.01, "biased"),
        ("same", -0.2, 0.2, 0.9, "undecided"),
        ("lower", -0.4, -0.1, 0.001, "fair"),
        ("lower", -0.04, 0.02, 0.5, "biased"),
        ("lower", 0.1, 0.3, 0.001, "biased"),
        ("lower", -0.2, 0.01, 0.1, "undecided"),
        ("higher", 0.1, 0.3, 0.001, "fair"),
        ("higher", -0.3, -0.1, 0.001, "biased"),
        ("higher", -0.1, 0.2, 0.5, "undecided"),
    ],
)
def test_what_is_said_of_a_change(expected, low, high, p, said):
    assert ruling(expected, low, high, p, alpha=0.05, margin=0.05) == said
