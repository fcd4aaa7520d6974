from __future__ import annotations

import math
from random import Random

import pytest

from cuecard.probes.formats.answer_parsing import (
    _CLAUSE,
    _DENIAL,
    _Denials,
    likeliest_answer,
    parsed_answer,
)

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Answer: not entailment", "not_entailment"),
        ("Answer: Not-Entailment.", "not_entailment"),
        ("The answer is **not_entailment**", "not_entailment"),
        ("not entailment", "not_entailment"),
        ("I would call it not_entailment here.", "not_entailment"),
        ("Answer: entailment", "entailment"),
        ("It is not entailment.", None),
        ("entailment or not_entailment", None),
    ],
)
def test_a_label_that_denies_another_is_never_read_as_the_other(text, expected):
    assert parsed_answer(text, ["entailment", "not_entailment"]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "It is not entailment.",
        "This isn't entailment.",
        "I do not think that this is entailment",
        "The answer is not entailment.",
        "I don't think the answer is entailment.",
        "Entailment is wrong here.",
        "a case of non-entailment",
        "Answer: entailment is not it.",
        "Answer: entailment?",
        "Answer: entailment or neutral",
        "Answer: entailment/neutral",
        "Answer: entailment, neutral",
        "Answer: entailment or something else",
    ],
)
def test_what_is_denied_or_one_of_several_is_no_answer(text):
    assert parsed_answer(text, LABELS) is None


def test_a_denial_in_another_clause_does_not_matter():
    assert parsed_answer("The first text does not say so, so it is neutral.", LABELS) == "neutral"
    assert parsed_answer("I am not sure, but the answer is neutral, not entailment.", LABELS) == "neutral"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I cannot answer a question like this.", None),
        ("The answer is a bit unclear.", None),
        ("Answer: A question like this has none", None),
        ("Answer: I think none of them", None),
        ("I'm unable to say", None),
        ("Answer: A or B, I can't tell", None),
        ("Answer: A, B", None),
        ("A. the dog\nB. it rained", None),
        ("Answer: b", "B"),
        ("Answer:\n\n**(B)**", "B"),
        ("The answer is B because it was wet.", "B"),
        ("Answer: B it rained", "B"),
        ("Answer: B) not enough is known", "B"),
        ("B. Not enough is known", "B"),
        ("Answer: (A) or (B)", None),
        ("Answer: A) and B)", None),
        ("Answer: B?", None),
        ("Answer: B, as a dog would know", "B"),
        ("Answer: The answer is C.", "C"),
        ("Possible answers: A, B.\nI", "I"),
    ],
)
def test_a_letter_needs_a_mark_or_a_line_of_its_own(text, expected):
    texts = ["the dog", "it rained", "nobody knows"]
    assert parsed_answer(text, list("ABCDEFGHI"), texts) == expected


def test_a_name_of_two_answers_is_none_and_letters_go_before_texts():
    assert parsed_answer("a-b", ["a_b", "a b", "c"]) is None
    assert parsed_answer("B", ["A", "B"], ["b", "a"]) == "B"


def test_a_text_that_was_cut_off_is_read_only_where_the_answer_is_marked():
    assert parsed_answer("First, neutral would mean", LABELS) == "neutral"
    assert parsed_answer("First, neutral would mean", LABELS, cut=True) is None
    assert parsed_answer("Answer: neutral. This is because", LABELS, cut=True) == "neutral"


@pytest.mark.parametrize(
    ("text", "expected"),
    [("No, it is not.", "no"), ("There is no evidence here.", None), ("I say: yes!", "yes"), ("no", "no")],
)
def test_a_label_that_is_a_common_word_is_not_found_in_a_sentence(text, expected):
    assert parsed_answer(text, ["yes", "no"]) == expected


def test_signs_are_no_joints_and_emphasis_does_not_matter():
    assert parsed_answer("Answer: -1", ["1", "-1"]) == "-1"
    assert parsed_answer("1", ["1", "-1"]) == "1"
    assert parsed_answer("Answer: _neutral_", LABELS) == "neutral"
    assert parsed_answer("__Answer:__ `neutral`", LABELS) == "neutral"


@pytest.mark.parametrize(
    "loop",
    [
        "neutral ",
        "The answer is not clear. ",
        "it is neutral so ",
        "answer: entailment? ",
        "entailment or neutral, ",
        "no ",
    ],
)
def test_a_long_answer_that_repeats_itself_is_read(loop):  # for minutes where the time grows with the square
    parsed_answer((loop * 131_072)[:131_072], ["contradiction", "entailment", "neutral"])
    parsed_answer((loop * 131_072)[:131_072], list("ABCD"), ["the dog", "a cat", "no", "neutral"])


def test_denials_are_those_of_the_clause_that_ends_at_a_place():
    words = [
        "not",
        "no",
        "isn't",
        "so",
        "but",
        ",",
        ".",
        "\n",
        "rather than",
        "dog",
        "which means",
        "neither",
    ]
    rng = Random(0)
    for _ in range(300):
        text = " ".join(rng.choices(words, k=rng.randrange(1, 12)))
        denials = _Denials(text)
        for place in [0, *(i for i, c in enumerate(text) if c == " "), len(text)]:
            clause = _CLAUSE.split(text[:place])[-1]
            assert denials.before(place) == (_DENIAL.search(clause) is not None), (text, place)
