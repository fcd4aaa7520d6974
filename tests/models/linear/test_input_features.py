"""Bins of figures are those of numpy's quantiles, however many parts the rows come in."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.models.linear.input_features import BINS, _edges


@pytest.mark.parametrize("n", [1, 2, 9, 10, 11, 997])
@pytest.mark.parametrize("parts", [1, 3])
def test_edges_are_the_higher_quantiles_of_all_values(n, parts):
    rng = np.random.default_rng(n)
    for values in (rng.integers(0, 30, n).astype(np.float64), rng.random(n), np.full(n, 4.0)):
        given = [np.unique(part, return_counts=True) for part in np.array_split(values, parts)]
        expected = np.unique(np.quantile(values, np.arange(1, BINS) / BINS, method="higher"))
        assert _edges(given).tolist() == expected.tolist()


def test_nothing_has_no_edges():
    assert not len(_edges([np.unique(np.empty(0), return_counts=True)]))
