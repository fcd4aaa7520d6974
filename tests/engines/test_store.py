"""Numbers on disk are like others, and leave nothing behind."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.engines import Store, computed, gathered, on_disk, scratch_array
from cuecard.stats.arrays import chunks


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


def test_an_array_to_be_written_is_nil_at_first_and_leaves_no_file(tmp_path):
    for folder in (None, tmp_path):
        values = scratch_array(folder, np.int16, (1_000, 2))
        assert not values.any()
        values[:, 1] = np.arange(1_000)
        Store(tmp_path).release()
        assert values.sum(axis=0).tolist() == [0, 499_500]
        assert isinstance(values.base, np.memmap) is (folder is not None)
    assert list(tmp_path.iterdir()) == []
    assert scratch_array(tmp_path, np.float64, (0, 3)).shape == (0, 3)


def test_numbers_that_are_computed_in_parts_are_those_computed_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "__defaults__", (10,))
    values, rows = np.random.default_rng(0).random((95, 3)), np.random.default_rng(1).integers(0, 95, 40)
    for folder in (None, tmp_path):
        assert np.array_equal(computed(folder, np.float64, 95, lambda some: values[some] ** 2), values**2)
        assert np.array_equal(gathered(values, rows, folder), values[rows])
        assert gathered(values, rows[:0], folder).shape == (0, 3)
    assert np.shares_memory(gathered(values, np.arange(5, 90), tmp_path), values)


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
