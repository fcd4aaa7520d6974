"""The place of answers in their contexts: chances are those of all places, choices are what they say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cuecard as cc
from cuecard.audits.open_answers.place import RULES, TENTHS_NAMED, look_up, read_contexts
from cuecard.audits.open_answers.questions import Questions

TEXT = (
    "In 1969 Maria Lopez moved to the old town of Riga. She bought 12 lamps there, and Maria Lopez sold them. "
    "Her brother Tom came on 4 July 1971. Nobody saw them again after the storm."
)


def about(answers: list[str], contexts: list[str] | None = None) -> Questions:
    n = len(answers)
    table = {
        "context": contexts or [TEXT] * n,
        "question": [f"What {i}?" for i in range(n)],
        "answer": answers,
    }
    return Questions.of(cc.load(pl.DataFrame(table), task="open"))


def test_spans_of_a_context_are_names_numbers_and_dates():
    context = read_contexts([TEXT])[TEXT]
    assert context.names == ("maria lopez", "riga", "maria lopez", "tom", "nobody")
    assert context.numbers == ("12",)
    assert context.dates == ("1969", "4 july 1971")
    assert len(context.sentences) == 4


@pytest.mark.parametrize(
    ("rule", "chosen"),
    [
        ("longest_name", "maria lopez"),
        ("first_name", "maria lopez"),
        ("commonest_name", "maria lopez"),
        ("only_number", "12"),
        ("only_date", None),
    ],
)
def test_choices(rule, chosen):
    assert RULES[rule][1](read_contexts([TEXT])[TEXT]) == chosen


def test_chances_of_places_are_shares_of_all_places_that_leave_room():
    data = about(["old town", "12", "the storm", "maria lopez", "nowhere"])
    found = look_up(data, np.arange(5))
    assert (found.extractive, found.once) == (4, 3)  # Maria Lopez stands there twice
    n_words = len(TEXT.replace(",", "").replace(".", "").split())
    rows, hits, chances = found.outcomes["first_sentence"]
    assert rows.tolist() == [0, 1, 2]
    assert hits.tolist() == [True, False, False]
    first = 11
    assert chances == pytest.approx([first / (n_words - 1), first / n_words, first / (n_words - 1)])
    _, hits, chances = found.outcomes["last_sentence"]
    assert hits.tolist() == [False, False, True]
    assert chances == pytest.approx([6 / (n_words - 1), 7 / n_words, 6 / (n_words - 1)])
    together = sum(found.outcomes[name][2] for name in TENTHS_NAMED)
    assert together == pytest.approx(1.0)
    assert sum(found.outcomes[name][1].astype(int) for name in TENTHS_NAMED).tolist() == [1, 1, 1]


def test_every_place_has_its_tenth_and_its_chance():
    words = [f"w{i}" for i in range(23)]
    text = " ".join(words)
    found = look_up(about(words, [text] * 23), np.arange(23))
    for name in TENTHS_NAMED:
        _, hits, chances = found.outcomes[name]
        assert hits.mean() == pytest.approx(chances[0])  # of all places as answers, each tenth has its chance


def test_blind_choices_are_compared_with_a_random_span():
    data = about(["Maria Lopez", "Riga", "storm"])
    rows, hits, chances = look_up(data, np.arange(3)).outcomes["longest_name"]
    n_spans = len(read_contexts([TEXT])[TEXT].candidates)
    assert hits.tolist() == [True, False, False]
    assert chances == pytest.approx([1 / n_spans, 1 / n_spans, 0.0])
    assert rows.tolist() == [0, 1, 2]


def test_data_without_contexts_or_without_answers_in_them_say_so():
    table = pl.DataFrame(
        {"question": [f"What is {i}?" for i in range(60)], "answer": [f"a{i}" for i in range(60)]}
    )
    assert "needs a context" in cc.audit(cc.load(table, task="open"))["answer_place"].reason
    other = about([f"a{i}" for i in range(60)]).instances
    assert "found 0" in cc.audit(other, only=["overview", "answer_place"])["answer_place"].reason


def test_more_questions_than_are_looked_at_are_a_sample_that_says_so(monkeypatch):
    monkeypatch.setattr("cuecard.audits.open_answers.place.MOST_QUESTIONS", 80)
    data = about(["Riga", "12", "Tom"] * 50).instances
    card = cc.audit(data, only=["answer_place"])
    assert card.measure("answer_place.extractive").n == 80
    assert card["answer_place"].summary["all"] == 150
