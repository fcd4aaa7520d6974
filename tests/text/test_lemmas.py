from __future__ import annotations

import polars as pl
import pytest

from cuecard.text import tokenise
from cuecard.text.treebank import noun_lemma, noun_lemmas


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("does", "doe"),
        ("dogs", "dog"),
        ("houses", "house"),
        ("boxes", "box"),
        ("churches", "church"),
        ("dishes", "dish"),
        ("glasses", "glass"),
        ("buses", "bus"),
        ("waltzes", "waltz"),
        ("sizes", "size"),
        ("cities", "city"),
        ("ties", "tie"),
        ("potatoes", "potato"),
        ("women", "woman"),
        ("policemen", "policeman"),
        ("children", "child"),
        ("knives", "knife"),
        ("gloves", "glove"),
        ("t-shirts", "t-shirt"),
    ],
)
def test_plurals_become_singulars(word: str, lemma: str) -> None:
    assert noun_lemma(word) == lemma


@pytest.mark.parametrize(
    "word",
    ["dog", "always", "this", "his", "was", "glass", "bus", "perhaps", "men's", "n't", "'s", "s", "specimen"],
)
def test_words_that_are_no_plurals_stay(word: str) -> None:
    assert noun_lemma(word) == word


def test_a_word_and_its_plural_become_one_type() -> None:
    tokens = noun_lemmas(tokenise(pl.Series(["a dog", "two dogs", "the dog"])))
    assert tokens.vocabulary.to_list() == ["a", "dog", "two", "the"]
    assert tokens.words(1) == ["two", "dog"]


def test_treebank_lemma_reads_does_as_a_noun() -> None:
    pytest.importorskip("nltk")
    assert tokenise(pl.Series(["It doesn't; dogs do."]), "treebank-lemma").words(0) == [
        "it",
        "doe",
        "n't",
        ";",
        "dog",
        "do",
        ".",
    ]
