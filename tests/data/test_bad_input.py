"""Every kind of bad input gets one sentence naming file, row and remedy; `skip` counts what it leaves out."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from cuecard.data import load
from cuecard.errors import CueCardError, InputError, UsageError

#: Small files, of which a single bad row is more than the share that may be skipped by default.
SKIP = {"on_error": "skip", "max_skipped": 1000}
GOOD = "premise,hypothesis,label\na,b,yes\nc,d,no\ne,f,yes\n"


def file(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def refused(*args, **options) -> str:
    with pytest.raises(CueCardError) as caught:
        load(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_a_missing_file(tmp_path):
    message = refused(tmp_path / "absent.csv")
    assert "There is no file or folder" in message
    assert "absent.csv" in message
    assert "No file matches" in refused(str(tmp_path / "*.csv"))


def test_a_folder_without_data(tmp_path):
    file(tmp_path, "notes.txt", "hello")
    assert "contains no data file" in refused(tmp_path)


@pytest.mark.parametrize("name", ["data.xlsx", "data", "data.gz", "data.doc"])
def test_an_extension_that_is_not_read(tmp_path, name):
    message = refused(file(tmp_path, name, GOOD))
    assert name in message
    assert ".parquet, .csv, .tsv, .jsonl" in message


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("x.parquet", GOOD.encode(), "is not a parquet file"),
        ("x.csv", b"PAR1" + bytes(range(256)), "starts like a parquet file"),
        ("x.csv", gzip.compress(GOOD.encode(), mtime=0), "starts like a gzip file"),
        ("x.csv.gz", GOOD.encode(), "is not a gzip file"),
        ("x.jsonl.zst", GOOD.encode(), "is not a zstd file"),
        ("x.csv", b"PK\x03\x04" + bytes(100), "starts like a zip"),
    ],
)
def test_a_name_that_the_first_bytes_contradict(tmp_path, name, content, says):
    message = refused(file(tmp_path, name, content))
    assert says in message
    assert "right extension" in message


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet"])
def test_binary_garbage(tmp_path, name):
    import random

    garbage = random.Random(0).randbytes(5000)
    assert name in refused(file(tmp_path, name, garbage))
    assert name in refused(file(tmp_path, name, garbage), **SKIP)


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.csv.gz"])
def test_an_empty_file(tmp_path, name):
    assert "is empty" in refused(file(tmp_path, name, b""))


@pytest.mark.parametrize("content", ["", "\n\n  \n"])
def test_compressed_nothing(tmp_path, content):
    assert "is empty" in refused(file(tmp_path, "x.csv.gz", gzip.compress(content.encode())))


def test_a_header_without_rows(tmp_path):
    message = refused(file(tmp_path, "x.csv", "premise,hypothesis,label\n"))
    assert "x.csv has no rows" in message
    pl.DataFrame(schema={"text": pl.String, "label": pl.String}).write_parquet(tmp_path / "x.parquet")
    assert "x.parquet has no rows" in refused(tmp_path / "x.parquet")


LONG = "premise,hypothesis,label\n" + "".join(
    f"text number {i},other {i * 7919},{i % 2}\n" for i in range(5000)
)


def test_a_gzip_file_cut_short(tmp_path):
    whole = gzip.compress(LONG.encode())
    path = file(tmp_path, "x.csv.gz", whole[: len(whole) // 2])
    message = refused(path)
    assert "x.csv.gz is damaged or cut short after about" in message
    assert "--on-error skip" in message
    data = load(path, **SKIP)
    assert 0 < len(data) < 5000
    assert data.table["hypothesis"][-1] == f"other {(len(data) - 1) * 7919}"
    assert data.report.dropped == {"file cut short: rest of the file": 1}


def test_a_zstd_file_cut_short(tmp_path):
    whole = pa.compress(LONG.encode(), codec="zstd", asbytes=True)
    assert "cut short" in refused(file(tmp_path, "x.csv.zst", whole[: len(whole) // 2]))


@pytest.mark.parametrize("keep", [0.5, 0.99])
def test_a_parquet_file_cut_short(tmp_path, keep):
    pl.read_csv(LONG.encode()).write_parquet(tmp_path / "x.parquet")
    whole = (tmp_path / "x.parquet").read_bytes()
    message = refused(file(tmp_path, "cut.parquet", whole[: int(len(whole) * keep)]))
    assert "cut.parquet is damaged or cut short" in message
    assert "export it again" in message


def test_a_parquet_file_with_damage_inside(tmp_path):
    pl.read_csv(LONG.encode()).write_parquet(tmp_path / "x.parquet")
    whole = bytearray((tmp_path / "x.parquet").read_bytes())
    whole[2000:4000] = bytes(2000)
    assert "damaged" in refused(file(tmp_path, "x.parquet", bytes(whole)))


@pytest.mark.parametrize(
    ("name", "bad", "says", "reason"),
    [
        ("x.csv", b"c,d,no,more\n", "has 4 fields, but the header has 3", "too many fields"),
        ("x.csv", b"c,\xff\xfe,no\n", "is not valid UTF-8", "invalid UTF-8"),
        ("x.csv", b"c,d\x00d,no\n", "has a NUL character in its hypothesis", "NUL character"),
        ("x.csv", b'"c"c,d,no\n', "invalid csv quoting", "broken quoting"),
        (
            "x.csv",
            b"c," + b"d" * 11_000_000 + b",no\n",
            "has a hypothesis of 11,000,000 bytes",
            "text too long",
        ),
        ("x.tsv", b"c\td\tno\tmore\n", "has 4 fields, but the header has 3", "too many fields"),
        ("x.jsonl", b'{"premise": "c"\n', "is not valid JSON", "broken JSON"),
        ("x.jsonl", b"[1, 2]\n", "is not a JSON object", "not a JSON object"),
        ("x.jsonl", b'{"premise": "\xff"}\n', "is not valid UTF-8", "invalid UTF-8"),
        (
            "x.jsonl",
            b'{"premise": "c\\u0000", "hypothesis": "d", "label": "no"}\n',
            "NUL character in its premise",
            "NUL character",
        ),
    ],
)
def test_a_bad_row_is_named_and_can_be_skipped(tmp_path, name, bad, says, reason):
    rows = [("a", "b", "yes"), ("e", "f", "no"), ("g", "h", "no")]
    if name.endswith("jsonl"):
        good = [
            json.dumps(dict(zip(("premise", "hypothesis", "label"), r, strict=True))).encode() + b"\n"
            for r in rows
        ]
        content = good[0] + bad + good[1] + good[2]
    else:
        separator = "," if name.endswith("csv") else "\t"
        lines = [separator.join(r).encode() + b"\n" for r in [("premise", "hypothesis", "label"), *rows]]
        content = lines[0] + lines[1] + bad + lines[2] + lines[3]
    path = file(tmp_path, name, content)
    message = refused(path)
    assert says in message
    assert message.startswith(f"Row 2 of {path} ")
    assert "--on-error skip" in message
    data = load(path, **SKIP)
    assert data.table["premise"].to_list() == ["a", "e", "g"]
    assert data.table["example_id"].to_list() == ["1", "3", "4"]
    assert data.report.dropped == {reason: 1}


def test_a_fifty_megabyte_field(tmp_path):
    frame = pl.DataFrame({"text": ["a", "b" * 50_000_000, "c"], "label": ["x", "y", "y"]})
    frame.write_parquet(tmp_path / "x.parquet")
    frame.write_ndjson(tmp_path / "x.jsonl")
    for name in ("x.parquet", "x.jsonl"):
        assert "has a text of 50,000,000 bytes" in refused(tmp_path / name)
        assert load(tmp_path / name, **SKIP).report.dropped == {"text too long": 1}


def test_an_unclosed_quote(tmp_path):
    path = file(tmp_path, "x.csv", 'text,label\na,x\nb,y\n"c,x\nd,y\n')
    assert "invalid csv quoting" in refused(path)
    assert load(path, **SKIP).table["hypothesis"].to_list() == ["a", "b"]


def test_unknown_columns(tmp_path):
    message = refused(file(tmp_path, "x.csv", "alpha,beta\n1,2\n"))
    assert "alpha, beta" in message
    assert "--columns" in message


def test_one_class_and_no_labels(tmp_path):
    assert "only one class, 'yes'" in refused(file(tmp_path, "x.csv", "text,label\na,yes\nb,yes\n"))
    assert "missing or unknown" in refused(file(tmp_path, "x.csv", "text,label\na,-\nb,\n"))
    missing = pl.DataFrame({"question": ["q"], "choices": [["a", "b"]], "answer": [-1]})
    assert "Every answer in column 'answer' of the given table is missing" in refused(missing)


def test_a_test_split_without_labels(tmp_path):
    train = file(tmp_path, "train.csv", GOOD)
    test = file(tmp_path, "test.csv", "premise,hypothesis,label\na,b,-\n")
    message = refused(train, test=test)
    assert "No row of" in message
    assert "test.csv can be used for test (missing label: 1)" in message


def test_an_answer_out_of_range(tmp_path):
    choices = [["a", "b"], ["c", "d"], ["e", "f"]]
    frame = pl.DataFrame({"question": list("pqr"), "choices": choices, "answer": [0, 1, 7]})
    message = refused(frame)
    assert message.startswith(
        "Row 3 of the given table has the answer 7 in column 'answer', which is none of its 2 choices"
    )
    assert "answer=answer:1" in message
    data = load(frame, **SKIP)
    assert data.n_examples == 2
    assert data.report.dropped == {"answer out of range": 1}


def test_too_few_choices():
    frame = pl.DataFrame({"question": list("pq"), "choices": [["a", "b"], ["c"]], "answer": [0, 0]})
    assert "Row 2 of the given table has fewer than two choices" in refused(frame)
    assert load(frame, **SKIP).n_examples == 1


def test_choices_written_as_one_text():
    frame = pl.DataFrame({"question": ["q"], "options": ["['a', 'b']"], "answer": [0]})
    columns = {"question": "question", "choices": "options", "answer": "answer"}
    assert load(frame, columns=columns).table["hypothesis"].to_list() == ["a", "b"]
    frame = frame.with_columns(options=pl.lit("a or b"))
    assert "choices as one text" in refused(frame, columns=columns)


def test_duplicate_ids(tmp_path):
    path = file(tmp_path, "x.csv", "id,text,label\n1,a,x\n2,b,y\n1,c,y\n")
    message = refused(path)
    assert message.startswith(f"Row 3 of {path} repeats the id '1' in column 'id'")
    assert "--columns id=OTHER" in message
    assert "--columns id=none" in message
    assert load(path, columns={"id": "none"}).table["example_id"].to_list() == ["1", "2", "3"]
    assert load(path, **SKIP).report.dropped == {"duplicate id": 1}


def test_skipping_every_row_leaves_nothing(tmp_path):
    path = file(tmp_path, "x.csv", "text,label\na\x00,x\nb\x00,y\n")
    assert "No row of" in refused(path, **SKIP)
    path = file(tmp_path, "x.jsonl", "[1]\n[2]\n")
    assert "has no rows (all 2 rows are bad and were skipped)" in refused(path, **SKIP)


def test_the_row_is_counted_in_its_own_file(tmp_path):
    file(tmp_path, "a.csv", GOOD)
    second = file(tmp_path, "b.csv", "premise,hypothesis,label\na,b,yes\nc,d\x00,no\n")
    assert refused(tmp_path).startswith(f"Row 2 of {second} has a NUL")
    file(tmp_path, "a.csv", GOOD + "too,many,fields,here\n")
    data = load(tmp_path, **SKIP)
    assert data.report.dropped == {"too many fields": 1, "NUL character": 1}


def test_a_damaged_saved_dataset(tmp_path):
    (tmp_path / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    (tmp_path / "data.arrow").write_bytes(b"garbage" * 100)
    assert "data.arrow is damaged or cut short" in refused(tmp_path)
    (tmp_path / "state.json").write_text("{")
    assert "not valid JSON" in refused(tmp_path)


@pytest.mark.parametrize("source", [3, None, ["text", "label"], {"text": 3}])
def test_things_that_are_no_table(source):
    with pytest.raises((InputError, UsageError)):
        load(source)


def test_options_out_of_range():
    frame = pl.DataFrame({"text": ["a", "b"], "label": ["x", "y"]})
    assert "on_error is 'stop' or 'skip'" in refused(frame, on_error="ignore")
    assert "limit must be at least 1" in refused(frame, limit=0)
    assert "holdout takes a share" in refused(frame, holdout=2)
    assert "there already is one" in refused(frame, test=frame, holdout=0.5)
