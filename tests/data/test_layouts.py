"""Columns as people name them: what a row of every shape is read as."""

from __future__ import annotations

import time

import polars as pl
import pytest

from cuecard.data import load
from cuecard.errors import InputError, UsageError
from raw_files import refused, wins, written

OPTIONS = [
    {"sentence": "The _ is full.", "option1": "tank", "option2": "cup", "answer": "2"},
    {"goal": "Fill it.", "sol1": "tank", "sol2": "cup", "label": 1},
    {"premise": "It is full.", "ask-for": "cause", "hypothesis1": "tank", "hypothesis2": "cup", "label": 1},
    {"Question": "Which?", "A": "tank", "B": "cup", "C": "jar", "D": "box", "Answer": "B"},
    {"ctx": "It is", "ending0": "tank", "ending1": "cup", "ending2": "jar", "ending3": "box", "label": 1},
    {"question_stem": "Which?", "choices": {"text": ["tank", "cup"], "label": ["A", "B"]}, "answerKey": "B"},
    {
        "question": {
            "stem": "Which?",
            "choices": [{"label": "A", "text": "tank"}, {"label": "B", "text": "cup"}],
        },
        "answerKey": "B",
    },
    {"question": "Which?", "correct_answer": "cup", "distractor1": "tank", "distractor2": "jar"},
    {"input": "Which?", "choices": ["tank", "cup"], "target": "B"},
]


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: "+".join(row))
def test_columns_of_options(row):
    second = {**row, **({"answer": "1"} if "option1" in row else {})}
    data = load([row, second])
    assert data.task == "choice"
    assert wins(data)[0] == "cup"


def test_the_order_of_a_right_answer_and_wrong_ones_says_nothing():
    rows = [{"question": f"q{i}", "answer": f"yes {i}", "wrong_answer": f"no {i}"} for i in range(200)]
    data = load(rows)
    assert wins(data) == [f"yes {i}" for i in range(200)]
    first = data.table.filter((data.table["label"] == "right") & (data.table["position"] == 0)).height
    assert 70 < first < 130
    assert "the file has no order of choices" in data.report.notes[0]


@pytest.mark.parametrize("values", [[True, False], ["yes", "no"], ["True", "False"]])
def test_questions_answered_by_yes_or_no(values):
    rows = [{"question": f"is it {i}?", "passage": "Some text.", "answer": values[i % 2]} for i in range(6)]
    data = load(rows)
    assert (data.task, data.labels) == (
        "pair",
        tuple(sorted(str(v).lower() if v in (True, False) else v for v in values)),
    )
    assert data.table["hypothesis"][0] == "is it 0?"


def test_an_answer_in_words_is_no_label():
    rows = [{"question": f"who is {i}?", "passage": "Some text.", "answer": f"person {i}"} for i in range(30)]
    data = load(rows)
    assert (data.task, data.labels) == ("open", ("answer",))
    assert data.table["premise"][0] == "Some text. who is 0?"
    assert data.table["question"][0] == "who is 0?"
    assert data.table["hypothesis"][0] == "person 0"


def test_reviews_with_stars(tmp_path):
    rows = [{"review": f"it was {i}", "stars": float(1 + i % 5)} for i in range(20)]
    assert load(rows).labels == ("1", "2", "3", "4", "5")


def test_a_label_by_threshold():
    frame = pl.DataFrame(
        {
            "sentence_A": list("abcd"),
            "sentence_B": list("efgh"),
            "relatedness_score": ["4.5", "3.6", "1", None],
        }
    )
    data = load(frame, labels="relatedness_score>3.6")
    assert data.labels == ("above 3.6", "at most 3.6")
    assert data.table["label"].to_list() == ["above 3.6", "at most 3.6", "at most 3.6"]
    assert data.table["relatedness_score"].to_list() == ["4.5", "3.6", "1"]
    named = load(frame, labels="relatedness_score>3.6=duplicate, not_duplicate")
    assert named.table["label"].to_list() == ["duplicate", "not_duplicate", "not_duplicate"]
    assert load(frame, labels="relatedness_score<=3.6").labels == ("at most 3.6", "above 3.6")
    assert "does not hold numbers (row 1 of the given table has 'a')" in refused(frame, labels="sentence_A>1")
    assert "relatedness_score" in refused(frame, labels="relatednes_score>1")
    with pytest.raises(UsageError, match="leave one of them out"):
        load(frame, labels="relatedness_score>1", columns={"label": "sentence_A"})


