from __future__ import annotations

import sys

import polars as pl
import pytest

from cuecard.errors import MissingExtraError
from cuecard.text.annotate import english as dictionaries
from cuecard.text.annotate import get_annotator


@pytest.fixture
def dictionary() -> None:
    pytest.importorskip("hunspell", reason="needs the extra english")


@pytest.mark.usefixtures("dictionary")
@pytest.mark.parametrize("word", ["recieve", "definately", "poeple", "teh", "eachother"])
def test_misspelt_words_are_found(word: str) -> None:
    assert dictionaries.is_misspelt(word)


@pytest.mark.usefixtures("dictionary")
@pytest.mark.parametrize(
    "word",
    [
        "receive",
        "don't",
        "dog's",
        "london",
        "nasa",
        "colour",
        "organise",
        "travelling",
        "theatre",
        "selfie",
        "42",
        "x",
    ],
)
def test_correct_words_pass_british_and_newer_ones_too(word: str) -> None:
    assert not dictionaries.is_misspelt(word)


@pytest.mark.usefixtures("dictionary")
def test_a_capital_excuses_a_name_but_not_a_small_letter() -> None:
    texts = pl.Series(["We met Ingelthorpe.", "We met ingelthorpe.", "We met him.", ""])
    assert get_annotator("en").annotate(texts).typo.tolist() == [False, True, False, False]


def test_missing_dictionary_names_the_line_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionaries._dictionary.cache_clear()
    dictionaries.is_misspelt.cache_clear()
    monkeypatch.setitem(sys.modules, "hunspell", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'cuecard\[english\]'"):
        _ = get_annotator("en").annotate(pl.Series(["words"])).typo
