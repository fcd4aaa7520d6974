from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t

from cuecard.stats import wilson
from cuecard.stats.scores.cross_fit_intervals import (
    cross_fit_inflation,
    effective_units,
    excess_interval,
    mean_interval,
    share_interval,
)


def nearest_mean_hits(rng: np.random.Generator, n: int, shift: float, folds: int) -> float:
    """Accuracy of a cross-fitted nearest-mean rule for two classes in 20 dimensions."""
    y = rng.permutation(np.arange(n) % 2)
    x = rng.standard_normal((n, 20))
    x[:, 0] += shift * (2 * y - 1)
    fold = np.empty(n, int)
    for c in (0, 1):
        fold[y == c] = np.arange((y == c).sum()) % folds
    hits = 0
    for f in range(folds):
        train = fold != f
        direction = x[train & (y == 1)].mean(0) - x[train & (y == 0)].mean(0)
        middle = x[train].mean(0) @ direction
        hits += ((x[fold == f] @ direction > middle) == y[fold == f]).sum()
    return hits / n


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_corrected_intervals_of_a_cross_fit_cover_where_those_of_independent_hits_do_not(shift):
    rng = np.random.default_rng(7)
    n, folds = 200, 5
    scores = np.array([nearest_mean_hits(rng, n, shift, folds) for _ in range(600)])
    truth = scores.mean()
    covered = {}
    for name, size in (("plain", float(n)), ("corrected", n / cross_fit_inflation(folds))):
        ends = [share_interval(score, size) for score in scores]
        covered[name] = np.mean([low <= truth <= high for low, high in ends])
    assert covered["plain"] < 0.93
    assert covered["corrected"] >= 0.95


def test_a_share_of_whole_examples_has_wilsons_interval():
    low, high = wilson(37, 120)
    assert share_interval(37 / 120, 120) == pytest.approx((float(low), float(high)))
    assert share_interval(0.5, 0) == (0, 1)


def test_units_are_worth_between_one_example_and_all_of_theirs():
    units = np.repeat(np.arange(50), 4)
    rng = np.random.default_rng(0)
    alike = np.repeat(rng.integers(0, 2, 50), 4)
    assert effective_units(alike, units) == 50
    assert effective_units(np.tile([0, 0, 1, 1], 50), units) == 50  # no spread between units: the fewest
    assert effective_units(np.full(200, 0.25), units) == 200  # ties decide by a draw for each
    assert effective_units(np.ones(200), units) == 50
    mixed = effective_units(rng.integers(0, 2, 200), units)
    assert 100 < mixed <= 200
    assert effective_units(alike) == 200


def test_means_have_students_interval():
    x = np.random.default_rng(1).standard_normal(30)
    expected = t.interval(0.95, 29, x.mean(), x.std(ddof=1) / np.sqrt(30))
    assert mean_interval(x)[1:] == pytest.approx(expected)
    doubled = mean_interval(np.repeat(x, 2), units=np.repeat(np.arange(30), 2))
    assert doubled[1:] == pytest.approx(expected)
    wider = mean_interval(x, inflation=4.0)
    assert wider[2] - wider[1] == pytest.approx(2 * (expected[1] - expected[0]))


def test_one_example_has_no_interval_and_one_fold_is_no_cross_fit():
    assert mean_interval([0.3])[1:] == (-np.inf, np.inf)
    with pytest.raises(ValueError, match="two folds"):
        cross_fit_inflation(1)


@pytest.mark.parametrize(
    ("shares", "right"),
    [((0.5, 0.5), (0.6, 0.6)), ((1 / 3, 1 / 3, 1 / 3), (0.5, 0.5, 0.5)), ((0.9, 0.1), (0.97, 0.3))],
)
def test_the_excess_above_the_majority_is_covered_although_its_share_is_that_of_a_sample(shares, right):
    rng, n, runs = np.random.default_rng(0), 200, 200
    truth, held, known = float(np.dot(shares, right)) - max(shares), 0, 0
    for _ in range(runs):
        labels = rng.choice(len(shares), n, p=shares)
        hits = rng.random(n) < np.array(right)[labels]
        low, high = excess_interval(hits, labels)
        held += low <= truth <= high
        chance = np.bincount(labels).max() / n
        known += wilson(int(hits.sum()), n)[0] - chance <= truth <= wilson(int(hits.sum()), n)[1] - chance
    assert held >= 0.92 * runs
    assert known <= 0.88 * runs or shares[0] == 0.9  # where labels are even, a known share is too sure


def test_the_excess_of_one_frequent_label_is_students_of_the_paired_difference():
    rng = np.random.default_rng(1)
    labels = (rng.random(500) < 0.1).astype(int)
    hits = rng.random(500) < 0.8
    _, low, high = mean_interval(hits.astype(float) - (labels == 0))
    assert excess_interval(hits, labels) == pytest.approx((low, high))
    copied = excess_interval(np.repeat(hits, 3), np.repeat(labels, 3), units=np.repeat(np.arange(500), 3))
    assert copied == pytest.approx((low, high))


def test_a_unit_of_most_examples_is_compared_with_the_others():
    hits, units = np.repeat([1, 0, 1], [60, 20, 20]), np.concatenate([np.zeros(60, int), np.arange(1, 41)])
    assert effective_units(hits, units) <= 3  # 10 where the unit is compared with a mean that it is most of
    assert effective_units(hits, units, np.ones(100)) == pytest.approx(effective_units(hits, units))