def test_group_ids_number_the_rows():
    rows = [{"prompt_id": f"p{i // 2}", "text": f"t{i}", "label": i % 2} for i in range(6)]
    data = load(rows)
    assert data.table["example_id"].to_list() == [str(i) for i in range(1, 7)]
    assert data.table["prompt_id"].to_list() == ["p0", "p0", "p1", "p1", "p2", "p2"]
    assert load([*rows[::2], {**rows[1], "prompt_id": "p9"}]).table["example_id"].to_list() == [
        "p0",
        "p1",
        "p2",
        "p9",
    ]


def test_skipping_more_than_one_row_in_twenty_needs_leave(tmp_path):
    lines = ["text,label", *(f"t{i},{i % 2}" for i in range(94)), *["a,b,c"] * 6]
    path = written(tmp_path, "x.csv", "\n".join(lines))
    message = refused(path, on_error="skip")
    assert "6 of 100 rows of" in message
    assert "--max-skipped 6" in message
    assert load(path, on_error="skip", max_skipped=6).report.dropped == {"too many fields": 6}
    assert load(path, on_error="skip", max_skipped=0.06).n_examples == 94
    written(tmp_path, "x.csv", "\n".join([*lines[:-1], "t,1"]))
    assert load(path, on_error="skip").n_examples == 95


def test_rows_without_a_label_are_not_skipped_rows():
    frame = pl.DataFrame({"text": list("abcd"), "label": ["x", "y", "-", "-"]})
    assert load(frame, on_error="skip").report.dropped == {"missing label": 2}


def test_one_file_for_two_splits_is_refused(tmp_path):
    path = written(tmp_path, "x.csv", "text,label\na,0\nb,1\n")
    assert "is both the train and the test file" in refused(path, test=str(path))
    link = tmp_path / "y.csv"
    link.symlink_to(path)
    assert "is both the train and the test file" in refused(path, test=link)


def test_an_unknown_layout_is_answered_with_roles_options_and_rows(tmp_path):
    rows = [
        {"premise": f"Some sentence {i}", "claimed": f"another sentence {i}", "truth": i % 2}
        for i in range(9)
    ]
    message = refused(rows)
    assert "are not recognised: premise, claimed, truth" in message
    rows = [{"passage": f"Some sentence {i}", "question": f"is it {i}?", "truth": i % 2} for i in range(9)]
    message = refused(rows)
    assert "recognised premise (passage), hypothesis (question); missing label" in message
    assert "type --columns premise=passage,hypothesis=question,label=truth." in message
    assert "row 1: passage='Some sentence 0', question='is it 0?', truth='0'; row 2:" in message
    rows = [
        {"left text": f"Some sentence {i}", "right text": f"another sentence {i}", "truth": i % 2}
        for i in range(9)
    ]
    assert "--columns 'premise=left text,hypothesis=right text,label=truth'" in refused(rows)


def test_the_answer_to_an_unknown_layout_is_short():
    wide = pl.DataFrame(
        {f"some very long name of column {i} {'x' * 300}": ["y" * 10_000] for i in range(500)}
    )
    assert len(refused(wide)) < 6000


def test_a_wide_table_without_names_is_not_guessed():
    rows = {f"column_{i}": [f"a longer text {i} {j}" for j in range(9)] for i in range(4)}
    with pytest.raises(InputError):
        load(pl.DataFrame({**rows, "column_5": [0, 1, 0] * 3}))


def test_a_wide_table_is_answered_at_once():
    texts = {f"col {i}": [f"some text {i} {j}" for j in range(50)] for i in range(200)}
    start = time.process_time()
    assert "not recognised" in refused(pl.DataFrame({**texts, "winner": ["a", "b"] * 25}))
    assert time.process_time() - start < 3
