"""Small files that expand to more than the memory are refused, with the limit and how to raise it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cuecard.data import load
from cuecard.errors import InputError, UsageError

ROWS = [{"text": "word " * 20_000, "label": "xy"[i % 2]} for i in range(30)]


def packed(folder: Path, kind: str) -> Path:
    """Write three megabytes into a small file."""
    path = folder / f"small.{kind}"
    lines = "\n".join(map(json.dumps, ROWS)).encode()
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), path)
    elif kind == "jsonl.zst":
        with pa.CompressedOutputStream(str(path), "zstd") as out:
            out.write(lines)
    else:
        path.write_bytes(gzip.compress(lines))
    assert path.stat().st_size < 30_000
    return path


@pytest.mark.parametrize("on_error", ["stop", "skip"])
@pytest.mark.parametrize("kind", ["jsonl.gz", "jsonl.zst", "parquet"])
def test_a_file_that_expands_beyond_the_limit_is_refused_and_read_where_more_is_allowed(
    tmp_path, monkeypatch, kind, on_error
):
    path = packed(tmp_path, kind)
    monkeypatch.setenv("CUECARD_MAX_GB", "0.001")
    with pytest.raises(
        InputError, match=r"expands to more than 0\.001 GB: split it, .* such as CUECARD_MAX_GB=8\."
    ):
        load(path, on_error=on_error)
    monkeypatch.setenv("CUECARD_MAX_GB", "0.01")
    assert load(path, on_error=on_error).n_examples == 30


def test_a_limit_that_is_no_number_is_said(tmp_path, monkeypatch):
    monkeypatch.setenv("CUECARD_MAX_GB", "much")
    with pytest.raises(UsageError, match="CUECARD_MAX_GB=much is not a number of gigabytes"):
        load(packed(tmp_path, "jsonl.gz"))
