"""Units and strata are numbered and summed up as numpy does it with all of them at hand."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.scores.row_sums import CHUNK, number_of_units, sum_of_squares, unit_codes, weights_of


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.int64])
def test_small_numbers_are_codes_already(kind):
    values = np.array([3, 0, 3, 5, 0], dtype=kind)
    codes, n = unit_codes(values, 5)
    assert codes is values
    assert n == 6


@pytest.mark.parametrize("values", [["b", "a", "b"], [-1, 7, -1], [10**12, 5, 10**12], [0.5, 0.1, 0.5]])
def test_other_values_are_numbered_so_that_equal_ones_share_a_code(values):
    codes, n = unit_codes(values, 3)
    assert codes.tolist() == [1, 0, 1] or codes.tolist() == [0, 1, 0]
    assert n == 2


def test_without_values_all_examples_are_one_unit():
    codes, n = unit_codes(None, 4)
    assert (codes.tolist(), n) == ([0, 0, 0, 0], 1)
    assert unit_codes(None, 0)[1] == unit_codes([], 0)[1] == 0


def test_one_value_per_example_is_needed():
    with pytest.raises(ValueError, match="one value per example"):
        unit_codes([1, 2], 3)


@pytest.mark.parametrize("most", [4, 1_000, 10**9])
def test_different_units_are_counted(most):
    values = np.random.default_rng(0).integers(0, most, 500)
    assert number_of_units(values) == len(np.unique(values))


def test_squares_are_those_of_all_numbers():
    values = np.random.default_rng(0).random(2 * CHUNK + 5)
    assert sum_of_squares(values, 0.25) == pytest.approx(((values - 0.25) ** 2).sum(), rel=1e-13)
    assert sum_of_squares(values > 0.5) == (values > 0.5).sum()
    assert sum_of_squares(values[:0]) == 0


def test_examples_that_count_the_same_have_one_weight():
    assert weights_of(None).tolist() == [1.0]
    assert weights_of([1, 2]).tolist() == [1.0, 2.0]
