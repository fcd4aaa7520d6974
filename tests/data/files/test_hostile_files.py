"""Damaged and hostile files are refused with one sentence, whatever the libraries below raise."""

from __future__ import annotations

import gzip
import json
import os
import random
import struct
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cuecard.data import load
from cuecard.data.reading.formats import class_names, guarded
from cuecard.errors import CueCardError, InputError
from mapped import mapped
from raw_files import refused, written

GOOD = "text,label\na,0\nb,1\n"


class PanicException(BaseException):
    """As polars raises it: not an `Exception`."""


def test_panics_become_sentences_and_interrupts_pass():
    def panic() -> None:
        raise PanicException("called `Option::unwrap()` on a `None` value\nbacktrace")

    with pytest.raises(InputError, match=r"^x\.parquet is damaged or cut short \(called .* value\): copy"):
        guarded(panic, "x.parquet")
    with pytest.raises(InputError, match="larger than the memory"):
        guarded(
            lambda: (_ for _ in ()).throw(MemoryError("malloc of size 2305843009213693952 failed")), "x.arrow"
        )
    for kind in (KeyboardInterrupt, SystemExit):
        with pytest.raises(kind):
            guarded(lambda kind=kind: (_ for _ in ()).throw(kind()), "x.parquet")


def test_flipped_bits_and_odd_values_never_end_the_process():
    """Read in a process of its own: what this looks for is a process that dies. `make fuzz` tries far more."""
    script = Path(__file__).parents[3] / "scripts" / "fuzz.py"
    ran = subprocess.run(
        [sys.executable, script, "--cases", "12", "--seed", "3"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = [line.strip("|").split("|") for line in ran.stdout.splitlines()[2:]]
    kinds = [
        "Arrow files",
        "Parquet files",
        "Inspect logs",
        "lm-evaluation",
        "predictions",
        "cards",
        "prompt templates",
    ]
    kinds += ["policies", "ratchets", "worksheets", "READMEs", "rows with weights", "verdicts of judges"]
    for kind in kinds:
        assert sum(row[0].strip().startswith(kind) for row in rows) == 1, kind
    assert {(row[1].strip(), row[-1].strip()) for row in rows} == {("12", "0")}


def saved(folder: Path, table: pa.Table) -> Path:
    folder.mkdir(exist_ok=True)
    with pa.ipc.new_stream(str(folder / "data.arrow"), table.schema) as writer:
        writer.write_table(table)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return folder


def test_offsets_that_lead_outside_their_buffer(tmp_path):
    folder = saved(tmp_path / "d", pa.table({"text": ["ab", "c"], "label": ["x", "y"]}))
    whole = (folder / "data.arrow").read_bytes()
    offsets, wrong = (struct.pack("<3i", 0, 2, end) for end in (3, 1_000_000))
    assert whole.count(offsets) == 1
    (folder / "data.arrow").write_bytes(whole.replace(offsets, wrong))
    for read in (load, mapped):
        with pytest.raises(InputError, match=r"data\.arrow is damaged"):
            read(folder)


@pytest.mark.parametrize(
    "state",
    [
        None,
        3,
        [],
        {},
        {"_data_files": None},
        {"_data_files": "ab"},
        {"_data_files": [3]},
        {"_data_files": [{}]},
        {"_data_files": [{"filename": 3}]},
        {"_data_files": [{"filename": "../data.arrow"}]},
        {"_data_files": [{"filename": "absent"}]},
    ],
)
def test_a_state_of_the_wrong_type(tmp_path, state):
    folder = saved(tmp_path / "d", pa.table({"text": ["a", "b"], "label": ["x", "y"]}))
    (folder / "state.json").write_text(json.dumps(state))
    assert "save the dataset again" in refused(folder)


@pytest.mark.parametrize("splits", [None, 3, "train", [], [3], ["../d"], ["absent"], {"train": 1}])
def test_a_list_of_splits_of_the_wrong_type(tmp_path, splits):
    saved(tmp_path / "train", pa.table({"text": ["a", "b"], "label": ["x", "y"]}))
    (tmp_path / "dataset_dict.json").write_text(json.dumps({"splits": splits}))
    assert "save the dataset again" in refused(tmp_path)


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "{",
        "null",
        "3",
        "[]",
        '{"info": 3}',
        '{"info": {"features": []}}',
        '{"features": {"label": 3}}',
        '{"features": {"label": {"_type": "ClassLabel", "names": 3}}}',
        '{"features": {"label": {"_type": "ClassLabel", "names": [1]}}}',
        '{"features": {"label": {"_type": "ClassLabel", "names": ["\\ud800"]}}}',
        "[" * 100_000,
        '{"n": ' + "9" * 5000 + "}",
    ],
)
def test_metadata_of_the_wrong_type_names_no_classes(tmp_path, metadata):
    assert class_names(metadata) == {}
    folder = saved(tmp_path / "d", pa.table({"text": ["a", "b"], "label": [0, 1]}))
    (folder / "dataset_info.json").write_text(metadata)
    assert load(folder).labels == ("0", "1")
    table = pa.table({"text": ["a", "b"], "label": [0, 1]}).replace_schema_metadata({"huggingface": metadata})
    pq.write_table(table, tmp_path / "x.parquet")
    assert load(tmp_path / "x.parquet").labels == ("0", "1")
    assert mapped(tmp_path / "x.parquet").labels == ("0", "1")


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (r'{"text": "a\ud800b", "label": "y"}', "has half of a character"),
        (r'{"text": "c", "label": "\udfff"}', "has half of a character"),
        ('{"text": "c", "label": ' + "9" * 5000 + "}", "a number of more than 4,300 digits"),
        ('{"text": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_json_that_no_table_can_hold(tmp_path, bad, says):
    good = [json.dumps({"text": f"t{i}", "label": "xy"[i % 2]}) for i in range(4)]
    path = written(tmp_path, "x.jsonl", "\n".join([good[0], bad, *good[1:]]))
    message = refused(path)
    assert message.startswith(f"Row 2 of {path} ")
    assert says in message
    data = load(path, on_error="skip", max_skipped=1)
    assert (data.n_examples, data.labels) == (4, ("x", "y"))


def test_whole_characters_in_escapes_stay(tmp_path):
    rows = [
        json.dumps({"text": text, "label": i}) for i, text in enumerate(("smile 😀", r"a \ud800 in words"))
    ]
    path = written(tmp_path, "x.jsonl", "\n".join(rows))
    assert load(path).table["hypothesis"].to_list() == ["smile 😀", r"a \ud800 in words"]


def test_huge_whole_numbers_are_text(tmp_path):
    rows = [f'{{"text": "t{i}", "label": {i % 2}, "n": {"9" * (100 * (i + 1))}}}' for i in range(3)]
    data = load(written(tmp_path, "x.jsonl", "\n".join(rows)))
    assert data.n_examples == 3


@pytest.mark.parametrize(
    ("first", "second"),
    [([1, 2], "text"), ([1, 2], {"a": 1}), (3, [1]), ({"a": 1}, {"a": [1]}), (True, "x"), ([["a"]], ["a"])],
)
def test_shards_that_differ_in_an_unused_column(tmp_path, first, second):
    for name, extra in (("a", first), ("b", second)):
        written(tmp_path, f"{name}.jsonl", json.dumps({"text": name, "label": name, "extra": extra}))
    assert load(tmp_path).n_examples == 2
    assert load(tmp_path / "a.jsonl", test=tmp_path / "b.jsonl").splits == ("train", "test")


@pytest.mark.parametrize(
    "choices", [[["a"], ["b"]], [{"text": ["a"]}, {"text": ["b"]}], [{"x": "a"}], 3, {"a": {"b": "c"}}]
)
def test_choices_that_are_no_texts(tmp_path, choices):
    path = written(tmp_path, "x.jsonl", json.dumps({"question": "q", "choices": choices, "answer": 0}))
    with pytest.raises(CueCardError):
        load(path)


@pytest.mark.parametrize("header", ["text,label,text,text_duplicated_0", "text,label,label", "text,label,,"])
def test_names_that_repeat_in_a_header(tmp_path, header):
    more = "," * (header.count(",") - 1)
    data = load(written(tmp_path, "x.csv", f"{header}\na,0{more}\nb,1{more}\n"))
    assert data.table["label"].to_list() == ["0", "1"]


def test_a_name_that_repeats_is_noted(tmp_path):
    data = load(written(tmp_path, "x.csv", "text,label,label\na,0,1\nb,1,0\n"))
    assert "repeats the name 'label'" in data.report.notes[0]


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("", "The path is empty"),
        ("  ", "The path is empty"),
        ("~nosuchuser/x.csv", "names a user without a home folder"),
        ("x" * 5000 + ".csv", "cannot be read"),
        ("/".join(["x" * 200] * 30) + ".csv", "cannot be read"),
        ("a\0b.csv", "NUL character"),
    ],
)
def test_paths_that_are_none(tmp_path, monkeypatch, source, says):
    (tmp_path / "train.csv").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    message = refused(source)
    assert says in message
    assert len(message) < 1000
    assert says in refused(tmp_path / "train.csv", test=source)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8 here")
