"""What is in memory does not grow with the rows of a dataset that is on disk."""

from __future__ import annotations

import tracemalloc
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl

from cuecard.audits import Cues
from cuecard.data import DatasetSpec
from cuecard.data.space import Space
from cuecard.stats.arrays import chunks

#: Bytes of arrays in memory at one time for each row more: labels, splits, marks, and units while they are sorted.
ALLOWED = 50
SIZES = 8_000, 24_000


def written(folder: Path, n: int) -> Path:
    """Write pairs over 40 words of which some are copies and near copies."""
    rng = np.random.default_rng(0)
    words = pl.Series([f"w{i}" for i in range(40)])
    lines = [
        pl.DataFrame([words.gather(rng.integers(0, 40, n)).alias(str(i)) for i in range(10)])
        .select(pl.concat_str(pl.all(), separator=" "))
        .to_series()
        for _ in range(2)
    ]
    premise, hypothesis = lines
    hypothesis = hypothesis.gather(np.where(np.arange(n) % 5 == 0, np.arange(n) // 2, np.arange(n)))
    edited = pl.select(pl.when(pl.int_range(n) % 7 == 0).then(hypothesis + " w1").otherwise(hypothesis))
    label = pl.Series("label", ["a", "b", "c"]).gather(rng.integers(0, 3, n))
    table = pl.DataFrame({"premise": premise, "hypothesis": edited.to_series(), "label": label})
    path = folder / f"{n}.parquet"
    table.write_parquet(path, row_group_size=1_000)
    return path


def peak(path: Path, folder: Path) -> int:
    """Return the largest size of all arrays in memory while cues are found."""
    folder.mkdir()
    space = Space(folder, rows=1_000)
    data = DatasetSpec(path)(space)
    audit = Cues(features=("word", "bigram", "length", "overlap", "negation", "format"))
    tracemalloc.start()
    try:
        audit.run(data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_arrays_of_all_rows_are_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks, "__defaults__", (1_000,))
    monkeypatch.setattr(pl, "thread_pool_size", lambda: 1)  # one thing after another
    for bound, size in (
        ("data.units.buckets.RECORDS", 1_000),
        ("data.units.copies._READ_AGAIN", 1_000),
        ("data.units.copies._DIVIDED", 1_000),
        ("data.space.SMALL", 1_000),
        ("data.units.sketches.ROWS_AT_ONCE", 1_000),
        ("stats.units.codes.AT_A_TIME", 1_000),
        ("text.similarity.READ", 1_000),
        ("text.similarity.TOGETHER", 1_000),
        ("text.similarity.ASKED", 20),
        ("text.encoded.MANY_TOKENS", 1_000),
        ("text.tokens.LEAST_BITS", 10),
        ("features.units.MANY_ROWS", 1_000),
    ):
        module, _, name = bound.rpartition(".")
        monkeypatch.setattr(import_module(f"cuecard.{module}"), name, size)
    small, large = (peak(written(tmp_path, n), tmp_path / str(n)) for n in SIZES)
    assert (large - small) / (SIZES[1] - SIZES[0]) <= ALLOWED, (small, large)
