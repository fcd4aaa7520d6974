"""Questions and answers in words are read as such, and nothing with labels or options is."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data import load
from cuecard.errors import CueCardError, UsageError


def squad(i: int, **more: object) -> dict[str, object]:
    text = [] if i % 3 == 0 else [f"town {i}", f"the town {i}"]
    answers = {"text": text, "answer_start": [4] * len(text)}
    return {"context": f"In town {i} it rains.", "question": f"Where is it {i}?", "answers": answers, **more}


def test_several_accepted_answers_and_none():
    data = load([squad(i) for i in range(12)])
    assert data.task == "open"
    assert data.table["hypothesis"][:2].to_list() == ["", "town 1"]
    assert data.table["accepted"][1].to_list() == ["town 1", "the town 1"]
    assert data.table["premise"][1] == "In town 1 it rains. Where is it 1?"
    assert data.table["question"][1] == "Where is it 1?"
    assert data.table["context"][1] == "In town 1 it rains."


def test_a_missing_answer_is_left_out_and_counted():
    rows = [{"question": f"What is {i}?", "answer": None if i == 4 else f"thing {i}"} for i in range(30)]
    data = load(rows)
    assert (data.n_examples, data.report.dropped) == (29, {"missing answer": 1})


def test_the_final_answer_of_a_solution_is_the_answer():
    rows = [{"question": f"How much is {i}?", "answer": f"Add it.\n#### {i},000"} for i in range(30)]
    assert load(rows).table["hypothesis"][3] == "3,000"
    rows = [{"problem": f"Solve {i}.", "solution": rf"So $\boxed{{\sqrt{{{i}}}}}$."} for i in range(30)]
    data = load(rows)
    assert data.table["hypothesis"][3] == r"\sqrt{3}"
    assert any("boxed" in note for note in data.report.notes)


def test_extra_columns_named_as_the_parts_of_a_question_are_renamed():
    data = load([squad(i, accepted=i) for i in range(12)])
    assert data.table["original_accepted"].to_list() == list(range(12))


@pytest.mark.parametrize(
    "columns",
    [
        {"answer": lambda i: ("left", "right", "up")[i % 3]},  # few values: labels
        {"answer": lambda i: "ABCDEFGH"[i % 8]},  # letters of options
        {"answer": lambda i: f"thing {i}", "correct": lambda i: i % 2 == 0},  # judged
        {"answer": lambda i: f"thing {i}", "options": lambda i: "see the picture"},  # options elsewhere
    ],
)
def test_answers_that_may_be_labels_are_never_read_as_open(columns):
    rows = [{"question": f"What is {i}?", **{k: of(i) for k, of in columns.items()}} for i in range(24)]
    try:
        data = load(rows)
    except CueCardError:
        data = None
    assert data is None or data.task != "open"
    assert load(rows, task="open", columns={"question": "question", "answer": "answer"}).task == "open"


def test_the_task_alone_reads_what_is_ambiguous():
    rows = [{"question": f"What is {i}?", "answer": f"thing {i}", "correct": i % 2 == 0} for i in range(24)]
    assert load(rows, task="open").table["hypothesis"][0] == "thing 0"


def test_labels_and_unlabelled_rows_are_refused():
    rows = [{"question": f"What is {i}?", "answer": f"thing {i}"} for i in range(24)]
    for options in ({"labels": {"a": "b"}}, {"keep_unlabelled": True}):
        with pytest.raises(UsageError, match="only applies to"):
            load(rows, **options)


def test_a_dataset_on_disk_is_read_alike(tmp_path):
    from cuecard.data.loading import DatasetSpec
    from cuecard.data.space import temporary_space

    path = tmp_path / "train.parquet"
    pl.DataFrame([squad(i) for i in range(40)]).write_parquet(path)
    in_memory, mapped = load(path), DatasetSpec(str(path))(temporary_space(7))
    assert mapped.table.drop("split").equals(in_memory.table.drop("split"))
    assert (mapped.answer_codes == in_memory.answer_codes).all()
