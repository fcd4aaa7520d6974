from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from itertools import chain
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.errors import UsageError
from cuecard.text import TOKENISERS, Tokens, bytewise, tokenise


def words_of(tokens: Tokens) -> list[list[str]]:
    vocabulary = tokens.vocabulary.to_list()
    return [
        [vocabulary[i] for i in tokens.ids[begin:end]]
        for begin, end in zip(tokens.offsets[:-1], tokens.offsets[1:], strict=True)
    ]


def words(text: str, tokens: str = "default") -> list[str]:
    return words_of(tokenise(pl.Series([text]), tokens))[0]


def plain_default(text: str) -> list[str]:
    """The default tokeniser written for reading, not for speed."""

    def invisible(c: str) -> bool:
        selector = "\ufe00" <= c <= "\ufe0f" or "\U000e0100" <= c <= "\U000e01ef"
        return selector or (unicodedata.category(c) == "Cf" and c != "\u200b")

    def word(c: str) -> bool:
        return c == "_" or unicodedata.category(c)[0] in "LMN"

    text = "".join(c for c in text.lower() if not invisible(c)).replace("\u2019", "'")
    text = "".join(c if word(c) or c == "'" else " " for c in text)
    return re.findall("[^ ']+(?:'[^ ']+)*", text)


def plain_stubborn(text: str) -> list[str]:
    def punctuation(c: str) -> bool:
        return c in string.punctuation or unicodedata.category(c)[0] == "P"

    return "".join(c for c in text.lower() if not punctuation(c)).split()


def plain_chars(text: str) -> list[str]:
    return [c for c in text.lower() if not c.isspace()]


PLAIN: dict[str, Callable[[str], list[str]]] = {
    "default": plain_default,
    "stubborn": plain_stubborn,
    "chars": plain_chars,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A man's dog isn't HERE.", ["a", "man's", "dog", "isn't", "here"]),
        ("It\u2019s the dogs' 'bowl'", ["it's", "the", "dogs", "bowl"]),
        ("rock ''n'' roll, don''t", ["rock", "n", "roll", "don", "t"]),
        ("snake_case x-ray 3.5 a1b2", ["snake_case", "x", "ray", "3", "5", "a1b2"]),
        ("Zoë ÀÉÎ Straße ΣΑΣ", ["zoë", "àéî", "straße", "σας"]),
        ("मैं हिन्दी बोलता हूँ।", ["मैं", "हिन्दी", "बोलता", "हूँ"]),
        ("ที่นี่ กรุงเทพ", ["ที่นี่", "กรุงเทพ"]),
        ("co\u00adoperate می\u200cخواهم a\u200bb", ["cooperate", "می\u200cخواهم", "a", "b"]),
        ("fine 👍🏽 ❤\ufe0f ok", ["fine", "ok"]),
        ("", []),
        (" \t\n.,!?", []),
        ("'", []),
        ("\x00a\x00b", ["a", "b"]),
    ],
)
def test_default_keeps_letters_digits_underscores_and_inner_apostrophes(
    text: str, expected: list[str]
) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There's a man - isn't there?", ["theres", "a", "man", "isnt", "there"]),
        ("\u201cWell-known\u201d, he said\u2026", ["wellknown", "he", "said"]),
        ("a\u00a0b\tc\nd", ["a", "b", "c", "d"]),
        ("$5 + 3% = x", ["5", "3", "x"]),
        ("...", []),
    ],
)
def test_stubborn_deletes_punctuation_and_splits_on_white_space(text: str, expected: list[str]) -> None:
    assert words(text, "stubborn") == expected


def test_chars_are_all_characters_but_white_space() -> None:
    assert words("我 OK，é\u3000!", "chars") == ["我", "o", "k", "，", "é", "!"]


@pytest.mark.parametrize("name", [*PLAIN, "treebank"])
def test_a_word_is_one_token_however_its_accents_were_typed(name: str) -> None:
    if name == "treebank":
        pytest.importorskip("nltk")
    typed_apart = unicodedata.normalize("NFD", "Café 한국")
    tokens = words_of(tokenise(pl.Series(["plain", typed_apart, "café 한국", None]), name))
    assert tokens[1] == tokens[2]
    assert "".join(tokens[1]) == "café한국"


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cn", "Co"])), max_size=6))
def test_any_text_has_the_tokens_of_the_plain_tokeniser(name: str, texts: list[str]) -> None:
    assert words_of(tokenise(pl.Series(texts, dtype=pl.String), name)) == [
        PLAIN[name](unicodedata.normalize("NFC", text)) for text in texts
    ]


