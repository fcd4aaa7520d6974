"""Derived values are made once, kept within bounds, and shared between a dataset and its parts."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from time import sleep

import numpy as np
import polars as pl

from cuecard.data.demo import demo_nli
from cuecard.data.parallel import Memo


def test_a_value_is_made_once_by_however_many_threads() -> None:
    memo, made = Memo(most=2), []

    def make() -> str:
        sleep(0.01)
        made.append(1)
        return "value"

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: memo.get("key", make), range(8))) == {"value"}
    assert len(made) == 1


def test_the_value_unused_for_longest_is_dropped() -> None:
    memo = Memo(most=2)
    for key in ("a", "b", "a", "c"):
        memo.get(key, lambda key=key: key.upper())
    assert "a" in memo
    assert "c" in memo
    assert "b" not in memo


def test_parts_know_their_rows_in_the_whole() -> None:
    data = demo_nli(60, seed=0).instances
    part = data.train.rows(np.arange(len(data.train)) % 2 == 0)
    assert part.row_numbers is not None
    assert part.table.equals(data.table[part.row_numbers])
    assert part.whole.table.equals(data.table)
    assert data.whole is data
    assert data.rows(np.ones(len(data), dtype=bool)) is data


def test_other_extra_columns_share_what_is_derived_and_other_texts_do_not() -> None:
    data = demo_nli(60, seed=0).instances
    data.derived("key", lambda: 1)
    assert data.with_columns(weight=pl.lit(1.0)).derived("key", lambda: 2) == 1
    assert data.with_columns(hypothesis=pl.lit("same")).derived("key", lambda: 2) == 2


def test_units_of_a_column_are_never_those_of_another_column_of_its_name() -> None:
    data = demo_nli(60, seed=0).instances
    n = len(data)
    first, second = (
        data.with_columns(writer=pl.Series(codes)).clustered_by("writer")
        for codes in (np.zeros(n, np.int64), np.arange(n))
    )
    assert len(np.unique(first.units())) == 1
    assert len(np.unique(second.units())) == n
    assert len(np.unique(second.train.units())) == len(second.train)
    # A part with a column of its own does not read the column of the whole.
    part = second.train.with_columns(writer=pl.lit(0))
    assert len(np.unique(part.clustered_by("writer").units())) == 1


def test_instances_are_sent_without_what_is_derived() -> None:
    data = demo_nli(60, seed=0).instances
    data.derived("key", lambda: 1)
    copy = pickle.loads(pickle.dumps(data.train))
    assert copy.table.equals(data.train.table)
    assert copy.row_numbers is None
    assert copy.derived("key", lambda: 2) == 2