@pytest.mark.parametrize("ending", [b".csv", b".parquet", b".jsonl"])
def test_names_that_are_no_utf_8(tmp_path, ending):
    name = os.fsencode(tmp_path) + b"/caf\xe9" + ending
    frame = pl.DataFrame({"text": ["a", "b"], "label": ["0", "1"]})
    write = {b".csv": frame.write_csv, b".parquet": frame.write_parquet, b".jsonl": frame.write_ndjson}[
        ending
    ]
    with open(name, "wb") as file:
        write(file)
    data = load(os.fsdecode(name))
    assert data.name == r"caf\udce9"
    for text in (data.name, *data.report.files):
        text.encode()
    assert mapped(os.fsdecode(name)).n_examples == 2


def test_hidden_files_are_not_data(tmp_path):
    for name in ("train.csv", ".hidden.csv", "._train.csv", ".cache/x.csv"):
        written(tmp_path, name, GOOD)
    assert load(tmp_path).n_examples == 2
    (tmp_path / "train.csv").unlink()
    assert "contains no data file" in refused(tmp_path)


def test_random_bytes_are_refused(tmp_path):
    for seed, name in enumerate(("x.json", "x.txt", "x.jsonl", "x.csv", "x.tsv", "x.parquet")):
        (tmp_path / name).write_bytes(random.Random(seed).randbytes(3000))
        assert name in refused(tmp_path / name)


