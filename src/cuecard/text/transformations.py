"""Texts with part of their information taken away, to see what a score rests on."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import polars as pl

from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.text.languages.nouns import noun_types
from cuecard.text.languages.stopwords import stop_words

#: What stands for a word that was taken away; no tokeniser of words makes it a token.
MASK = "…"
_WORD = re.compile(r"\w+(?:['\u2019]\w+)*")


def transformed(texts: pl.Series, name: str, *, language: str = "en", seed: int = 0) -> pl.Series:
    """Return the texts after a named transformation; equal texts stay equal.

    ``shuffled_words`` keeps the words and loses their order; ``masked_nouns`` hides what is talked about;
    ``masked_function_words`` hides everything but content words. The last two only apply to English.
    """
    check_transformation(name)
    distinct = texts.fill_null("").unique(maintain_order=True)
    changed = TRANSFORMATIONS[name](distinct, language, seed)
    return texts.fill_null("").replace_strict(distinct, changed, return_dtype=pl.String)


def check_transformation(name: str) -> None:
    """Raise if there is no transformation of that name."""
    if name not in TRANSFORMATIONS:
        raise unknown_name("transformation", name, list(TRANSFORMATIONS))


def _shuffled_words(texts: pl.Series, language: str, seed: int) -> pl.Series:
    del language
    rng = np.random.default_rng(seed)

    def shuffled(text: str) -> str:
        words = text.split()
        if len(words) > 1:
            return " ".join(words[i] for i in rng.permutation(len(words)))
        # Without spaces between words (Chinese, Thai) the characters change places.
        return "".join(text[i] for i in rng.permutation(len(text)))

    return pl.Series(texts.name, [shuffled(text) for text in texts], dtype=pl.String)


def _masked_nouns(texts: pl.Series, language: str, seed: int) -> pl.Series:
    del seed
    _english_only("masked_nouns", language)
    return _masked(texts, noun_types(texts))


def _masked_function_words(texts: pl.Series, language: str, seed: int) -> pl.Series:
    del seed
    _english_only("masked_function_words", language)
    return _masked(texts, stop_words(language))


def _english_only(name: str, language: str) -> None:
    if language != "en":
        raise UsageError(
            f"The transformation {name!r} only applies to English; these texts are in {language!r}."
        )


def _masked(texts: pl.Series, words: frozenset[str]) -> pl.Series:
    def hidden(match: re.Match[str]) -> str:
        return MASK if match[0].lower().replace("\u2019", "'") in words else match[0]

    return pl.Series(texts.name, [_WORD.sub(hidden, text) for text in texts], dtype=pl.String)


TRANSFORMATIONS: dict[str, Callable[[pl.Series, str, int], pl.Series]] = {
    "shuffled_words": _shuffled_words,
    "masked_nouns": _masked_nouns,
    "masked_function_words": _masked_function_words,
}
