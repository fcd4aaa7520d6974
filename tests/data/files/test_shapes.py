"""Files of every shape hold the same rows: documents, lines, folders, blocks, what is piped in."""

from __future__ import annotations

import io
import json
from collections import Counter
from types import SimpleNamespace

import polars as pl
import pytest

from cuecard.data import load
from cuecard.data.reading import sources
from raw_files import pairs, refused, wins, written

ROWS = [
    {"premise": "A man sleeps.", "hypothesis": "Nobody sleeps.", "label": "no"},
    {"premise": "Two dogs run.", "hypothesis": "Animals move.", "label": "yes"},
    {"premise": "A girl reads.", "hypothesis": "A child reads.", "label": "yes"},
]

EXPECTED = [tuple(row.values()) for row in ROWS]


@pytest.mark.parametrize(
    "document",
    [
        ROWS,
        {name: [row[name] for row in ROWS] for name in ROWS[0]},
        {name: {str(i): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]},
        {name: {str(5 * i + 2): row[name] for i, row in enumerate(ROWS)} for name in ROWS[0]},
        {f"ex{i}": row for i, row in enumerate(ROWS)},
        {"version": 1, "data": ROWS},
        {"features": [], "rows": [{"row_idx": i, "row": row} for i, row in enumerate(ROWS)]},
        "\n".join(map(json.dumps, ROWS)),
        "\ufeff" + json.dumps(ROWS, indent=1),
    ],
    ids=[
        "array",
        "lists",
        "pandas",
        "pandas, filtered",
        "by id",
        "beside a version",
        "dataset viewer",
        "lines",
        "byte-order mark",
    ],
)
def test_json_documents(tmp_path, document):
    assert pairs(load(written(tmp_path, "set.json", document))) == EXPECTED


def test_objects_by_id_keep_their_ids(tmp_path):
    data = load(written(tmp_path, "set.json", {f"ex{i}": row for i, row in enumerate(ROWS)}))
    assert data.table["example_id"].to_list() == ["ex0", "ex1", "ex2"]


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ('[{"a": 1},', "is not valid JSON (line 1"),
        ("3", "holds no rows"),
        ("{}", "holds no rows"),
        ([{"a": 1}, 3], "Row 2 of"),
        ({"a": [1, 2], "b": [1]}, "lists of different lengths (a 2, b 1)"),
        ({"first": [{"a": 1}], "second": [{"a": 1}]}, "contains several tables (first, second)"),
        ({"validation": [{"a": 1}], "test": [{"a": 1}]}, "contains several tables (test, validation)"),
        ('[{"a": ' + "9" * 5000 + "}]", "more than 4,300 digits"),
        ("[" * 100_000, "nested too deeply"),
        ('[{"text": "\\ud800"}]', "Row 1 of"),
    ],
)
def test_json_documents_that_are_no_table(tmp_path, document, says):
    assert says in refused(written(tmp_path, "set.json", document))


SPLIT_ROWS = [{"text": f"t{i}", "label": "xy"[i % 2]} for i in range(6)]
AS_COLUMNS = {name: [row[name] for row in SPLIT_ROWS] for name in ("text", "label")}


@pytest.mark.parametrize(
    ("document", "splits"),
    [
        ({"train": SPLIT_ROWS, "test": SPLIT_ROWS[:2]}, {"train": 6, "test": 2}),
        ({"train": AS_COLUMNS, "validation": AS_COLUMNS}, {"train": 6, "test": 6}),
        ({"version": "1.1", "info": {"by": "us"}, "my_train": SPLIT_ROWS, "my_dev": SPLIT_ROWS[:2],
          "my_test": SPLIT_ROWS[:3]}, {"train": 6, "dev": 2, "test": 3}),
    ],
    ids=["rows", "columns", "beside a description"],
)  # fmt: skip
def test_one_document_with_several_splits(tmp_path, document, splits):
    data = load(written(tmp_path, "set.json", document))
    assert dict(Counter(data.table["split"].cast(str))) == splits
    assert data.labels == ("x", "y")