@pytest.mark.parametrize("role", ["label", "id", "premise", "hypothesis"])
@pytest.mark.parametrize("value", [[1, 2], {"a": [1]}, [], [[]]])
def test_a_role_that_holds_no_single_value(tmp_path, role, value):
    row = {"premise": "p", "hypothesis": "h", "label": "x", "id": "1", "odd": value}
    rows = [json.dumps(row), json.dumps({**row, "label": "y", "id": "2"})]
    path = written(tmp_path, "x.jsonl", "\n".join(rows))
    refused(path, columns={role: "odd"})


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.json", "x.txt", "x.csv.gz"])
def test_text_of_two_bytes_a_character_is_named(tmp_path, name, encoding):
    text = '[{"text": "a", "label": 0}]' if "json" in name else GOOD
    data = text.encode(encoding)
    path = tmp_path / name
    path.write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    assert refused(path) == f"{path} is text in UTF-16 or UTF-32: save the file as UTF-8."


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array([1, 2], pa.decimal256(60, 3)), "decimal256(60, 3)"),
        (pa.array([[1], [2]], pa.list_(pa.decimal256(40, 0))), "decimal256(40, 0)"),
        (pa.array([{"a": {"b": 1}}, None], pa.struct([("a", pa.struct([("b", pa.decimal256(40, 0))]))])),
         "decimal256(40, 0)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("on_error", ["stop", "skip"])
def test_a_column_of_a_type_that_no_table_holds_is_named_without_a_panic(
    tmp_path, capfd, column, kind, on_error
):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"text": ["a", "b"], "label": ["c", "d"], "other": column}), path)
    said = f"Column 'other' of {path} has values of the type {kind}, which cannot be read: write the file without"
    assert refused(path, on_error=on_error).startswith(said)
    with pytest.raises(InputError, match="Column 'other'"):
        mapped(path, on_error=on_error)
    assert capfd.readouterr().err == ""


def test_a_name_that_repeats_in_a_parquet_file_is_named(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(
        pa.table(
            [pa.array(["a", "b"]), pa.array(["c", "d"]), pa.array(["c", "d"])],
            names=["text", "label", "label"],
        ),
        path,
    )
    assert refused(path) == f"{path} has two columns with the name 'label': write it with distinct names."


@pytest.mark.parametrize("within", [False, True])
def test_metadata_of_a_column_that_is_no_text_is_named_without_a_panic(tmp_path, capfd, within):
    path = tmp_path / "x.parquet"
    odd = pa.field("note", pa.string(), metadata={b"\xff": b"\xfe"})
    kind, values = (pa.struct([odd]), [{"note": "a"}, None]) if within else (pa.string(), ["a", "b"])
    field = pa.field("note", kind) if within else odd
    columns = [pa.array(["a", "b"]), pa.array(["c", "d"]), pa.array(values, kind)]
    schema = pa.schema([("text", pa.string()), ("label", pa.string()), field])
    pq.write_table(pa.table(columns, schema=schema), path)
    assert refused(path).startswith(
        f"Column 'note' of {path} has metadata that is not UTF-8: copy the file again"
    )
    with pytest.raises(InputError, match="not UTF-8"):
        mapped(path)
    assert capfd.readouterr().err == ""
