from __future__ import annotations

import polars as pl
import pytest

from cuecard.text.annotate import TENSES, get_annotator


def tense_of(text: str) -> str:
    return TENSES[get_annotator("en").annotate(pl.Series([text])).tense[0]]


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("The man is walking.", "present"),
        ("The man was walking.", "past"),
        ("The man will be walking.", "future"),
        ("They won't come.", "future"),
        ("She didn't go.", "past"),
        ("She doesn't go.", "present"),
        ("The costs have declined.", "present"),
        ("The costs had declined.", "past"),
        ("He ate an apple.", "past"),
        ("Two dogs chase a rabbit.", "present"),
        ("A woman and a man walk down the street.", "present"),
        ("Do you have a car?", "present"),
        ("What did they serve?", "past"),
        ("It's raining.", "present"),
    ],
)
def test_finite_verb_group_gives_its_tense(text: str, tense: str) -> None:
    assert tense_of(text) == tense


@pytest.mark.parametrize(
    "text",
    [
        "A man sitting on a bench.",
        "A man on a motorcycle.",
        "People can catch errors.",
        "He would like to leave.",
        "Don't respond.",
        "Go to the office.",
        "",
    ],
)
def test_verbless_modal_and_imperative_texts_have_no_tense(text: str) -> None:
    assert tense_of(text) == "none"


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("The women dressed in black are singing.", "present"),
        ("The report written by auditors is public.", "present"),
        ("The man who was here is gone.", "present"),
        ("When it rained, the children will stay inside.", "future"),
        ("If you say so, I believed it.", "past"),
        ("The things they said are true.", "present"),
    ],
)
def test_main_clause_wins_over_participles_and_clauses_before_it(text: str, tense: str) -> None:
    assert tense_of(text) == tense


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("The man walks his dog.", "present"),
        ("The walks were long.", "past"),
        ("My family held a reunion.", "past"),
        ("The family trips are fun.", "present"),
        ("The GAO issued roughly 170 reports about it.", "past"),
    ],
)
def test_words_that_are_noun_and_verb_are_read_by_their_neighbours(text: str, tense: str) -> None:
    assert tense_of(text) == tense


def test_curly_apostrophes_read_as_straight_ones() -> None:
    assert tense_of("She didn’t go.") == tense_of("She didn't go.") == "past"


def test_first_sentence_with_a_verb_decides() -> None:
    assert tense_of("Of course. He left. They will return.") == "past"
