"""Limits, the number of examples that settles, and changes: by simulation and by known formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cuecard.stats.intervals import newcombe_difference, wilson
from cuecard.stats.limits import change_of_share, difference_interval, examples_to_settle, judge


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("<=", ["pass", "undecided", "fail"]),
        ("<", ["pass", "undecided", "fail"]),
        (">=", ["fail", "undecided", "pass"]),
        (">", ["fail", "undecided", "pass"]),
        ("==", ["fail", "undecided", "fail"]),
    ],
)
def test_intervals_below_across_and_above_a_limit(operator, expected):
    assert [judge(low, low + 2, operator, 3) for low in (0, 2, 4)] == expected


def test_the_limit_itself_belongs_to_at_most_and_not_to_below():
    assert judge(0.1 + 0.2, 0.1 + 0.2, "<=", 0.3) == "pass"
    assert judge(0.3, 0.3, "<", 0.3) == "fail"
    assert judge(2, 2, "==", 2) == "pass"


def test_a_verdict_contradicts_the_truth_at_most_as_often_as_the_interval_says():
    rng = np.random.default_rng(0)
    k = rng.binomial(500, 0.55, 20_000)  # the truth is the limit: neither pass nor fail is right
    low, high = wilson(k, 500)
    wrong = np.mean((low > 0.55) | (high < 0.55))
    assert 0.03 < wrong < 0.07


@pytest.mark.parametrize(("truth", "limit"), [(0.60, 0.55), (0.52, 0.55), (0.3, 0.25)])
def test_that_many_examples_settle_it_in_four_of_five_cases(truth, limit):
    low, high = (float(end) for end in wilson(truth * 400, 400))
    n = examples_to_settle(truth, low if truth > limit else high, limit, 400)
    low, high = wilson(np.random.default_rng(1).binomial(n, truth, 20_000), n)
    settled = np.mean((low > limit) | (high < limit))
    assert settled == pytest.approx(0.8, abs=0.04)


def test_nothing_settles_a_value_at_its_limit():
    assert examples_to_settle(0.05, 0.02, 0.05, 500) is None


def test_the_difference_of_two_shares_is_newcombes():
    ours = difference_interval((0.6, *map(float, wilson(48, 80))), (0.8, *map(float, wilson(56, 70))))
    assert ours == pytest.approx([float(end) for end in newcombe_difference(56, 70, 48, 80)])


def test_changes_of_separate_and_of_the_same_examples_have_the_usual_standard_errors():
    rng = np.random.default_rng(2)
    a, b = (rng.random(300) < p for p in (0.6, 0.7))
    change, error = change_of_share([], [], a, b)
    assert change == pytest.approx(b.mean() - a.mean())
    assert error == pytest.approx(np.sqrt(a.var(ddof=1) / 300 + b.var(ddof=1) / 300))
    change, error = change_of_share(a, b)
    assert change / error == pytest.approx(stats.ttest_rel(b.astype(float), a.astype(float)).statistic)


def test_the_interval_of_a_partly_paired_change_covers_the_truth():
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(1_000):
        easy = rng.random(300)  # an example that was easy before stays easier
        before = rng.random(300) < 0.3 + 0.4 * easy
        after = rng.random(300) < 0.35 + 0.4 * easy
        old, new = rng.random(80) < 0.5, rng.random(120) < 0.55
        change, error = change_of_share(before, after, old, new)
        covered += abs(change - 0.05) <= 1.96 * error
    assert 0.93 < covered / 1_000 < 0.97
