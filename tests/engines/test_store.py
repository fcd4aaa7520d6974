"""Numbers on disk are like others, and leave nothing behind."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.engines import Store, on_disk


def test_numbers_on_disk_are_the_same_and_have_no_file_that_must_be_deleted(tmp_path):
    values = np.arange(30_000, dtype=np.float64).reshape(-1, 3)[:, ::-1]
    kept = on_disk(values, tmp_path)
    assert isinstance(kept.base, np.memmap)
    assert np.array_equal(kept, values)
    assert (kept.dtype, kept.flags.c_contiguous) == (values.dtype, True)
    assert list(tmp_path.iterdir()) == []
    assert on_disk(kept, tmp_path) is kept
    Store(tmp_path).release()
    assert np.array_equal(kept, values)


def test_no_numbers_need_no_file(tmp_path):
    nothing = np.empty((0, 3))
    assert on_disk(nothing, tmp_path) is nothing


def test_a_summary_that_is_kept_is_read_as_it_was(tmp_path):
    store, tables = (
        Store(tmp_path / "store"),
        {"one": pl.DataFrame({"a": [1]}), "two": pl.DataFrame({"b": ["x"]})},
    )
    store.put("stage", 3, tables)
    assert {name: table.to_dicts() for name, table in store.summary("stage", 3).items()} == {
        "one": [{"a": 1}],
        "two": [{"b": "x"}],
    }
