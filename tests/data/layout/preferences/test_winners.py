"""Which of two responses won, or which choice is right, is read from names and numbers, and never guessed."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data import load
from raw_files import refused, wins


def preferences(values: list, names=("response_a", "response_b"), column: str = "winner") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "prompt": [f"p{i}" for i in range(len(values))],
            names[0]: ["first"] * len(values),
            names[1]: ["second"] * len(values),
            column: values,
        }
    )


@pytest.mark.parametrize(
    ("values", "names", "column"),
    [
        (["model_a", "model_b", "tie", "tie (bothbad)"], ("response_a", "response_b"), "winner"),
        (["A", "B", "Tie", None], ("answer_a", "answer_b"), "winner"),
        (["output_1", "output_2", "draw", ""], ("output_1", "output_2"), "preferred"),
        ([1.0, 2.0, 1.5, None], ("output_1", "output_2"), "preference"),
        ([1.02, 1.7, 1.5, float("nan")], ("output_1", "output_2"), "preference"),
        ([1, 2, None, -1], ("response1", "response2"), "annotator1"),
        ([0, 1, None, -1], ("response_0", "response_1"), "better_response_id"),
        ([-1, 3, 0, None], ("response1", "response2"), "overall_preference"),
        ([-2, 1, None, 0], ("response_1", "response_2"), "preference_strength"),
    ],
)
def test_winners(values, names, column):
    data = load(preferences(values, names, column))
    assert (data.task, wins(data)) == ("preference", ["first", "second"])
    assert sum(data.report.dropped.values()) == 2
    assert set(data.report.dropped) <= {"tie", "missing winner"}


def test_winners_in_columns_of_their_own():
    flags = {"winner_model_a": [1, 0, 0], "winner_model_b": [0, 1, 0], "winner_tie": [0, 0, 1]}
    data = load(
        preferences([0, 0, 0]).drop("winner").with_columns(**{k: pl.Series(v) for k, v in flags.items()})
    )
    assert wins(data) == ["first", "second"]
    assert data.report.dropped == {"tie": 1}


def test_columns_of_true_and_false_name_the_winner_and_two_winners_are_a_tie():
    flags = {"winner_model_a": ["True", "False", "True"], "winner_model_b": ["False", "True", "True"]}
    data = load(
        preferences([0] * 3).drop("winner").with_columns(**{k: pl.Series(v) for k, v in flags.items()})
    )
    assert (wins(data), data.report.dropped) == (["first", "second"], {"tie": 1})


def test_numbers_that_leave_the_winner_open_are_never_guessed():
    coded = preferences([0, 1, 2, 1], ("response1", "response2"), "annotator1")
    for on_error in ("stop", "skip"):
        message = refused(coded, on_error=on_error)
        assert "winner=annotator1:1 if 1 is 'response1', 2 is 'response2', 0 a tie" in message
        assert "winner=annotator1:0 if 0 is 'response1'" in message
    data = load(coded, columns={"winner": "annotator1:1"})
    assert (wins(data), data.report.dropped) == (["first", "second", "first"], {"tie": 1})
    other = load(coded, columns={"winner": "annotator1:0"})
    assert (wins(other), other.report.dropped) == (["first", "second", "second"], {"tie": 1})


def test_minus_one_beside_zero_and_one_is_never_guessed():
    coded = preferences([-1, 0, 1, 0])
    assert "winner=winner:0 if 0 is 'response_a', 1 is 'response_b' and -1 none" in refused(coded)
    data = load(coded, columns={"winner": "winner:0"})
    assert (wins(data), data.report.dropped) == (["first", "second", "first"], {"missing winner": 1})
    assert "has the values -1, 1" in refused(preferences([-1, 1, 1]))


def test_zero_and_one_are_asked_about_where_one_may_mean_the_first():
    coded = preferences([1, 0, 1], ("human_ref_A", "human_ref_B"), "labels")
    message = refused(coded)
    assert "responses=human_ref_B+human_ref_A,winner=labels:0 if 1 is 'human_ref_A'" in message
    swapped = {"responses": "human_ref_B+human_ref_A", "winner": "labels:0"}
    assert wins(load(coded, columns=swapped)) == ["first", "second", "first"]


def test_an_unknown_winner_is_a_bad_row():
    assert "has the winner 'gpt' in column 'winner'" in refused(preferences(["model_a", "gpt", "model_b"]))


def test_answers_from_zero_to_the_number_of_choices_are_never_guessed():
    table = pl.DataFrame({"question": list("pqrs"), "choices": [["x", "y"]] * 4, "answer": [0, 1, 2, 1]})
    for on_error in ("stop", "skip"):
        assert "type --columns answer=answer:1 if 1 is the first choice" in refused(table, on_error=on_error)
    data = load(table, columns={"answer": "answer:1"})
    assert (wins(data), data.report.dropped) == (["x", "y", "x"], {"missing answer": 1})
    data = load(table, columns={"answer": "answer:0"})
    assert (wins(data), data.report.dropped) == (["x", "y", "y"], {"missing answer": 1})


@pytest.mark.parametrize(
    ("answers", "noted"), [([1, 2] * 5, True), ([0, *[1, 2] * 5], False), ([1, 2], False)]
)
def test_numbers_that_fit_both_ways_of_counting_are_noted(answers, noted):
    rows = len(answers)
    questions = pl.DataFrame(
        {"question": ["q"] * rows, "choices": [["x", "y", "z"]] * rows, "answer": answers}
    )
    notes = load(questions).report.notes
    assert any("--columns answer=answer:1" in note for note in notes) == noted
    assert not load(questions, columns={"answer": "answer:0"}).report.notes
