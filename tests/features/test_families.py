from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.errors import UsageError
from cuecard.features import (
    FAMILIES,
    Bigrams,
    Formats,
    Function,
    Lengths,
    Negation,
    Overlap,
    Positions,
    Presence,
    Regexes,
    Words,
    count_features,
)
from cuecard.text import encode
from small_sets import choice_instances, pair_instances

PAIRS = pair_instances(
    [
        ("train", "A man runs in the park", "A man is not running!", "no"),
        ("train", "A dog sleeps", "A dog sleeps", "yes"),
        ("train", "Two cats", "Birds fly, and birds sing", "no"),
        ("test", "", "", "yes"),
    ]
)
QUESTIONS = choice_instances(
    [("train", "Why?", ["one two three", "one", "one two"], 0), ("train", "How?", ["a b", "a b", "a"], 1)]
)


def having(presence: Presence, feature: str) -> list[int]:
    column = presence.names.to_list().index(feature)
    return presence.rows()[presence.indices == column].tolist()


def test_words_are_present_once_per_instance():
    presence = Words().presence(encode(PAIRS, language="en"))
    assert having(presence, "birds") == [2]
    assert having(presence, "a") == [0, 1]


def test_bigrams_never_cross_from_premise_to_hypothesis():
    presence = Bigrams().presence(encode(PAIRS, scope="both", language="en"))
    assert having(presence, "dog sleeps") == [1]
    assert "sleeps a" not in presence.names.to_list()
    assert having(presence, "the park") == [0]


@pytest.mark.parametrize("name", [name for name in FAMILIES.names() if name != "concept"])  # read from a card
def test_every_family_counts_what_its_presence_lists_and_lists_nothing_twice(name):
    if package := {"sentiment": "vaderSentiment", "typo": "hunspell", "spelling": "spellchecker"}.get(name):
        pytest.importorskip(package)
    data = encode(QUESTIONS if name == "position" else PAIRS, language="en", scope="hypothesis")
    family = FAMILIES.get(name)()
    presence = family.presence(data)
    rows, entries = presence.rows(), presence.indices
    assert len(np.unique(rows * max(presence.shape[1], 1) + entries)) == len(entries)
    classes = data.instances.label_codes
    counted = count_features(family, data, classes, 2)
    names = counted.names(np.arange(len(counted.counts)))
    found = dict(zip(names.to_list(), counted.counts.tolist(), strict=True))
    listed = Presence.counts(presence, classes, 2)
    expected = dict(zip(presence.names.to_list(), listed.counts.tolist(), strict=True))
    assert found == expected


@pytest.mark.parametrize("name", FAMILIES.names())
def test_every_family_says_what_it_is(name):
    family = FAMILIES.get(name)
    assert family.name == name
    assert family.description
    assert "{}" in family.phrase


def test_overlap_ignores_stop_words():
    presence = Overlap().presence(encode(PAIRS, language="en"))
    assert having(presence, "some words of the premise") == [0, 1]
    assert having(presence, "only words of the premise") == [1]
    assert having(presence, "no word of the premise") == [2]


def test_length_bins_hold_every_instance_once_and_ties_merge():
    lengths = Lengths(bins=2)
    data = encode(QUESTIONS, language="en")
    presence = lengths.presence(data)
    binned = [i for i, name in enumerate(presence.names) if "tokens" in name]
    assert np.isin(presence.indices, binned).sum() == len(QUESTIONS)
    assert having(presence, "longest") == [0]  # the second question has two longest choices, so none
    assert having(presence, "shortest") == [1, 5]


def test_lengths_are_learned_from_the_training_instances_alone():
    rows = [("train", "", "a b c", "x"), ("train", "", "a b c d e f", "y"), ("test", "", "a", "x")]
    assert Lengths(bins=2).learned(encode(pair_instances(rows), language="en")).edges == (3,)


def test_position_is_a_feature_of_choices_only():
    assert having(Positions().presence(encode(QUESTIONS, language="en")), "choice 3") == [2, 5]
    with pytest.raises(UsageError, match="only applies to multiple choice"):
        Positions().presence(encode(PAIRS, language="en"))


def test_formats_look_at_the_raw_text():
    presence = Formats().presence(encode(PAIRS, language="en"))
    assert having(presence, "exclamation mark") == [0]
    assert having(presence, "comma") == [2]


def test_written_ratings_are_told_from_fractions_and_dates():
    texts = [
        "A solid 8/10.",
        "I give it 3 / 10",
        "2 stars, no more",
        "Five-star hotel",
        "on 12/10 we met",
        "5/10",
    ]
    data = pair_instances([("train", "", text, "ab"[i % 2]) for i, text in enumerate(texts)])
    presence = Formats().presence(encode(data, language="en"))
    assert having(presence, "high written rating") == [0, 3]
    assert having(presence, "low written rating") == [1, 2]


def test_negation_is_read_off_the_words():
    assert having(Negation().presence(encode(PAIRS, language="en")), "negation") == [0]


def test_with_scope_both_a_property_of_either_text_counts():
    data = pair_instances([("train", "It is not so", "Yes", "a"), ("train", "It is so", "Yes", "b")])
    presence = Negation().presence(encode(data, scope="both", language="en"))
    assert having(presence, "negation") == [0]


def test_a_regular_expression_matches_in_the_scope():
    presence = Regexes((("ends in s", r"s\W*$"),)).presence(encode(PAIRS, language="en"))
    assert having(presence, "ends in s") == [1]


def test_a_function_of_the_users_own_becomes_a_family():
    def shouting(table: pl.DataFrame) -> dict[str, pl.Series]:
        return {"shouts": table["hypothesis"].str.contains("!")}

    presence = Function("tone", shouting).presence(encode(PAIRS, language="en"))
    assert having(presence, "shouts") == [0]


def test_a_function_of_the_wrong_shape_is_refused_in_one_sentence():
    family = Function("tone", lambda table: {"shouts": pl.Series([1, 2])})
    with pytest.raises(UsageError, match="one boolean per instance"):
        family.presence(encode(PAIRS, language="en"))


def test_without_training_instances_every_length_is_one_bin():
    presence = Lengths().presence(encode(pair_instances([("test", "a", "b c", "no")]), language="en"))
    assert presence.names.to_list() == ["any number of tokens"]


@pytest.mark.parametrize(
    ("edges", "names"),
    [
        ((0, 1, 3), ["no tokens", "1 token", "2 to 3 tokens", "4 or more tokens"]),
        ((1, 2), ["up to 1 token", "2 tokens", "3 or more tokens"]),
    ],
)
def test_length_bins_have_names_in_plain_english(edges, names):
    presence = Lengths(edges=edges).presence(encode(PAIRS, language="en"))
    assert presence.names.to_list() == names


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("a(b", r"an opening parenthesis has no closing one \(character 2\)"),
        ("[", r"an opening bracket has no closing one \(character 1\)"),
        ("+", "nothing stands before a sign of repetition"),
        ("(?=a)", "look-around and back-references are not supported"),
    ],
)
def test_a_bad_regular_expression_is_answered_with_what_is_wrong_and_where(pattern, reason):
    with pytest.raises(UsageError, match=reason):
        Regexes((("mine", pattern),))
