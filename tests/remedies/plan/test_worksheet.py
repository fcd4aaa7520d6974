"""A worksheet is written, filled and read back; what cannot be applied is said with its line."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from cuecard.data.examples import Examples
from cuecard.errors import InputError, UsageError
from cuecard.remedies.plan.worksheet import applied, read_worksheet, worksheet_rows, write_worksheet
from small_sets import choice_instances, pair_instances

PAIRS = [
    ("train", "A dog runs.", "An animal moves,\nfast.", "yes"),
    ("train", "A dog runs.", "A cat sleeps.", "no"),
    ("test", "A man eats.", "Nobody eats.", "no"),
]


@pytest.fixture
def pairs():
    return pair_instances(PAIRS)


@pytest.fixture
def questions():
    return choice_instances(
        [
            ("train", "What is red?", ["a rose", "the sky", "grass"], 0),
            ("test", "What flies?", ["a stone", "a bird"], 1),
        ]
    )


def sheet(data, *rows: dict[str, str]):
    return worksheet_rows(Examples(data), [{"action": "keep", **row} for row in rows])


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_every_action_is_applied(pairs, tmp_path, kind):
    rows = sheet(
        pairs,
        {"example": 0, "action": "rewrite", "new_text": "An animal rests.", "new_label": "no"},
        {"example": 1, "action": "relabel", "new_label": "yes"},
        {"example": 2, "action": "drop"},
    )
    file = tmp_path / f"sheet.{kind}"
    write_worksheet(rows, file)
    after = applied(pairs, read_worksheet(file, pairs))
    assert after.table.select("premise", "hypothesis", "label").rows() == [
        ("A dog runs.", "An animal rests.", "no"),
        ("A dog runs.", "A cat sleeps.", "yes"),
    ]


def test_choices_are_moved_replaced_and_corrected(questions, tmp_path):
    rows = sheet(
        questions,
        {"example": 0, "action": "permute", "new_label": "3"},
        {"example": 1, "action": "re-pair", "new_others": json.dumps(["a rose"])},
    )
    file = tmp_path / "sheet.csv"
    write_worksheet(rows, file)
    after = applied(questions, read_worksheet(file, questions))
    assert after.table.select("hypothesis", "label").rows() == [
        ("grass", "wrong"),
        ("the sky", "wrong"),
        ("a rose", "right"),
        ("a rose", "wrong"),
        ("a bird", "right"),
    ]
    write_worksheet(sheet(questions, {"example": 0, "action": "relabel", "new_label": "2"}), file)
    corrected = applied(questions, read_worksheet(file, questions))
    assert corrected.table["label"].to_list()[:3] == ["wrong", "right", "wrong"]
    assert np.array_equal(corrected.table["hypothesis"], questions.table["hypothesis"])


def edited(file, **values):
    """Return a change of the last row of a worksheet."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[-1] |= values
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return file


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"id": ""}, "line 2: the row has no id"),
        ({"id": "77"}, "line 2: the data has no example '77' in the split 'train': the id was edited"),
        ({"split": "dev"}, "line 2: the data has no example '1' in the split 'dev'"),
        ({"id": "0"}, "line 2: the text is not that of the example '0'"),
        ({"text": "A cat sleeps!"}, "line 2: the text is not that of the example '1'"),
        ({"action": "burn"}, "line 2: the action is 'burn': write drop, rewrite"),
        ({"action": "rewrite"}, "line 2: rewrite needs a new text"),
        ({"action": "relabel"}, "line 2: relabel needs new_label"),
        ({"action": "rewrite", "new_text": "A cat sleeps."}, "line 2: new_text repeats the present text"),
        ({"action": "drop", "new_text": "x"}, "line 2: new_text is filled, but the action is drop"),
        (
            {"action": "relabel", "new_label": "perhaps"},
            "line 2: new_label is 'perhaps': write a label: no or yes",
        ),
        ({"action": "re-pair", "new_others": '["x"]'}, "line 2: new_others must be a JSON list of 0 texts"),
    ],
)
def test_a_row_that_cannot_be_applied_is_named(pairs, tmp_path, values, message):
    file = tmp_path / "sheet.jsonl"
    write_worksheet(sheet(pairs, {"example": 0}, {"example": 1}), file)
    with pytest.raises(InputError, match=message):
        read_worksheet(edited(file, **values), pairs)


def test_lines_of_csv_count_line_breaks_within_texts_and_duplicates_are_named(pairs, tmp_path):
    file = tmp_path / "sheet.csv"
    write_worksheet(sheet(pairs, {"example": 0}, {"example": 1}, {"example": 1}), file)
    with pytest.raises(InputError, match="line 5: the example '1' is on line 4, too"):
        read_worksheet(file, pairs)


def test_another_table_is_no_worksheet(pairs, tmp_path):
    file = tmp_path / "sheet.csv"
    file.write_text("id,text\n1,a\n")
    with pytest.raises(InputError, match="line 1: the columns split, action"):
        read_worksheet(file, pairs)
    write_worksheet(sheet(pairs, {"example": 0}), file)
    file.write_text(file.read_text() + "1,train\n")
    with pytest.raises(InputError, match="line 4: the row has another number of fields"):
        read_worksheet(file, pairs)
    with pytest.raises(UsageError, match=r"use a \.csv or \.jsonl file"):
        read_worksheet(tmp_path / "sheet.xlsx", pairs)


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_texts_with_rare_line_ends_come_back_as_they_were_written(tmp_path, kind):
    odd = pair_instances(
        [("train", "one\u2028two", "three\x85four\x0cfive", "yes"), ("train", "a\rb", "c\r\nd", "no")]
    )
    file = tmp_path / f"sheet.{kind}"
    write_worksheet(sheet(odd, {"example": 0, "action": "drop"}, {"example": 1, "action": "drop"}), file)
    assert len(applied(odd, read_worksheet(file, odd)).table) == 0


FORMULAS = ["=1+1", "+49 30", "- yes", "@name", "\t=1", "'=1", "''-1", "'tis", "a=1"]


def test_no_cell_of_a_csv_is_a_formula_and_every_text_is_read_back(tmp_path):
    data = pair_instances([("train", text, f"{text} so", "yes") for text in FORMULAS])
    file = tmp_path / "sheet.csv"
    new = [f"={i}" for i in range(len(FORMULAS))]
    rows = [{"example": i, "action": "rewrite", "new_text": text} for i, text in enumerate(new)]
    write_worksheet(sheet(data, *rows), file)
    with file.open(newline="") as written:
        cells = [cell for row in csv.reader(written) for cell in row]
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell]
    changes = read_worksheet(file, data)
    assert [change.new_text for change in changes] == new
    assert applied(data, changes).table["premise"].to_list() == FORMULAS


@pytest.mark.parametrize("row", ["9" * 5000, "[" * 3000 + "]" * 3000, '{"id": "\\ud800"}', "{"])
def test_a_line_that_is_no_json_is_one_sentence(pairs, tmp_path, row):
    file = tmp_path / "sheet.jsonl"
    file.write_text(row)
    with pytest.raises(InputError, match=r"line 1: the row is not valid JSON .*: correct it\."):
        read_worksheet(file, pairs)


def test_long_texts_are_read_back(pairs, tmp_path):
    file = tmp_path / "sheet.csv"
    write_worksheet(sheet(pairs, {"example": 1, "action": "rewrite", "new_text": "x" * 200_000}), file)
    [change] = read_worksheet(file, pairs)
    assert change.new_text == "x" * 200_000
