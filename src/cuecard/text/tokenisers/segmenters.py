"""Word segmenters for languages written without spaces, each from an optional package."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import polars as pl

from cuecard.errors import MissingExtraError
from cuecard.text.tokenisers.pieces import tokenise_distinct
from cuecard.text.tokens import Tokens

#: The package that segments each language; the extra has the language's name.
PACKAGES = {"zh": "rjieba", "ja": "fugashi", "th": "pythainlp"}


def has_segmenter(language: str) -> bool:
    """Return whether the package that segments this language is installed."""
    return language in PACKAGES and find_spec(PACKAGES[language]) is not None


def tokenise_chinese(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the Chinese words of every text (rjieba), without punctuation."""
    cut = _package("zh").cut
    return tokenise_distinct(texts, lambda pieces: (_words(cut(piece)) for piece in pieces), threads=threads)


def tokenise_japanese(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the Japanese words of every text (MeCab by fugashi, with unidic-lite), without punctuation."""
    parse = _package("ja").Tagger("-Owakati").parse
    return tokenise_distinct(
        texts, lambda pieces: (_words(parse(piece).split()) for piece in pieces), threads=threads
    )


def tokenise_thai(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the Thai words of every text (pythainlp's newmm), without punctuation."""
    cut = _package("th").word_tokenize
    return tokenise_distinct(
        texts, lambda pieces: (_words(cut(piece, engine="newmm")) for piece in pieces), threads=threads
    )


def _words(tokens: list[str]) -> list[str]:
    """Return the tokens with a letter or digit in them, as the default tokeniser would keep them."""
    return [token.strip() for token in tokens if any(character.isalnum() for character in token)]


def _package(language: str) -> Any:
    if not has_segmenter(language):
        raise MissingExtraError(PACKAGES[language], language, f"The tokeniser 'words-{language}'")
    return import_module(PACKAGES[language])
