"""A dataset in parts holds the same rows as the dataset at once."""

from __future__ import annotations

import gzip
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.data import COLUMNS, load, partitions, scan
from cuecard.data.partitions import _last_record_end
from cuecard.errors import InputError, UsageError

N = 1000
FRAME = pl.DataFrame(
    {
        "premise": [f'p "{i}",\nnext line' if i % 7 == 0 else f"p {i}" for i in range(N)],
        "hypothesis": [f"h {i}" for i in range(N)],
        # The third class stands only at the end, where the first part does not see it.
        "label": ["a" if i % 2 else "c" for i in range(N - 5)] + ["b", "-", "b", "a", "b"],
    }
)


def write(folder: Path, name: str) -> Path:
    path = folder / name
    plain = folder / name.removesuffix(".gz").removesuffix(".zst")
    if ".parquet" in name:
        FRAME.write_parquet(plain, row_group_size=300)
    elif ".csv" in name or ".tsv" in name:
        FRAME.write_csv(plain, separator="," if ".csv" in name else "\t")
    else:
        FRAME.write_ndjson(plain)
    if name.endswith(".gz"):
        path.write_bytes(gzip.compress(plain.read_bytes()))
    elif name.endswith(".zst"):
        path.write_bytes(pa.compress(plain.read_bytes(), codec="zstd", asbytes=True))
    if path != plain:
        plain.unlink()
    return path


@pytest.mark.parametrize(
    "name",
    ["x.parquet", "x.csv", "x.tsv", "x.jsonl", "x.csv.gz", "x.jsonl.zst", "x.ndjson.gz", "x.parquet.gz"],
)
def test_parts_hold_what_the_whole_holds(tmp_path, monkeypatch, name):
    monkeypatch.setattr(partitions, "BLOCK", 3000)
    path = write(tmp_path, name)
    (tmp_path / "test").mkdir()
    test = write(tmp_path / "test", name)
    whole = load(path, test=test)
    parts = scan(path, test=test, rows=64)
    assert (parts.task, parts.labels, parts.report.recognised) == (
        "pair",
        ("a", "b", "c"),
        whole.report.recognised,
    )
    for _ in range(2):
        tables = [part.table for part in parts]
        assert len(tables) > 20
        assert max(t.height for t in tables) <= 64
        assert pl.concat(tables).equals(whole.table)
    assert all(part.labels == whole.labels for part in parts)
    assert sum(part.report.dropped.get("missing label", 0) for part in parts) == 2


def test_a_folder_of_files_is_numbered_through(tmp_path):
    for i in range(3):
        FRAME.slice(i * 300, 300).write_parquet(tmp_path / f"part-{i}.parquet")
    parts = list(scan(tmp_path, rows=128, name="big"))
    assert pl.concat([p.table for p in parts]).equals(load(tmp_path).table)
    assert {p.name for p in parts} == {"big"}


def test_choices_are_scanned_example_by_example(tmp_path):
    frame = pl.DataFrame(
        {
            "question": [f"q{i}" for i in range(50)],
            "choices": [["a", "b", "c"]] * 50,
            "answer": ["A", "C"] * 25,
        }
    )
    frame.write_parquet(tmp_path / "x.parquet")
    parts = list(scan(tmp_path / "x.parquet", rows=20))
    assert [p.n_examples for p in parts] == [20, 20, 10]
    assert pl.concat([p.table for p in parts]).equals(load(tmp_path / "x.parquet").table)


def test_a_bad_row_in_a_later_part_is_named_by_its_place_in_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "BLOCK", 200)
    lines = [f"text {i},{'xy'[i % 2]}\n" for i in range(100)]
    path = tmp_path / "x.csv"
    path.write_text("text,label\n" + "".join(lines[:70]) + "too,many,fields\n" + "".join(lines[70:]))
    with pytest.raises(InputError, match=r"Row 71 of .*x.csv has 3 fields"):
        scan(path)
    parts = list(scan(path, on_error="skip", max_skipped=1000))
    assert sum(len(p) for p in parts) == 100
    ids = [i for p in parts for i in p.table["example_id"]]
    assert ids == [str(i) for i in range(1, 102) if i != 71]
    assert sum(p.report.dropped.get("too many fields", 0) for p in parts) == 1


def test_quotation_marks_mean_the_same_in_every_part_of_a_tsv_file(tmp_path, monkeypatch):
    monkeypatch.setattr(partitions, "BLOCK", 100)
    texts = ['"whole"' if i % 2 else f"plain {i}" for i in range(60)] + ['"Oh," she said', "last"]
    path = tmp_path / "x.tsv"
    path.write_text("text\tlabel\n" + "".join(f"{t}\t{'xy'[i % 2]}\n" for i, t in enumerate(texts)))
    parts = [text for part in scan(path, rows=10) for text in part.table["hypothesis"]]
    assert parts == load(path).table["hypothesis"].to_list() == texts


def test_a_file_cut_short(tmp_path, monkeypatch):
    path = write(tmp_path, "x.csv.gz")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="cut short"):
        scan(path)
    monkeypatch.setattr(partitions, "BLOCK", 1000)
    parts = list(scan(path, on_error="skip", max_skipped=1000))
    seen = pl.concat([part.table for part in parts])
    assert seen.height > 100
    assert (
        seen["hypothesis"].to_list()
        == load(path, on_error="skip", max_skipped=1000).table["hypothesis"].to_list()[: seen.height]
    )
    assert sum(part.report.dropped.get("file cut short: rest of the file", 0) for part in parts) <= 1
    path = write(tmp_path, "x.parquet")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(InputError, match="cut short"):
        scan(path)


def test_what_cannot_be_scanned_is_said(tmp_path):
    with pytest.raises(UsageError, match="read tables in memory"):
        scan(FRAME)
    with pytest.raises(UsageError, match="at least 1"):
        scan(write(tmp_path, "x.csv"), rows=0)


@settings(max_examples=200, deadline=None)
@given(st.text('a"\n,', max_size=30))
def test_a_block_ends_where_no_quote_is_open(text):
    block = text.encode()
    cut = _last_record_end(block, quoted=True)
    assert block[:cut].count(b'"') % 2 == 0
    assert cut == 0 or block[cut - 1 : cut] == b"\n"
    later = [i + 1 for i in range(cut, len(block)) if block[i : i + 1] == b"\n"]
    assert all(block[:end].count(b'"') % 2 for end in later)


@pytest.mark.parametrize("rows", [3, 7, 1000])
@pytest.mark.parametrize("block", [150, 16_000_000])
def test_rows_left_out_keep_their_numbers_in_parts_as_in_the_whole(tmp_path, monkeypatch, rows, block):
    monkeypatch.setattr(partitions, "BLOCK", block)
    for name in ("a", "b"):
        lines = [f"question {i},x,y,{'7' if i % 9 == 4 else i % 2}\n" for i in range(40)]
        lines[5] = lines[6] = lines[20] = "too,many,fields,in,this\n"
        (tmp_path / f"{name}.csv").write_text("question,A,B,answer\n" + "".join(lines))
    for source in (tmp_path / "a.csv", tmp_path):
        whole = load(source, on_error="skip", max_skipped=1000)
        parts = [part.table for part in scan(source, rows=rows, on_error="skip", max_skipped=1000)]
        assert pl.concat(parts).select(COLUMNS).equals(whole.table.select(COLUMNS))
    ids = whole.table["example_id"].unique(maintain_order=True).cast(pl.Int64).to_list()
    left_out = {i for i in range(40) if i % 9 == 4} | {5, 6, 20}
    assert ids == [40 * file + i + 1 for file in range(2) for i in range(40) if i not in left_out]
