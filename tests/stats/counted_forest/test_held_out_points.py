"""Forests on counted points are those of the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.arrays import chunks
from cuecard.stats.counted_forest import (
    Forest,
    cross_fitted,
    distinct_points,
    fold_numbers,
    on_counts,
    points_in_parts,
    small_fold_numbers,
)


@pytest.mark.parametrize("seed", [0, 1])
def test_counted_points_have_the_probabilities_of_a_cross_fit_of_two_folds(seed):
    rng = np.random.default_rng(seed)
    rows = rng.poisson(2, size=(400, 3)).astype(float)
    rows[:7, 0] = 50 + np.arange(7)  # points of one row, some of them only scored
    labels = rng.integers(0, 3, 400)
    number = rng.integers(0, 4, 400)
    rounds = [(number != 0, number == 0), ((number == 2), (number == 1) | (number == 3))]
    points = distinct_points(rows)
    for fit, score in rounds:
        fitted = np.zeros((len(points), 3), dtype=np.int64)
        np.add.at(fitted, (points.index[fit], labels[fit]), 1)
        asked = np.bincount(points.index[score], minlength=len(points))
        result = on_counts(points.values, fitted, asked, Forest(20, depth=4, seed=seed))
        both = np.concatenate([rows[score], rows[fit]])
        codes = np.concatenate([np.zeros(score.sum(), dtype=np.int64), labels[fit]])
        folds = np.repeat([0, 1], [score.sum(), fit.sum()])
        expected = cross_fitted(
            both,
            codes,
            folds=folds,
            n_labels=3,
            forest=Forest(20, depth=4, seed=seed),
        )
        assert np.array_equal(result[points.index[score]], expected[: score.sum()])
        assert np.isnan(result[asked == 0]).all()


def test_without_rows_to_fit_every_label_is_as_likely():
    points = distinct_points(np.arange(8.0).reshape(4, 2))
    nothing, asked = np.zeros((4, 2), dtype=int), np.array([1, 1, 0, 3])
    result = on_counts(points.values, nothing, asked, Forest(3))
    assert (result[asked > 0] == 0.5).all()
    assert np.isnan(result[2]).all()


@pytest.mark.parametrize("size", [1, 7, 100, 1000])
def test_points_of_a_table_in_parts_are_those_of_the_whole(size):
    table = np.random.default_rng(size).poisson(1.5, size=(300, 3))
    index = np.zeros(len(table), dtype=np.int32)
    points = points_in_parts(((rows, table[rows]) for rows in chunks(len(table), size)), index)
    whole = distinct_points(table)
    assert np.array_equal(points.values, whole.values)
    assert np.array_equal(points.index, whole.index)
    assert np.array_equal(points.rows, table)


def test_no_parts_have_no_points():
    assert len(points_in_parts([], np.empty(0, dtype=np.int32))) == 0


@pytest.mark.parametrize(("n", "folds"), [(0, 5), (3, 5), (1001, 5), (2000, 300)])
def test_small_fold_numbers_are_those_that_are_drawn_as_whole_numbers(n, folds):
    drawn = np.random.default_rng(3).permutation(np.arange(n) % folds)
    small = small_fold_numbers(n, folds, seed=3)
    assert small.tolist() == drawn.tolist() == fold_numbers(n, folds, seed=3).tolist()
    assert small.itemsize == (1 if folds < 256 else 4)
