"""Answers given as keys, letters, numbers or texts all find their choice."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data.layout.answers import Answered, choose_rule

FOUR = ["north", "south", "east", "west"]


def table(answers, choices=None, keys=None, **options):
    n = len(answers)
    lists = pl.Series(choices or [FOUR] * n, dtype=pl.List(pl.String))
    key_lists = None if keys is None else pl.Series(keys, dtype=pl.List(pl.String))
    return Answered(pl.Series(answers, dtype=pl.String), lists, key_lists, **options)


@pytest.mark.parametrize(
    ("answers", "rule", "positions"),
    [
        (["0", "3", "1"], "from 0", [0, 3, 1]),
        (["A", "d", "(B)"], "letter", [0, 3, 1]),
        (["west", "north", "south"], "text", [3, 0, 1]),
        (["1", "2", "4"] * 4, "from 1", [0, 1, 3] * 4),
        (["1", "2", "3"] * 4, "from 0", [1, 2, 3] * 4),
    ],
)
def test_the_form_of_the_answers_is_found(answers, rule, positions):
    given = table(answers)
    assert choose_rule([given]) == rule
    assert given.positions(rule).tolist() == positions


def test_few_rows_are_counted_from_1_only_if_their_columns_are():
    assert choose_rule([table(["1", "4"])]) == "from 0"
    assert choose_rule([table(["1", "4"], numbered_from_1=True)]) == "from 1"


def test_a_zero_anywhere_means_counting_from_0():
    given = table(["4"] * 20 + ["0"])
    assert choose_rule([given]) == "from 0"
    assert given.positions("from 0").tolist() == [-1] * 20 + [0]


def test_all_splits_decide_together():
    assert choose_rule([table(["1", "4"] * 10), table(["0"])]) == "from 0"


def test_a_known_base_settles_it():
    assert choose_rule([table(["1", "2"])], base=1) == "from 1"


def test_keys_that_came_with_the_choices_are_used_row_by_row():
    given = table(["C", "2"], [FOUR, FOUR], [list("ABCD"), list("1234")])
    assert choose_rule([given]) == "key"
    assert given.positions("key").tolist() == [2, 1]


def test_numbers_that_are_choices_are_read_as_texts_where_they_are_no_positions():
    given = table(["30", "10"], [["10", "20", "30"]] * 2)
    assert choose_rule([given]) == "text"
    assert given.positions("text").tolist() == [2, 0]


def test_missing_answers_are_null_and_take_no_part():
    given = table(["-1", "", None, "-", "2"])
    assert given.answers.to_list() == [None, None, None, None, "2"]
    assert choose_rule([given]) == "from 0"


def test_rows_may_have_different_numbers_of_choices():
    given = table(["2", "1"], [["a", "b", "c"], ["a", "b"]])
    assert given.counts.tolist() == [3, 2]
    assert given.positions("from 0").tolist() == [2, 1]


def test_a_place_without_a_choice_counts_for_the_answer_but_is_no_choice():
    given = table(["C", "A", "B", "D"], [["a", None, "c", "d"]] * 4)
    assert given.counts.tolist() == [3] * 4
    assert given.positions("letter").tolist() == [1, 0, -1, 2]
    assert given.present.to_list() == [["a", "c", "d"]] * 4
    numbered = table(["3", "0", None], [["a", None, None, "d"]] * 3)
    assert numbered.positions("from 0").tolist() == [1, 0, -1]
    keyed = table(["y"], [[None, "c", "d"]], [["x", "y", "z"]])
    assert keyed.positions("key").tolist() == [0]
