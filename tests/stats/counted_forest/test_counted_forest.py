"""Forests on distinct points against scikit-learn's forests on all rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare
from scipy.stats import poisson as poisson_law
from sklearn.ensemble import RandomForestClassifier

from cuecard.stats import _native
from cuecard.stats.counted_forest import (
    Criterion,
    Forest,
    cross_fitted,
    distinct_points,
    fold_numbers,
    forest_probabilities,
)


def leaky(n: int, seed: int, n_labels: int = 2) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = np.minimum(rng.geometric(0.35, (n, 3)), 12)
    chance = 1 / (1 + np.exp(2 - 0.8 * rows[:, 0] + 0.3 * rows[:, 1]))
    labels = (rng.random(n) < chance).astype(np.int64)
    return rows, labels + (rng.random(n) < 0.3) * (n_labels > 2)


def test_points_are_the_distinct_rows_and_counts_add_up() -> None:
    rows, labels = leaky(500, 0)
    points = distinct_points(rows)
    np.testing.assert_array_equal(points.values, np.unique(rows, axis=0))
    np.testing.assert_array_equal(points.values[points.index], rows)
    assert points.counts(labels, 2).sum() == 500


@pytest.mark.parametrize(("depth", "n_labels", "columns"), [(5, 2, 3), (30, 3, 3), (None, 2, 1)])
def test_probabilities_are_bit_for_bit_those_of_scikit_learn(
    depth: int | None, n_labels: int, columns: int
) -> None:
    rows, labels = leaky(1500, 1, n_labels)
    rows = (rows - rows.mean(0))[:, :columns] / rows.std(0)[:columns]
    train, test = rows[:1000], rows[1000:]
    ours = forest_probabilities(train, labels[:1000], test, n_labels=n_labels, trees=30, depth=depth, seed=3)
    theirs = (
        RandomForestClassifier(30, max_depth=depth, random_state=3)
        .fit(train, labels[:1000])
        .predict_proba(test)
    )
    np.testing.assert_array_equal(ours, theirs)


def test_a_label_that_train_lacks_has_probability_zero() -> None:
    rows, labels = leaky(200, 2)
    found = forest_probabilities(rows, labels * 2, rows, n_labels=3, trees=5, depth=3)
    assert (found[:, 1] == 0).all()
    np.testing.assert_allclose(found.sum(1), 1)


@pytest.mark.parametrize("mean", [1, 7, 24, 25, 300])
def test_bootstrap_counts_follow_the_poisson_law(mean: int) -> None:
    drawn = _native.poisson_numbers(np.full(20_000, mean), mean)
    cuts = np.unique(poisson_law.ppf(np.linspace(0.05, 0.95, 10), mean))
    observed = np.bincount(np.searchsorted(cuts, drawn), minlength=len(cuts) + 1)
    shares = np.diff(np.concatenate([[0], poisson_law.cdf(cuts, mean), [1]]))
    assert chisquare(observed, shares * len(drawn)).pvalue > 1e-4


def test_what_was_never_seen_is_never_drawn() -> None:
    assert (_native.poisson_numbers(np.zeros(1000, dtype=np.int64), 1) == 0).all()


@pytest.mark.parametrize(
    ("n_labels", "criterion"), [(2, "gini"), (3, "gini"), (2, "entropy"), (3, "entropy")]
)
def test_cross_fitted_probabilities_agree_with_scikit_learn_forests_per_fold(
    n_labels: int, criterion: Criterion
) -> None:
    rows, labels = leaky(2000, 4, n_labels)
    folds = fold_numbers(2000, 2, seed=1)
    ours = cross_fitted(
        rows,
        labels,
        n_labels=n_labels,
        folds=folds,
        forest=Forest(150, depth=6, criterion=criterion),
    )
    theirs = np.empty_like(ours)
    again = np.empty_like(ours)
    for fold in range(2):
        held = folds == fold
        for seed, into in ((0, theirs), (1, again)):
            model = RandomForestClassifier(150, max_depth=6, criterion=criterion, random_state=seed)
            model.fit(rows[~held], labels[~held])
            into[held] = model.predict_proba(rows[held])
    noise = np.sqrt(((theirs - again) ** 2).mean())  # two forests of scikit-learn differ by this much
    assert np.sqrt(((ours - theirs) ** 2).mean()) < 1.3 * noise


@pytest.mark.parametrize(
    ("criterion", "shares"), [("gini", [0.141, 0.141, 0.706]), ("entropy", [0, 0.554, 0.554])]
)
def test_a_stump_cuts_where_the_impurity_that_is_asked_for_falls_most(
    criterion: Criterion, shares: list[float]
) -> None:
    """Gini's impurity falls most between the second and third point, the entropy between the first and second."""
    counts = np.array([[1950, 0], [1100, 500], [750, 1800]])
    rows = np.repeat([0, 1, 2, 0, 1, 2], counts.T.ravel())
    labels = np.repeat([0, 1], counts.sum(axis=0))
    asked, folds = (
        np.array([0, 1, 2]),
        np.concatenate([np.ones(len(rows), dtype=np.int64), np.zeros(3, dtype=np.int64)]),
    )
    found = cross_fitted(
        np.concatenate([rows, asked])[:, None],
        np.concatenate([labels, [0, 0, 0]]),
        n_labels=2,
        folds=folds,
        forest=Forest(50, depth=1, criterion=criterion),
    )
    np.testing.assert_allclose(found[-3:, 1], shares, atol=0.01)
    model = RandomForestClassifier(50, max_depth=1, criterion=criterion, random_state=0)
    theirs = model.fit(rows[:, None], labels).predict_proba(asked[:, None])
    np.testing.assert_allclose(found[-3:], theirs, atol=0.01)


