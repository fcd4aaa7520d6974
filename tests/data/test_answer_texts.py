"""Answers are compared by what they say: as SQuAD does, numbers by value, formulas as they are."""

from __future__ import annotations

import polars as pl
import pytest

from cuecard.data.answer_texts import final_answers, final_mark, normal_answers


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Beatles", "beatles"),
        ("1,200", "1200.0"),
        ("$ 5", "5"),
        ("5.", "5"),
        (r"\text{red}", "red"),
        (r"\dfrac{1}{2}", r"\frac{1}{2}"),
        ("x + 1", "x+1"),
        ("Paris!", "paris"),
        (" two  words ", "two words"),
        (r"90^\circ", "90"),
    ],
)
def test_alike(one, other):
    first, second = normal_answers(pl.Series([one, other])).to_list()
    assert first == second


@pytest.mark.parametrize(
    ("one", "other"),
    [("-3", "3"), ("x^2+1", "x^2-1"), ("1.5", "15"), ("1/2", "12"), ("the", "a"), ("", "the")],
)
def test_different(one, other):
    first, second = normal_answers(pl.Series([one, other])).to_list()
    assert first != second


def test_texts_in_other_scripts_stay():
    assert normal_answers(pl.Series(["東京。", "?!"])).to_list() == ["東京", "?!"]


def test_normal_form_of_a_normal_form_is_itself():
    texts = pl.Series(["The Eiffel Tower.", "$1,200", "x^2 + 1", "-3.50", "no.", "AC/DC", "10%", "3rd"])
    once = normal_answers(texts)
    assert normal_answers(once).to_list() == once.to_list()


def test_boxes_within_boxes():
    texts = pl.Series([r"\boxed{\frac{1}{\sqrt{2}}}", r"so $\boxed 7$", "none", None])
    assert final_answers(texts, "\\boxed").to_list() == [r"\frac{1}{\sqrt{2}}", "7", "none", None]


def test_marks_are_only_read_where_most_solutions_have_one():
    assert final_mark(pl.Series(["a\n#### 1", "b\n#### 2", "c"])) == "####"
    assert final_mark(pl.Series(["a\n#### 1", "b", "c"])) is None
