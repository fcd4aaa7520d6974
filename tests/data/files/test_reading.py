"""What is written in any format is what is read, whatever the texts hold."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuecard.data import load
from cuecard.data.reading.files import class_names, read_file
from cuecard.data.reading.mending import json_marks
from mapped import mapped

#: Any text but NUL, which is refused, and lone surrogates, which no file format can hold.
TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12)
AWKWARD = st.sampled_from(
    ['"', '""', '"a" b', "a,b", "a\tb", "a\nb", "\r\n", "'", "", " ", "null", "NA", "é", "你好", "007"]
)
CELLS = st.one_of(st.none(), TEXTS, AWKWARD)
ROWS = st.lists(
    st.tuples(CELLS, CELLS, st.sampled_from(["yes", "no", "-"]), st.one_of(st.none(), st.integers())),
    max_size=8,
)
FORMATS = ("parquet", "csv", "tsv", "jsonl", "ndjson")
COMPRESSIONS = ("", ".gz", ".zst")


def written(frame: pl.DataFrame, kind: str) -> bytes:
    buffer = io.BytesIO()
    if kind == "parquet":
        frame.write_parquet(buffer)
    elif kind in ("csv", "tsv"):
        frame.write_csv(buffer, separator="," if kind == "csv" else "\t")
    else:
        for row in frame.to_dicts():
            buffer.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    return buffer.getvalue()


def packed(content: bytes, compression: str) -> bytes:
    if compression == ".gz":
        return gzip.compress(content)
    return pa.compress(content, codec="zstd", asbytes=True) if compression == ".zst" else content


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("compression", COMPRESSIONS)
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS)
def test_what_was_written_is_read(tmp_path, kind, compression, rows):
    rows = [("first", "text", "yes", 1), ("second", "text", "no", 2), *rows]
    schema = {"premise": pl.String, "hypothesis": pl.String, "label": pl.String, "score": pl.Int64}
    limited = [(p, h, y, None if n is None else n % 1000) for p, h, y, n in rows]
    frame = pl.DataFrame(limited, schema=schema, orient="row")
    path = tmp_path / f"data.{kind}{compression}"
    path.write_bytes(packed(written(frame, kind), compression))
    data = load(path)
    kept = frame.filter(pl.col("label") != "-")
    assert data.table["premise"].to_list() == kept["premise"].fill_null("").to_list()
    assert data.table["hypothesis"].to_list() == kept["hypothesis"].fill_null("").to_list()
    assert data.table["label"].cast(pl.String).to_list() == kept["label"].to_list()
    assert data.table["score"].to_list() == kept["score"].to_list()
    assert data.report.dropped.get("missing label", 0) == frame.height - kept.height


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lists=st.lists(st.lists(st.one_of(TEXTS, AWKWARD), min_size=2, max_size=5), min_size=1, max_size=6),
    pick=st.integers(0, 4),
)
def test_choices_survive_parquet_and_jsonl(tmp_path, lists, pick):
    answers = [pick % len(options) for options in lists]
    columns = {"question": [f"q{i}" for i in range(len(lists))], "choices": lists, "answer": answers}
    frame = pl.DataFrame(columns, schema_overrides={"choices": pl.List(pl.String)})
    for kind in ("parquet", "jsonl"):
        path = tmp_path / f"data.{kind}"
        path.write_bytes(written(frame, kind))
        table = load(path, columns={"answer": "answer:0"}).table
        assert table["hypothesis"].to_list() == [text for options in lists for text in options]
        right = table.filter(pl.col("label") == "right")
        assert right["position"].to_list() == answers
        assert right["example_id"].to_list() == [str(i + 1) for i in range(len(lists))]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_tsv_fields_that_only_begin_with_a_quotation_mark_are_taken_literally(tmp_path):
    text = 'sentence\tlabel\n"Hello," he said.\t0\n5" of rain\t1\n"quoted whole"\t1\n'
    frame = read_file(write(tmp_path / "x.tsv", text)).frame
    assert frame["sentence"].to_list() == ['"Hello," he said.', '5" of rain', '"quoted whole"']


def test_a_csv_file_may_be_separated_by_semicolons_or_tabs(tmp_path):
    for separator in ";\t":
        path = write(tmp_path / "x.csv", f"text{separator}label\na, b{separator}x\n")
        assert read_file(path).frame.rows() == [("a, b", "x")]


def test_byte_order_mark_blank_lines_and_windows_line_ends_are_no_trouble(tmp_path):
    path = write(tmp_path / "x.csv", b"\xef\xbb\xbftext,label\r\n\r\na,1\r\n\r\nb,2\r\n")
    assert read_file(path).frame.to_dict(as_series=False) == {"text": ["a", "b"], "label": ["1", "2"]}
    path = write(tmp_path / "x.jsonl", '{"text": "a", "label": 1}\n\n{"text": "b", "label": 2}')
    assert read_file(path).frame["text"].to_list() == ["a", "b"]


def test_json_values_without_a_common_type_become_text(tmp_path):
    path = write(
        tmp_path / "x.jsonl", '{"text": "a", "y": true, "z": [1]}\n{"text": "b", "y": 0, "z": "s"}\n'
    )
    frame = read_file(path).frame
    assert frame["z"].to_list() == ["[1]", "s"]
    assert frame["y"].to_list() == ["true", "0"]


def test_extra_columns_of_csv_files_are_numbers_where_all_are(tmp_path):
    path = write(tmp_path / "x.csv", "text,label,score,code,n\na,x,3.6,007,1\nb,y,1,010,\n")
    table = load(path).table
    assert table["score"].to_list() == [3.6, 1.0]
    assert table["code"].to_list() == ["007", "010"]
    assert table["n"].to_list() == [1, None]


def test_class_names_are_read_from_hugging_face_metadata():
    described = {
        "info": {
            "features": {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}, "text": {"_type": "Value"}}
        }
    }
    assert class_names(json.dumps(described)) == {"label": ("no", "yes")}
    assert class_names(None) == {}
    assert class_names("{not json") == {}


def test_numbers_are_named_by_the_metadata_in_a_parquet_file(tmp_path):
    import pyarrow.parquet as pq

    described = {"info": {"features": {"label": {"names": ["no", "yes"], "_type": "ClassLabel"}}}}
    table = pa.table({"text": ["a", "b", "c"], "label": [1, 0, -1]})
    pq.write_table(
        table.replace_schema_metadata({"huggingface": json.dumps(described)}), tmp_path / "x.parquet"
    )
    data = load(tmp_path / "x.parquet")
    assert data.labels == ("no", "yes")
    assert data.table["label"].to_list() == ["yes", "no"]


@pytest.mark.parametrize(
    ("late", "columns"),
    [
        ({"text": "a", "label": "x", "note": "late"}, {"text", "label", "note"}),
        ({"text": "a", "note": "late"}, {"text", "label", "note"}),
        ({"text": 'say \\": "b": no', "label": "x"}, {"text", "label"}),
        ({"text": {"key": "value"}, "label": "x"}, {"text", "label"}),
    ],
)
def test_keys_and_types_may_change_after_any_number_of_json_lines(tmp_path, late, columns):
    rows = [{"text": f'text {i} "quoted": yes', "label": "y"} for i in range(1_200)] + [late]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    frame = read_file(path).frame
    assert set(frame.columns) == columns
    assert frame.height == 1_201
    whole = pl.read_ndjson(path, infer_schema_length=None)
    assert frame.equals(whole.select(frame.columns))


@pytest.mark.parametrize(
    ("data", "marks"),
    [
        (b"", (0, 0, 0)),
        (b"{", (0, 0, 0)),
        (b"[1]", (0, 0, 1)),
        (b'{"a":1}\n{"a" :[2]}', (1, 1, 1)),
        (b'{"a":"x\\":{"}\n{"b":"[["}', (2, 0, 3)),
        (b"1\n{", (0, 0, 0)),
    ],
)
def test_keys_and_brackets_of_json_are_counted_without_parsing(data, marks):
    assert tuple(json_marks(data)) == marks


def test_marks_of_json_are_counted_the_same_way_at_any_place_of_a_file():
    rng = np.random.default_rng(0)
    for n in (3, 63, 64, 65, 66, 67, 68, 130, 300, 17_000, 40_000):
        data = rng.choice(np.frombuffer(b'":\\ [{\n]a;', dtype=np.uint8), n).tobytes()
        inner = range(1, n - 2)
        keys = sum(data[i : i + 2] == b'":' and data[i - 1 : i] != b"\\" for i in inner)
        spaced = sum(data[i : i + 3] == b'" :' for i in inner)
        opened = data.count(b"{") + data.count(b"[") - data.startswith(b"{") - data.count(b"\n{")
        assert tuple(json_marks(data)) == (keys, spaced, opened)


@pytest.mark.parametrize(
    "late",
    [
        {"text": "one more", "label": "y"},
        {"text": "a further key", "label": "y", "more": 1},
        {"text": "no label"},
        {"label": "y", "text": None},
        {"text": ["a", "list"], "label": "y"},
        {"text": "\ud83d alone", "label": "y"},
    ],
)
def test_a_large_file_read_in_parts_has_the_rows_of_one_that_is_read_whole(tmp_path, monkeypatch, late):
    rows = [{"text": f"text {i} ü", "label": "y"} for i in range(1_500)]
    rows = [*rows[:1_100], late, *rows[1_100:]]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).rstrip("\n"))
    whole = read_file(path, on_error="skip")
    monkeypatch.setattr("cuecard.data.reading.files._PART_BYTES", 4_000)
    monkeypatch.setattr("cuecard.data.reading.files._LARGE", 8_000)
    in_parts = read_file(path, on_error="skip")
    assert in_parts.frame.equals(whole.frame)
    assert (in_parts.sizes, in_parts.dropped, in_parts.notes) == (whole.sizes, whole.dropped, whole.notes)


def test_parts_of_a_large_file_are_parsed_one_by_one(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    pl.DataFrame({"text": [f"text {i}" for i in range(1_000)], "label": "y"}).write_ndjson(path)
    monkeypatch.setattr("cuecard.data.reading.files._PART_BYTES", 4_000)
    monkeypatch.setattr("cuecard.data.reading.files._LARGE", 8_000)
    monkeypatch.setattr("cuecard.data.reading.files.content", None)  # the file is not read whole
    assert read_file(path).frame.equals(pl.read_ndjson(path))


def test_a_folder_says_which_files_it_read_as_which_split(tmp_path):
    frame = pl.DataFrame({"text": ["a b", "c d", "e f", "g h"], "label": ["x", "y", "x", "y"]})
    pooled, split = tmp_path / "pooled", tmp_path / "split"
    for folder, names in ((pooled, ("dev", "test")), (split, ("train", "test"))):
        folder.mkdir()
        for i, name in enumerate(names):
            frame.with_columns(pl.col("text") + f" {i}").write_csv(folder / f"{name}.csv")
    [note] = load(pooled).report.notes
    assert note.startswith(
        "The training set is read from 2 files: dev.csv and test.csv. If they are different splits"
    )
    assert mapped(pooled).report.notes == (note,)
    assert load(split).report.notes == (
        "The training set is read from train.csv.",
        "The test set is read from test.csv.",
    )
    assert load(split / "train.csv", test=split / "test.csv").report.notes == ()
