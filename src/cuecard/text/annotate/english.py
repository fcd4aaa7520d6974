"""The built-in English annotator: words are annotated once, texts are gathered from them."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.text.annotate.annotations import PROPERTIES, Annotations
from cuecard.text.annotate.context import token_flags
from cuecard.text.annotate.entities import named_entities
from cuecard.text.annotate.negation import has_negation
from cuecard.text.annotate.sentiment import sentiment
from cuecard.text.annotate.spelling import has_typo
from cuecard.text.annotate.tense import main_tense
from cuecard.text.annotate.tense.roles import word_roles
from cuecard.text.tokenisers.tokenise import tokenise
from cuecard.text.tokens import Tokens


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