def test_a_column_called_train_is_no_split(tmp_path):
    document = {"text": ["a", "b"], "train": ["x", "y"], "label": ["0", "1"]}
    assert load(written(tmp_path, "set.json", document)).n_examples == 2


def test_questions_nested_in_a_passage_are_rows_of_their_own(tmp_path):
    question = {"question": "Who?", "options": ["Ann", "Bob"], "answer": "B"}
    document = [{"article": "Bob left.", "questions": [question, {**question, "answer": "A"}]}]
    data = load(written(tmp_path, "set.json", document))
    assert wins(data) == ["Bob", "Ann"]
    assert data.table["premise"][0] == "Bob left. Who?"


def test_questions_nested_in_paragraphs_are_rows_of_their_own(tmp_path):
    def question(i: int, *answers: str) -> dict[str, object]:
        found = [{"text": text, "answer_start": 0} for text in answers]
        return {"id": f"q{i}", "question": f"Who came {i}?", "answers": found, "is_impossible": not answers}

    paragraphs = [
        {"context": f"Ann {i} came.", "qas": [question(i, f"Ann {i}"), question(i + 50)]} for i in range(12)
    ]
    data = load(
        written(tmp_path, "set.json", {"version": "v2.0", "data": [{"title": "t", "paragraphs": paragraphs}]})
    )
    assert (data.task, data.n_examples) == ("open", 24)
    assert data.table["premise"][0] == "Ann 0 came. Who came 0?"
    assert data.table["hypothesis"].to_list()[:2] == ["Ann 0", ""]


def test_objects_of_answers_by_0_and_1_are_options(tmp_path):
    rows = [
        {"question": f"Who {i}?", "mc1_targets": {f"Ann {i}": 0, f"Bob {i}": 1, f"Cy {i}": 0}}
        for i in range(4)
    ]
    assert wins(load(written(tmp_path, "set.json", rows))) == [f"Bob {i}" for i in range(4)]
    fields = [
        {"text": f"Text number {i}", "label": "xy"[i % 2], "tags": {"new": 1, "old": 0}} for i in range(4)
    ]
    assert load(written(tmp_path, "set2.json", fields)).task == "text"


LINES = [
    f"The premise number {i} is here\tand a claim of its own {i}\t{'yes' if i % 2 else 'no'}"
    for i in range(8)
]


@pytest.mark.parametrize("name", ["set.tsv", "set.txt", "set.csv"])
def test_a_file_without_a_header_line(tmp_path, name):
    path = written(tmp_path, name, "\n".join(LINES) + "\n")
    assert "type --header none" in refused(path)
    data = load(path, header="none")
    assert data.n_examples == 8
    assert data.report.recognised == {"premise": "column_1", "hypothesis": "column_2", "label": "column_3"}
    assert (
        "by their values, CueCard reads column_1 as premise, column_2 as hypothesis and column_3 as label"
        in data.report.notes[0]
    )
    named = load(path, header="premise,hypothesis,label")
    assert pairs(named) == pairs(data)
    assert "--header names 2 columns" in refused(path, header="a,b")


def test_a_bad_row_of_a_file_without_a_header_line_keeps_its_number(tmp_path):
    path = written(tmp_path, "set.tsv", "\n".join([LINES[0], "a\tb\tc\td", *LINES[1:]]))
    assert "Row 2 of" in refused(path, header="none")
    assert load(path, header="none", on_error="skip", max_skipped=1).n_examples == 8


def test_a_file_with_a_header_line_is_not_taken_for_one_without(tmp_path):
    assert "--header" not in refused(
        written(tmp_path, "set.csv", "left,right,truth\na b c,d e f,1\ng h,i j,0\n")
    )


