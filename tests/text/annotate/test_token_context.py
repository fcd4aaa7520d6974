from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.errors import UsageError
from cuecard.stats import _native as k
from cuecard.text import tokenise
from cuecard.text.annotate.english import token_flags


def flags_of(text: str) -> dict[str, int]:
    texts = pl.Series([text])
    tokens = tokenise(texts)
    return dict(zip(tokens.words(0), token_flags(texts, tokens).tolist(), strict=True))


def test_capitals_and_sentence_starts() -> None:
    flags = flags_of("The NASA man. Élodie said so")
    assert flags["the"] == k.CAPITAL | k.OPENS
    assert flags["nasa"] == k.CAPITAL | k.CAPITALS
    assert flags["man"] == 0
    assert flags["élodie"] == k.CAPITAL | k.OPENS


def test_punctuation_before_a_token() -> None:
    flags = flags_of('red, green-blue "white" $5 (six)')
    assert flags["green"] == k.PAUSE
    assert flags["blue"] == k.JOINED
    assert flags["white"] == k.QUOTED
    assert flags["5"] & k.MONEY
    assert flags["six"] == k.PAUSE


def test_one_capital_letter_is_not_a_word_in_capitals() -> None:
    assert not flags_of("A dog")["a"] & k.CAPITALS


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=30), max_size=6))
def test_flags_line_up_with_the_default_tokens_of_any_text(texts: list[str]) -> None:
    series = pl.Series(texts, dtype=pl.String)
    tokens = tokenise(series)
    assert len(token_flags(series, tokens)) == len(tokens.ids)


def test_missing_texts_have_no_tokens() -> None:
    texts = pl.Series(["One dog", None, "Two"])
    assert len(token_flags(texts, tokenise(texts))) == 3


@pytest.mark.parametrize("other", [["two words more"], ["one"], ["one two", "three"]])
def test_tokens_of_other_texts_are_refused(other: list[str]) -> None:
    with pytest.raises(UsageError, match="default tokenisation"):
        token_flags(pl.Series(["one two"]), tokenise(pl.Series(other)))


def test_flags_line_up_with_tokens_where_accents_were_typed_apart() -> None:
    texts = pl.Series(["E\u0301mile =\u0338 Zoe\u0308"])
    tokens = tokenise(texts)
    assert tokens.words(0) == ["émile", "zoë"]
    assert all(flag & k.CAPITAL for flag in token_flags(texts, tokens))
