"""Named tokenisations: texts become integer tokens by the rule of that name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Protocol

import polars as pl

from cuecard.data.splits.sentences import composed
from cuecard.registry import Registry
from cuecard.text.languages.lemmas import noun_lemmas
from cuecard.text.tokenisers.alphabet import character_rule, default_rule, stubborn_rule
from cuecard.text.tokenisers.bytewise import tokenise_bytes
from cuecard.text.tokenisers.segmenters import tokenise_chinese, tokenise_japanese, tokenise_thai
from cuecard.text.tokenisers.treebank import tokenise_treebank
from cuecard.text.tokens import Tokens


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
    kept = texts.str.replace_all(rf"({letter})(\u200c|\u200d)", "${1}\ue000${2}")
    kept = kept.str.replace_all(rf"\ue000(\u200c|\u200d)({letter})", "\ue000${1}\ue000${2}")
    bare = kept.str.replace_all("(^|[^\ue000])[\u200c\u200d]", "${1}")
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