def test_labels_in_a_second_file(tmp_path):
    texts = [{"text": f"text number {i}"} for i in range(4)]
    path = written(tmp_path, "valid.jsonl", "\n".join(map(json.dumps, texts)))
    labels = written(tmp_path, "valid-labels.lst", "0\n1\n\n1\n")
    assert f"type --label-file {labels}" in refused(path)
    data = load(path, label_file=labels)
    assert data.table["label"].to_list() == ["0", "1", "1"]
    assert data.report.dropped == {"missing label": 1}
    labels.write_text("0\n1\n")
    assert "has 2 labels, but" in refused(path, label_file=labels)
    assert "--label-file" not in refused(path)
    assert "The label file" in refused(path, label_file=tmp_path / "absent.lst")


def test_labels_of_a_second_file_stay_with_their_rows_when_one_is_skipped(tmp_path):
    lines = ["text", *(f"t{i}" for i in range(3)), "a,b", "t4"]
    path = written(tmp_path, "x.csv", "\n".join(lines))
    labels = written(tmp_path, "labels.txt", "a\na\nb\nb\na\n")
    data = load(path, label_file=labels, on_error="skip", max_skipped=1)
    assert data.table.select("hypothesis", "label").rows() == [
        ("t0", "a"),
        ("t1", "a"),
        ("t2", "b"),
        ("t4", "a"),
    ]


def test_a_file_of_labels_for_every_split(tmp_path):
    for split in ("train", "test"):
        written(tmp_path, f"{split}.txt", "one text\nanother text\n")
        written(tmp_path, f"{split}.lst", "1\n0\n")
    files = [tmp_path / "train.lst", tmp_path / "test.lst"]
    data = load(tmp_path / "train.txt", test=tmp_path / "test.txt", label_file=files)
    assert data.table["label"].to_list() == ["1", "0", "1", "0"]
    assert "3 label files" in refused(
        tmp_path / "train.txt", test=tmp_path / "test.txt", label_file=files + files[:1]
    )


def test_class_folders_and_their_splits(tmp_path):
    for split in ("train", "test"):
        for name, text in (("pos/1.txt", "good"), ("neg/1.txt", "bad"), ("neg/.DS_Store", "\0")):
            written(tmp_path, f"{split}/{name}", text)
    written(tmp_path, "train/unsup/1.txt", "unknown")
    data = load(tmp_path)
    assert data.splits == ("train", "test")
    assert data.train.table.select("example_id", "hypothesis", "label").rows() == [
        ("neg/1", "bad", "neg"),
        ("pos/1", "good", "pos"),
    ]
    assert data.report.dropped == {"missing label": 1}
    (tmp_path / "test/pos/2.txt").write_bytes(b"\xff")
    assert "2.txt is not valid UTF-8" in refused(tmp_path / "test")


BLOCK = "a\nSome context.\nWhich one?\nA.first\nB. second\nC) third"


def test_blocks_of_text(tmp_path):
    path = written(tmp_path, "set.txt", f"\n{BLOCK}\n\n{BLOCK.replace('a', 'c', 1)}\n")
    data = load(path)
    assert wins(data) == ["first", "third"]
    assert data.table["premise"][0] == "Some context. Which one?"
    assert "Block 2 of" in refused(written(tmp_path, "set.txt", f"{BLOCK}\n\nno question\n"))


@pytest.fixture
def piped(monkeypatch):
    def pipe(content: bytes) -> str:
        sources._stdin.cache_clear()
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        return "-"

    yield pipe
    sources._stdin.cache_clear()


def parquet() -> bytes:
    buffer = io.BytesIO()
    pl.DataFrame(ROWS).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        json.dumps(ROWS).encode(),
        "\n".join(map(json.dumps, ROWS)).encode(),
        pl.DataFrame(ROWS).write_csv().encode(),
        pl.DataFrame(ROWS).write_csv(separator="\t").encode(),
        parquet(),
    ],
    ids=["json", "jsonl", "csv", "tsv", "parquet"],
)
def test_standard_input(piped, content):
    data = load(piped(content))
    assert (pairs(data), data.name) == (EXPECTED, "stdin")
    assert load("-").fingerprint == data.fingerprint


def test_standard_input_without_rows(piped):
    assert "Standard input" in refused(piped(b""))
    assert "Standard input is a gzip file" in refused(piped(b"\x1f\x8b" + bytes(20)))
