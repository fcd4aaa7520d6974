"""The built-in English annotator: words are annotated once, texts are gathered from them."""

from __future__ import annotations

import unicodedata
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.sentences import composed, utf8
from cuecard.errors import UsageError
from cuecard.stats import _native
from cuecard.stats import _native as k
from cuecard.text.annotate.annotations import PROPERTIES, Annotations
from cuecard.text.annotate.dictionaries import has_typo, sentiment
from cuecard.text.annotate.entities import named_entities
from cuecard.text.annotate.word_roles import word_roles, words
from cuecard.text.bytewise import code_point_kinds, default_rule
from cuecard.text.tokenisers import tokenise
from cuecard.text.tokens import Tokens


def token_flags(texts: pl.Series, tokens: Tokens) -> npt.NDArray[np.uint8]:
    """Return the flags of every default token: `CAPITAL`, `CAPITALS`, `OPENS`, `PAUSE` … of `stats._native`.

    The texts are read once more, byte by byte, under the tokeniser's own rule: flags and tokens line up.
    """
    data, offsets = utf8(composed(texts))
    kinds, signs = _ascii_tables()
    if data.size and data.max() > 127:
        seen = k.code_points_seen(data)
        seen[:128] = True
        kinds = code_point_kinds(default_rule, seen)
        signs = np.zeros(len(kinds), dtype=np.uint8)
        points = np.flatnonzero(seen)
        signs[points] = [_sign(chr(point)) for point in points]
    flags, counts = k.context(data, offsets, kinds, signs, len(tokens.ids))
    if not np.array_equal(counts, tokens.lengths):
        raise UsageError("Annotating needs the tokens of these very texts under the default tokenisation.")
    checked: npt.NDArray[np.uint8] = flags
    return checked


@cache
def _ascii_tables() -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    characters = [chr(point) for point in range(128)]
    kinds = np.array([default_rule(character) for character in characters], dtype=np.uint8)
    return kinds, np.array([_sign(character) for character in characters], dtype=np.uint8)


def _sign(character: str) -> int:
    """Return what a character says: the case of a letter, or the flags it sets on the token after it."""
    category = unicodedata.category(character)
    if category in ("Lu", "Lt"):
        return k.UPPER
    if category[0] == "L":
        return k.SMALL
    if character in ".!?…":
        return k.OPENS
    if character in "-‐‑":
        return k.JOINED
    if character in "\"“”„«»'‘’`":
        return k.QUOTED
    if character in ",;:" or category in ("Ps", "Pe", "Pd"):
        return k.PAUSE
    return k.MONEY if category == "Sc" else 0


def has_negation(tokens: Tokens) -> npt.NDArray[np.bool_]:
    """Return which texts negate a clause, as a parser's `neg` relation does; "no" before a noun does not."""
    vocabulary = tokens.vocabulary
    negator = vocabulary.is_in(words("negation", "negator")) | vocabulary.str.ends_with("n't")
    first = vocabulary.is_in(words("negation", "before_comparative"))
    second = vocabulary.is_in(words("negation", "comparative"))
    negated: npt.NDArray[np.bool_] = _native.any_word_or_pair(
        tokens.ids, tokens.offsets, negator.to_numpy(), first.to_numpy(), second.to_numpy()
    )
    return negated


def main_tense(
    tokens: Tokens, roles: npt.NDArray[np.uint32], flags: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int8]:
    """Return 0 none, 1 past, 2 present, 3 future for every text, of the finite verb of its main clause.

    A modal verb (can, would …), an imperative and a text without a finite verb have none.
    """
    tenses: npt.NDArray[np.int8] = _native.tenses(tokens.ids, tokens.offsets, roles, flags)
    return tenses


class EnglishAnnotator:
    """Tense, negation and entities from our own word lists; sentiment and typos need the extra `english`."""

    properties = frozenset(PROPERTIES)

    def annotate(self, texts: pl.Series, tokens: Tokens | None = None) -> Annotations:
        """Return the texts' properties; `tokens` are their default tokens where they are at hand."""
        return EnglishAnnotations(texts, tokens)


class EnglishAnnotations(Annotations):
    """Properties of English texts, each computed at first use."""

    def __init__(self, texts: pl.Series, tokens: Tokens | None = None) -> None:
        super().__init__("en", "The built-in annotator")
        self._texts = texts
        self._tokens = tokens

    @cached_property
    def sentiment(self) -> npt.NDArray[np.int8]:
        """Sign of the sum of VADER's word polarities."""
        return sentiment(self._default_tokens)

    @cached_property
    def tense(self) -> npt.NDArray[np.int8]:
        """Tense of the finite verb of the main clause."""
        return main_tense(self._default_tokens, self._roles, self._flags)

    @cached_property
    def negation(self) -> npt.NDArray[np.bool_]:
        """Whether the text has not, never, a word in n't or "no longer"."""
        return has_negation(self._default_tokens)

    @cached_property
    def entities(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Whether a thing of each type is named, from gazetteers, capitals and digits."""
        return named_entities(self._default_tokens, self._roles, self._flags)

    @cached_property
    def typo(self) -> npt.NDArray[np.bool_]:
        """Whether a word without a capital is in no dictionary."""
        return has_typo(self._default_tokens, self._flags)

    @cached_property
    def _default_tokens(self) -> Tokens:
        return self._tokens if self._tokens is not None else tokenise(self._texts)

    @cached_property
    def _flags(self) -> npt.NDArray[np.uint8]:
        return token_flags(self._texts, self._default_tokens)

    @cached_property
    def _roles(self) -> npt.NDArray[np.uint32]:
        return word_roles(self._default_tokens.vocabulary)
