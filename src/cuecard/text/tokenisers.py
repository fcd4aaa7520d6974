"""Named tokenisations: texts become integer tokens by the rule of that name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

import polars as pl

from cuecard.data.sentences import composed
from cuecard.errors import MissingExtraError
from cuecard.registry import Registry
from cuecard.text.bytewise import (
    character_rule,
    default_rule,
    stubborn_rule,
    tokenise_bytes,
    tokenise_distinct,
)
from cuecard.text.tokens import Tokens
from cuecard.text.treebank import noun_lemmas, tokenise_treebank

#: The package that segments each language; the extra has the language's name.
PACKAGES = {"zh": "rjieba", "ja": "fugashi", "th": "pythainlp"}


def extra_of(tokens: str) -> str | None:
    """Return the optional part of CueCard that a tokeniser needs."""
    if tokens.startswith("treebank"):
        return "nltk"
    return tokens.removeprefix("words-") if tokens.startswith("words-") else None


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


class TextsToTokens(Protocol):
    """A function from texts to their tokens."""

    def __call__(self, texts: pl.Series, *, threads: int | None = None) -> Tokens:
        """Return the integer tokens of every text."""
        ...


@dataclass(frozen=True)
class Tokeniser:
    """A named way to cut texts into tokens."""

    description: str
    run: TextsToTokens


TOKENISERS: Registry[Tokeniser] = Registry("tokeniser", group="cuecard.tokenisers")


def tokenise(texts: pl.Series, tokens: str = "default", *, threads: int | None = None) -> Tokens:
    """Return the integer tokens of every text; a missing text has none.

    `tokens` names one of `TOKENISERS`; `threads` limits the cores used and never changes the result. Accents
    are joined to their letters first, so a word is one token however it was typed.
    """
    plain = texts.cast(pl.String)
    joined = composed(plain)
    if joined is not plain:  # something is beyond ASCII, as joiners are
        joined = _joined(joined)
    return TOKENISERS.get(tokens).run(joined, threads=threads)


def _joined(texts: pl.Series) -> pl.Series:
    """Return texts whose joiners stand only between letters of scripts that are written with them."""
    if not texts.str.contains("[\u200c\u200d]").any():
        return texts
    letter = r"[\p{Arabic}\p{Devanagari}\p{Bengali}\p{Malayalam}\p{Sinhala}\p{Kannada}\p{Telugu}\p{Tamil}\p{Gujarati}]"
    # Marked first, because a joiner can end one pair of letters and begin the next.
    marked = texts.str.replace_all(rf"({letter})(\u200c|\u200d)", "${1}\ue000${2}")
    marked = marked.str.replace_all(rf"\ue000(\u200c|\u200d)({letter})", "\ue000${1}\ue000${2}")
    bare = marked.str.replace_all("(^|[^\ue000])[\u200c\u200d]", "${1}")
    return bare.str.replace_all("\ue000([\u200c\u200d])\ue000", "${1}").str.replace_all(
        "\ue000[\u200c\u200d]?", ""
    )


def _tokenise_lemmas(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    return noun_lemmas(tokenise_treebank(texts, threads=threads))


for _name, _description, _run in (
    (
        "default",
        "lower-cased words: letters, digits, underscores and inner apostrophes",
        partial(tokenise_bytes, rule=default_rule),
    ),
    (
        "stubborn",
        "lower-cased, punctuation deleted, split on white space: there's is theres",
        partial(tokenise_bytes, rule=stubborn_rule),
    ),
    (
        "treebank",
        "NLTK's word tokeniser, lower-cased: don't is do, n't",
        tokenise_treebank,
    ),
    (
        "treebank-lemma",
        "treebank with every token as a singular noun: does is doe",
        _tokenise_lemmas,
    ),
    (
        "chars",
        "every character that is not white space, lower-cased",
        partial(tokenise_bytes, rule=character_rule),
    ),
    ("words-zh", "Chinese words", tokenise_chinese),
    ("words-ja", "Japanese words", tokenise_japanese),
    ("words-th", "Thai words", tokenise_thai),
):
    TOKENISERS.add(_name, Tokeniser(_description, _run))
