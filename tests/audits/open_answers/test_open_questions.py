"""Questions with answers in words: exact match and F1 are SQuAD's, kinds of questions and answers are what they say."""

from __future__ import annotations

import re
import string
from collections import Counter

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.audits.open_answers.questions import FORMATS, OTHER_TYPE, Questions, answer_formats, word_f1


def squad_normal(text: str) -> str:
    """The published script's normal form."""
    text = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def squad_f1(said: str, right: str) -> float:
    a, b = squad_normal(said).split(), squad_normal(right).split()
    same = sum((Counter(a) & Counter(b)).values())
    if not same:
        return 0.0
    return 2 * (same / len(a)) * (same / len(b)) / (same / len(a) + same / len(b))


def several() -> Questions:
    table = pl.DataFrame(
        {
            "context": ["The old town hall of Riga is blue.", "Riga has 1,200 lamps.", "It rains."],
            "question": ["What is blue?", "How many lamps has Riga?", "Who was it?"],
            "answers": [{"text": ["The town hall", "old town hall"]}, {"text": ["1,200"]}, {"text": []}],
        }
    )
    return Questions.of(cc.load(table, task="open"))


def test_exact_match_takes_every_accepted_answer_and_numbers_by_value():
    data = several()
    said = pl.Series(["Old Town Hall!", "1200.0", ""])
    assert data.correct(data.codes(said)).tolist() == [True, True, True]
    assert data.correct(data.codes(pl.Series(["town", None, "Riga"]))).tolist() == [False, False, False]
    assert data.first_answers.to_list() == ["town hall", "1200", "no answer"]


@pytest.mark.parametrize("said", ["the hall", "an old town", "blue", "old old town hall of Riga", "the"])
def test_f1_is_that_of_the_published_script(said):
    data = several()
    best = max(squad_f1(said, right) for right in ("The town hall", "old town hall"))
    assert data.f1(pl.Series([said, None, None]))[0] == pytest.approx(best)


def test_f1_of_nothing_and_something_is_zero():
    assert (word_f1("", ""), word_f1("", "town"), word_f1("town", "town")) == (1.0, 0.0, 1.0)


def test_question_types_are_two_words_one_or_other():
    asked = ["How many are there?"] * 25 + ["How much is it?"] * 6 + ["Who is it?"] * 3
    asked += [f"How {word} is it?" for word in "abcdefghijklmnopqr"]
    table = pl.DataFrame({"question": asked, "answer": [f"x{i}" for i in range(len(asked))]})
    types = Questions.of(cc.load(table, task="open")).types.to_list()
    assert Counter(types) == {"how many": 25, "how": 24, OTHER_TYPE: 3}


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        ("no answer", "none"),
        ("true", "yes/no"),
        ("-3.5", "number"),
        ("july 4", "date"),
        ("march 1999", "date"),
        (r"\frac{1}{2}", "formula"),
        ("blue", "one word"),
        ("the very old town hall", "2–5 words"),
        ("it is what it is now", "6 or more words"),
    ],
)
def test_formats(form, kind):
    assert answer_formats(pl.Series([form])).to_list() == [kind]
    assert kind in FORMATS


def test_a_part_of_the_data_has_its_own_questions():
    data = several().instances
    part = Questions.of(data.rows(np.array([True, False, True])))
    assert len(part) == 2
    assert part.first_answers.to_list() == ["town hall", "no answer"]