def test_a_row_has_no_say_in_its_own_probability() -> None:
    rows, labels = leaky(400, 5)
    folds = fold_numbers(400, 5, seed=0)
    before = cross_fitted(rows, labels, n_labels=2, folds=folds, forest=Forest(20))
    flipped = np.where(folds == 2, 1 - labels, labels)
    after = cross_fitted(rows, flipped, n_labels=2, folds=folds, forest=Forest(20))
    np.testing.assert_array_equal(before[folds == 2], after[folds == 2])
    assert (before[folds != 2] != after[folds != 2]).any()


def test_threads_do_not_change_the_result() -> None:
    rows, labels = leaky(300, 6)
    folds = fold_numbers(300, 7)
    one = cross_fitted(rows, labels, n_labels=2, folds=folds, forest=Forest(10), threads=1)
    four = cross_fitted(rows, labels, n_labels=2, folds=folds, forest=Forest(10), threads=4)
    np.testing.assert_array_equal(one, four)


def test_rows_of_a_group_share_their_fold_and_folds_are_of_equal_size() -> None:
    groups = np.repeat(np.arange(50), 4)
    folds = fold_numbers(200, 5, groups=groups)
    assert all(len(set(folds[groups == g])) == 1 for g in range(50))
    assert np.bincount(folds).tolist() == [40] * 5


def test_whole_weights_give_the_forest_of_repeated_rows_to_the_last_bit():
    rng = np.random.default_rng(8)
    rows, labels = rng.integers(0, 4, (300, 3)), rng.integers(0, 3, 300)
    times = rng.integers(1, 4, 300)
    folds = rng.integers(0, 3, 300)
    copies = np.repeat(np.arange(300), times)
    weighted = cross_fitted(rows, labels, n_labels=3, folds=folds, forest=Forest(20), weights=times)
    many = cross_fitted(rows[copies], labels[copies], n_labels=3, folds=folds[copies], forest=Forest(20))
    np.testing.assert_array_equal(weighted[copies], many)


def test_probabilities_of_one_point_are_its_shares_of_weight_in_both_forests():
    rng = np.random.default_rng(9)
    rows, labels = np.zeros((4000, 1)), rng.integers(0, 2, 4000)
    weights = np.where(labels == 0, 0.3, 0.9)
    folds = np.arange(4000) % 2
    share = [weights[(labels == 1) & (folds != fold)].sum() / weights[folds != fold].sum() for fold in (0, 1)]
    found = cross_fitted(rows, labels, n_labels=2, folds=folds, forest=Forest(200), weights=weights)
    np.testing.assert_allclose(found[:, 1], np.take(share, folds), atol=0.01)
    fitted = forest_probabilities(rows, labels, rows[:1], n_labels=2, trees=200, depth=2, weights=weights)
    assert fitted[0, 1] == pytest.approx(weights[labels == 1].sum() / weights.sum(), abs=0.01)
