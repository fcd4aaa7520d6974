"""Rows, right answers, weights and ids of examples, whole and in part."""

import numpy as np
import polars as pl
import pytest

from cuecard.data import Examples, Instances
from cuecard.data.instances import first_rows
from cuecard.errors import InputError


def questions() -> Instances:
    """Three questions with two, three and one choices, the last in test."""
    table = pl.DataFrame(
        {
            "example_id": ["a", "a", "b", "b", "b", "c"],
            "position": pl.Series([0, 1, 0, 1, 2, 0], dtype=pl.Int32),
            "split": ["train"] * 5 + ["test"],
            "premise": ["which?"] * 2 + ["what?"] * 3 + ["who?"],
            "hypothesis": ["one", "two", "red", "green", "blue", "me"],
            "label": pl.Series(
                ["wrong", "right", "wrong", "wrong", "right", "right"], dtype=pl.Enum(["right", "wrong"])
            ),
        }
    )
    return Instances(table, "choice", ("right", "wrong"))


def pairs() -> Instances:
    labels = ["yes", "no", "maybe", "yes"]
    table = pl.DataFrame(
        {
            "example_id": list("abcd"),
            "position": pl.Series([0] * 4, dtype=pl.Int32),
            "split": ["train"] * 4,
            "premise": list("pqrs"),
            "hypothesis": list("tuvw"),
            "label": pl.Series(labels, dtype=pl.Enum(["maybe", "no", "yes"])),
        }
    )
    return Instances(table, "pair", ("maybe", "no", "yes"))


def test_examples_of_questions_know_their_rows_and_answers() -> None:
    examples = Examples(questions())
    assert len(examples) == 3
    assert examples.first_rows.tolist() == [0, 2, 5, 6]
    assert examples.gold.tolist() == [1, 2, 0]
    assert examples.right_rows.tolist() == [1, 4, 5]
    assert examples.options.tolist() == [2, 3, 1]
    assert examples.ids.to_list() == ["a", "b", "c"]
    assert examples.in_split("test").tolist() == [False, False, True]
    assert examples.choices.to_list() == [["one", "two"], ["red", "green", "blue"], ["me"]]
    assert examples.premises == ["which?", "what?", "who?"]
    assert examples.answer_names == ("0", "1", "2")
    assert examples.rows(np.array([2, 0, 1])).tolist() == [5, 0, 1, 2, 3, 4]


def test_some_examples_are_numbered_anew_and_still_know_their_rows() -> None:
    weighted = Examples.of_rows(questions(), np.array([9, 1, 9, 9, 2, 3.0]))
    assert weighted.example_weights.tolist() == [1, 2, 3]
    some = weighted.take(np.array([2, 0])).take(np.array([1, 0]))
    assert some.ids.to_list() == ["a", "c"]
    assert some.first_rows.tolist() == [0, 2, 3]
    assert some.row_numbers.tolist() == [0, 1, 5]
    assert some.gold.tolist() == [1, 0]
    assert some.right_rows.tolist() == [1, 2]
    assert some.weight(np.array([1])) == 3
    assert some.choices.to_list() == [["one", "two"], ["me"]]


def test_labels_a_model_does_not_know_are_no_answer() -> None:
    examples = Examples(pairs(), known_labels=("yes", "no"))
    assert examples.gold.tolist() == [0, 1, -1, 0]
    assert examples.take(np.array([2, 3])).gold.tolist() == [-1, 0]
    assert examples.options.tolist() == [2, 2, 2, 2]


def test_labels_are_counted_by_weight() -> None:
    which = np.arange(4)
    assert Examples(pairs()).label_sums(which).tolist() == [1, 1, 2]
    assert Examples(pairs(), np.array([1, 0, 0.5, 2])).label_sums(which).tolist() == [0.5, 0, 3]


def test_a_question_without_a_right_choice_is_an_error() -> None:
    table = questions().table.filter(pl.col("hypothesis") != "blue")
    with pytest.raises(InputError, match="exactly one 'right' row"):
        _ = Examples(Instances(table, "choice", ("right", "wrong"))).gold


def test_first_rows_of_nothing() -> None:
    assert first_rows([]).tolist() == [0]
