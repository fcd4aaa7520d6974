from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.units import unit_counts
from cuecard.stats.units.effective import worth


@pytest.mark.parametrize("weighted", [False, True])
def test_unit_counts_are_those_of_a_plain_loop(weighted: bool) -> None:
    rng = np.random.default_rng(1)
    n, n_features = 300, 12
    units = rng.integers(0, 60, n) * 7
    rows = [rng.integers(0, n_features, rng.integers(0, 6)) for _ in range(n)]
    weights = rng.pareto(2, n) + 0.1 if weighted else np.ones(n)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    found = unit_counts(np.concatenate(rows), offsets, units, n_features, weights=weights)
    for feature in range(n_features):
        has = np.array([feature in row for row in rows])
        sizes = [has[units == unit].sum() for unit in np.unique(units)]
        mass = [weights[has & (units == unit)].sum() for unit in np.unique(units)]
        assert found.units[feature] == sum(size > 0 for size in sizes)
        assert found.squares[feature] == pytest.approx(sum(m**2 for m in mass))
        assert found.rows_squared[feature].sum() == sum(size**2 for size in sizes)
        assert found.many[feature, 1] == sum(2 <= size < 4 for size in sizes)


def test_totals_save_reading_rows_that_are_no_copies() -> None:
    rng = np.random.default_rng(2)
    rows = [np.unique(rng.integers(0, 9, 4)) for _ in range(200)]
    ids, offsets = np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    units = rng.integers(0, 150, 200)
    plain = unit_counts(ids, offsets, units, 9)
    quick = unit_counts(ids, offsets, units, 9, totals=np.bincount(ids, minlength=9))
    assert quick.units.tolist() == plain.units.tolist()
    assert quick.squares.tolist() == plain.squares.tolist()


def test_without_repeats_an_instance_is_worth_one() -> None:
    found = unit_counts([0, 1, 0, 0], [0, 2, 3, 4], [5, 2, 9], 2)
    assert worth([3, 1], found.squares).tolist() == [3.0, 1.0]


def test_only_rows_with_a_unit_are_read() -> None:
    found = unit_counts([0, 0, 0], [0, 1, 2, 3], [4, 4], 1)
    assert (found.units.tolist(), found.squares.tolist()) == ([1], [4.0])


def test_nothing_has_no_units() -> None:
    found = unit_counts(np.empty(0, np.int32), [0], [], 2)
    assert found.units.tolist() == [0, 0]