@pytest.mark.parametrize("name", PLAIN)
@settings(max_examples=150, deadline=None)
@given(texts=st.lists(st.text("aBé'\u2019 .-_9我\u0301İ", max_size=30), max_size=6))
def test_texts_full_of_special_cases_have_the_tokens_of_the_plain_tokeniser(
    name: str, texts: list[str]
) -> None:
    assert words_of(tokenise(pl.Series(texts, dtype=pl.String), name)) == [
        PLAIN[name](unicodedata.normalize("NFC", text)) for text in texts
    ]


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("file", ["snli/test.parquet", "xnli/dev_fr.parquet", "xnli/dev_zh.parquet"])
def test_real_texts_have_the_tokens_of_the_plain_tokeniser(
    name: str, file: str, real_data: Callable[[str], Path]
) -> None:
    table = pl.read_parquet(real_data(file))
    texts = pl.concat([table["premise"], table["hypothesis"]])
    assert words_of(tokenise(texts, name)) == [
        PLAIN[name](unicodedata.normalize("NFC", text)) for text in texts
    ]


@pytest.mark.parametrize("name", PLAIN)
def test_number_of_threads_changes_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bytewise, "BYTES_PER_THREAD", 64)
    rng = np.random.default_rng(0)
    alphabet = np.array(list("abcdeé' ."))
    texts = pl.Series(["".join(rng.choice(alphabet, rng.integers(0, 40))) for _ in range(500)])
    alone = tokenise(texts, name, threads=1)
    for threads in (2, 3, 7):
        together = tokenise(texts, name, threads=threads)
        np.testing.assert_array_equal(together.ids, alone.ids)
        np.testing.assert_array_equal(together.offsets, alone.offsets)
        assert together.vocabulary.to_list() == alone.vocabulary.to_list()


def test_vocabulary_is_in_order_of_first_occurrence() -> None:
    tokens = tokenise(pl.Series(["the cat", "a cat", "the dog"]))
    assert tokens.vocabulary.to_list() == ["the", "cat", "a", "dog"]
    assert tokens.ids.dtype == np.int32


def test_many_long_types_of_one_length_stay_apart() -> None:
    # Permutations of eight-letter blocks have the same key, so only their bytes tell them apart.
    blocks = ["abcdefgh", "stuvwxyz", "01234567", "________"]
    types = ["".join((blocks[i], blocks[j], blocks[k])) for i in range(4) for j in range(4) for k in range(4)]
    tokens = tokenise(pl.Series([" ".join(types * 2)]))
    assert tokens.vocabulary.to_list() == types


def test_vocabulary_may_outgrow_every_first_guess() -> None:
    types = [f"w{i}" for i in range(60_000)]
    tokens = tokenise(pl.Series([" ".join(types[:50_000]), " ".join(types[40_000:])]))
    assert tokens.vocabulary.to_list() == types
    assert tokens.lengths.tolist() == [50_000, 20_000]


def test_missing_texts_have_no_tokens() -> None:
    assert words_of(tokenise(pl.Series(["a b", None, "", "a"]))) == [["a", "b"], [], [], ["a"]]
    assert words_of(tokenise(pl.Series([None, None], dtype=pl.String))) == [[], []]
    assert len(tokenise(pl.Series([], dtype=pl.String))) == 0


def test_categories_are_read_as_their_texts() -> None:
    assert words_of(tokenise(pl.Series(["Été là", "b", "Été là"], dtype=pl.Categorical))) == [
        ["été", "là"],
        ["b"],
        ["été", "là"],
    ]


def test_slices_and_chunks_of_a_column_are_read_where_they_are() -> None:
    texts = pl.concat([pl.Series(["x y", "a b"]), pl.Series(["c d", "e"])], rechunk=False)
    assert words_of(tokenise(texts[1:3])) == [["a", "b"], ["c", "d"]]


def test_a_repeated_neighbour_has_the_same_tokens() -> None:
    texts = ["", "", "the cat sat", "the cat sat", "the cat sad", "the cat sad", "the cat sad", ""]
    assert words_of(tokenise(pl.Series(texts))) == [text.split() for text in texts]


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="'treebank'"):
        tokenise(pl.Series(["a"]), "treebnk")


def test_every_tokeniser_says_what_it_does() -> None:
    assert set(chain(PLAIN, ["treebank", "treebank-lemma", "words-zh", "words-ja", "words-th"])) <= set(
        TOKENISERS.names()
    )
    assert all(tokeniser.description for tokeniser in TOKENISERS)
