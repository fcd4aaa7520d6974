from __future__ import annotations

import numpy as np

from cuecard.stats.units import block_orders, group_orders


def test_units_of_one_size_change_places_whole() -> None:
    units = np.repeat(np.arange(30), 3)
    labels = np.arange(90)
    rng = np.random.default_rng(0)
    for order in block_orders(units, 20, rng):
        assert sorted(order.tolist()) == labels.tolist()
        assert (order.reshape(30, 3) % 3 == np.arange(3)).all()  # places within a unit stay
        assert (units[order].reshape(30, 3) == units[order].reshape(30, 3)[:, :1]).all()


def test_without_repeats_orders_are_those_of_permutation() -> None:
    expected = np.random.default_rng(5).permutation(12).tolist()
    assert next(block_orders(np.arange(12), 1, np.random.default_rng(5))).tolist() == expected


def test_every_unit_takes_every_place_about_as_often() -> None:
    units = np.repeat(np.arange(12), 2)
    rng = np.random.default_rng(1)
    seen = np.zeros((12, 12))
    for order in block_orders(units, 2_400, rng):
        seen[np.arange(12), units[order][::2]] += 1
    assert np.abs(seen - 200).max() < 75


def test_strata_are_kept_and_sizes_are_alike() -> None:
    rng = np.random.default_rng(2)
    sizes = np.concatenate([np.ones(40, int), np.full(3, 2), np.full(12, 9)])
    units = np.repeat(np.arange(len(sizes)), sizes)
    strata = np.repeat(np.arange(len(sizes)) % 2, sizes)
    for order in block_orders(units, 20, rng, strata=strata):
        assert (strata[order] == strata).all()
        own, other = sizes[units], sizes[units[order]]
        assert (other[own == 1] == 1).all()
        assert set(other[own == 2].tolist()) <= {2, 9}


def test_no_rows_have_empty_orders() -> None:
    rng = np.random.default_rng(0)
    assert [len(order) for order in group_orders([], 2, rng, units=[])] == [0, 0]
