"""Forests on counted points are those of the rows themselves."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.counted_forest import cross_fitted, distinct_points, held_out


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_held_out_has_the_probabilities_of_a_cross_fit_of_two_folds(seed):
    rng = np.random.default_rng(seed)
    rows = rng.poisson(2, size=(400, 3)).astype(float)
    rows[:7, 0] = 50 + np.arange(7)  # points of one row, some of them only scored
    labels = rng.integers(0, 3, 400)
    number = rng.integers(0, 4, 400)
    rounds = [(number != 0, number == 0), ((number == 2), (number == 1) | (number == 3))]
    forest = {"n_labels": 3, "trees": 20, "depth": 4, "seed": seed}
    for fit, score in rounds:
        result = held_out(distinct_points(rows), labels, [(fit, score)], **forest)
        both = np.concatenate([rows[score], rows[fit]])
        codes = np.concatenate([np.zeros(score.sum(), dtype=np.int64), labels[fit]])
        folds = np.repeat([0, 1], [score.sum(), fit.sum()])
        expected = cross_fitted(both, codes, folds=folds, **forest)[: score.sum()]
        assert np.array_equal(result[score], expected)
        assert np.isnan(result[~score]).all()


def test_without_rows_to_fit_every_label_is_as_likely():
    none, every = np.zeros(4, dtype=bool), np.ones(4, dtype=bool)
    points = distinct_points(np.arange(8.0).reshape(4, 2))
    result = held_out(points, np.zeros(4, dtype=int), [(none, every)], n_labels=2, trees=3)
    assert (result == 0.5).all()
