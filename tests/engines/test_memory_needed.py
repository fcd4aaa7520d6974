"""How much memory an audit of files is taken to need."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cuecard.engines.memory import PER_BYTE, PER_ROW, memory_needed


def test_short_rows_need_memory_for_each_row_whatever_the_format(tmp_path: Path) -> None:
    rows = pl.DataFrame({"text": [f"short text {i:05}" for i in range(10_000)], "label": ["a", "b"] * 5_000})
    rows.write_parquet(tmp_path / "rows.parquet")
    rows.write_csv(tmp_path / "rows.csv")
    for name in ("rows.parquet", "rows.csv"):
        needed = memory_needed([tmp_path / name])
        assert 10_000 * PER_ROW <= needed <= 10_000 * (PER_ROW + 40 * PER_BYTE)


def test_long_rows_need_memory_for_their_bytes(tmp_path: Path) -> None:
    pl.DataFrame({"text": ["word " * 2_000] * 100, "label": ["a", "b"] * 50}).write_ndjson(
        tmp_path / "rows.jsonl"
    )
    assert 100 * 10_000 * PER_BYTE < memory_needed([tmp_path / "rows.jsonl"]) < 110 * 10_000 * PER_BYTE
