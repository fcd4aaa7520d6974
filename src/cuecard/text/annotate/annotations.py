"""What an annotator gives back: properties of every text, each computed at first use."""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import UsageError
from cuecard.text.tokens import Tokens

#: Names of the properties, as attributes of `Annotations`.
PROPERTIES = ("sentiment", "tense", "negation", "entities", "typo")
#: Tenses in the order of their numbers in `Annotations.tense`.
TENSES = ("none", "past", "present", "future")


class NoAnnotatorError(UsageError):
    """Nothing installed annotates this property in this language; the message says what would."""


class Annotations:
    """Properties of every text; what the annotator does not support raises `NoAnnotatorError` with the reason."""

    def __init__(self, language: str, source: str) -> None:
        self.language = language
        self.source = source

    @cached_property
    def sentiment(self) -> npt.NDArray[np.int8]:
        """Sign of the sum of word polarities: -1 negative, 0 neutral, 1 positive."""
        raise self._lacking("sentiment")

    @cached_property
    def tense(self) -> npt.NDArray[np.int8]:
        """Tense of the main verb, an index into `TENSES`: 0 none, 1 past, 2 present, 3 future."""
        raise self._lacking("tense")

    @cached_property
    def negation(self) -> npt.NDArray[np.bool_]:
        """Whether a clause is negated."""
        raise self._lacking("negation")

    @cached_property
    def entities(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Whether a thing of each type is named: `any`, and PERSON, ORG, LOC … as far as they are known."""
        raise self._lacking("entities")

    @cached_property
    def typo(self) -> npt.NDArray[np.bool_]:
        """Whether a word is misspelt."""
        raise self._lacking("typo")

    def rows(self, first: int, last: int) -> Annotations:
        """Return the properties of the texts from `first` up to, not including, `last`, of which none is known yet."""
        raise NotImplementedError

    def _lacking(self, name: str) -> NoAnnotatorError:
        return NoAnnotatorError(f"{self.source} has no {name} for the language {self.language!r}.")


class Annotator(Protocol):
    """Tells properties of texts in one language."""

    @property
    def properties(self) -> frozenset[str]:
        """Names of the properties it supports, out of `PROPERTIES`."""
        ...

    def annotate(self, texts: pl.Series, tokens: Tokens | None = None) -> Annotations:
        """Return the texts' properties; `tokens` are their default tokens where they are at hand."""
        ...
