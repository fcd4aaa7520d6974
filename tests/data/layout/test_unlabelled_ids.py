"""A row without a label is left out before ids are compared."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data import load
from cuecard.errors import InputError
from mapped import mapped

ROWS = [
    {"id": "a", "premise": "one", "hypothesis": "two", "label": None},
    {"id": "a", "premise": "three", "hypothesis": "four", "label": "yes"},
    {"id": "b", "premise": "five", "hypothesis": "six", "label": "no"},
    {"id": "b", "premise": "seven", "hypothesis": "eight", "label": None},
]


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_an_unlabelled_row_repeats_no_id(rows, tmp_path):
    pl.DataFrame(ROWS).write_csv(tmp_path / "rows.csv")
    data = load(tmp_path / "rows.csv", columns={"id": "id"})
    assert data.table["example_id"].to_list() == ["a", "b"]
    assert data.report.dropped == {"missing label": 2}
    on_disk = mapped(tmp_path / "rows.csv", columns={"id": "id"}, rows=rows)
    assert on_disk.table["example_id"].to_list() == ["a", "b"]


def test_an_id_that_two_labelled_rows_have_is_an_error(tmp_path):
    pl.DataFrame([*ROWS, ROWS[1]]).write_csv(tmp_path / "rows.csv")
    with pytest.raises(InputError, match=r"Row 5 .* repeats the id 'a'"):
        load(tmp_path / "rows.csv", columns={"id": "id"})


def test_unlabelled_rows_that_are_kept_repeat_ids(tmp_path):
    pl.DataFrame(ROWS).write_csv(tmp_path / "rows.csv")
    with pytest.raises(InputError, match="repeats the id 'a'"):
        load(tmp_path / "rows.csv", columns={"id": "id"}, keep_unlabelled=True)


def test_a_question_without_an_answer_repeats_no_id(tmp_path):
    question = {"id": "a", "question": "which", "choices": ["x", "y"]}
    rows = [
        {**question, "answer": 0},
        {**question, "answer": None},
        {"id": "b", "question": "what", "choices": ["u", "v"], "answer": 1},
    ]
    pl.DataFrame(rows).write_parquet(tmp_path / "rows.parquet")
    data = load(tmp_path / "rows.parquet", columns={"id": "id"})
    assert data.table["example_id"].unique(maintain_order=True).to_list() == ["a", "b"]
    assert data.report.dropped == {"missing answer": 1}
