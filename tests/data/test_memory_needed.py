"""How much memory an audit of files is taken to need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from cuecard.data.space import PER_BYTE, PER_ROW, bytes_of, free_memory, memory_needed
from cuecard.errors import UsageError


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


@pytest.mark.parametrize(
    "size", ["0GB", "9" * 400 + "GB", "1" + "0" * 30, "1e3", "-1GB", "nan", "inf", "", "4 G B", "GB"]
)
def test_what_is_no_size_is_refused(size: str) -> None:
    with pytest.raises(UsageError, match="--memory takes a size such as 4GB") as refused:
        bytes_of(size)
    assert len(str(refused.value)) < 120


def test_a_few_bytes_are_a_unit_that_was_forgotten() -> None:
    with pytest.raises(UsageError, match=r"--memory 4 has no unit: write 4GB or 4MB\."):
        bytes_of("4")
    assert bytes_of(4) == 4
    assert bytes_of("900 b") == 900
    assert bytes_of("4000000000") == 4_000_000_000


def test_files_that_were_read_do_not_count_as_used_memory_of_a_container(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("950000\n")
    assert free_memory(tmp_path) == 50_000
    (tmp_path / "memory.stat").write_text("anon 50000\ninactive_file 600000\nactive_file 300000\n")
    assert free_memory(tmp_path) == 650_000
    (tmp_path / "memory.stat").write_text("inactive_file many\n")
    assert free_memory(tmp_path) == 50_000
    (tmp_path / "memory.max").write_text("max\n")
    assert free_memory(tmp_path) > 1_000_000


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_more_files_may_be_open_where_the_user_may_have_more():
    code = """
import resource
from cuecard.data.space import OPEN_FILES, allow_open_files
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
allow_open_files()
most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (most, hard)
resource.setrlimit(resource.RLIMIT_NOFILE, (150, 180))
allow_open_files()
assert resource.getrlimit(resource.RLIMIT_NOFILE) == (180, 180)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
