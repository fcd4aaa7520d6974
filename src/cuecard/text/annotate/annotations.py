"""What an annotator gives back, properties of every text computed at first use; and which serves a language."""

from __future__ import annotations

from functools import cached_property
from typing import Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import MissingExtraError, UsageError
from cuecard.registry import unknown_name
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


Backend = Literal["auto", "builtin", "spacy"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def get_annotator(language: str, backend: Backend = "auto") -> Annotator:
    """Return the annotator of a language ("en", "pt-BR" …), or raise an error that says what is missing.

    `auto` takes the built-in annotator for English, which is fast and the same everywhere, and an installed
    spaCy pipeline for any other language; `spacy` parses English, too.
    """
    from cuecard.text.annotate.english import EnglishAnnotator
    from cuecard.text.annotate.spacy_parser import SpacyAnnotator

    code = language.replace("_", "-").split("-")[0].lower()
    lexical = EnglishAnnotator() if code == "en" else None
    if backend == "spacy":
        return SpacyAnnotator(code, lexical)
    if backend not in BACKENDS:
        raise unknown_name("annotator backend", backend, list(BACKENDS))
    if lexical is not None:
        return lexical
    if backend == "auto":
        try:
            return SpacyAnnotator(code)
        except MissingExtraError as error:
            raise NoAnnotatorError(
                f"There is no built-in annotator for language {language!r}, and no parser: {error}"
            ) from None
    raise NoAnnotatorError(
        f"The built-in annotator knows English only, not {language!r}; use backend 'spacy'."
    )
