from __future__ import annotations

import math

import pytest

from cuecard.probes.answer_parsing import likeliest_answer, parsed_answer

LABELS = ["entailment", "neutral", "contradiction"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("neutral", "neutral"),
        (' "Entailment". ', "entailment"),
        ("The answer is contradiction.", "contradiction"),
        ("It is not entailment, so …\nAnswer: neutral", "neutral"),
        ("Answer: entailment? No.\nAnswer: **contradiction**", "contradiction"),
        ("I think this is neutral because nothing is said.", "neutral"),
        ("Some thoughts about neutral and entailment.\ncontradiction", "contradiction"),
        ("It could be neutral or entailment.", None),
        ("banana", None),
        ("", None),
        ("neutrality", None),
        ("Answer: maybe", None),
    ],
)
def test_labels_are_read_by_the_rules_and_never_guessed(text, expected):
    assert parsed_answer(text, LABELS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("B", "B"),
        ("(c)", "C"),
        ("B. it rained", "B"),
        ("Answer: A) the dog", "A"),
        ("it rained", "B"),
        ("The answer is that it rained", "B"),
        ("A dog is an animal", None),
        ("E", None),
    ],
)
def test_letters_and_the_choices_they_stand_for(text, expected):
    assert parsed_answer(text, ["A", "B", "C"], ["the dog", "it rained", "nobody knows"]) == expected


def test_first_tokens_that_can_begin_one_answer_only_share_the_probability():
    shares = likeliest_answer(
        [(" ent", math.log(0.5)), ("Neutral", math.log(0.2)), ("\n", -0.1), ("x", -1)], LABELS
    )
    assert shares == pytest.approx({"entailment": 5 / 7, "neutral": 2 / 7, "contradiction": 0})
    assert likeliest_answer([("the", -0.1)], LABELS) == {}
    assert likeliest_answer([("n", -0.1)], ["not_entailment", "neutral"]) == {}


def test_tokens_with_less_than_half_of_the_probability_tell_nothing():
    assert likeliest_answer([("The", math.log(0.9)), ("neutral", math.log(0.05))], LABELS) == {}
    assert likeliest_answer([("neutral", math.log(0.3)), ("ent", math.log(0.19))], LABELS) == {}
    shares = likeliest_answer([("neutral", math.log(0.3)), ("ent", math.log(0.21))], LABELS)
    assert max(shares, key=shares.get) == "neutral"
