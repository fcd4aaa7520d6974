"""Families read off the words: sentiment, tense, negation, entities, typos.

With the scope `both`, an instance has a feature if its premise or its hypothesis has it.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cuecard.features.family import Presence
from cuecard.text import Encoded
from cuecard.text.annotate import TENSES, Annotations

Flagged = dict[str, npt.NDArray[np.bool_]]


@dataclass(frozen=True)
class Annotated:
    """A family whose features come from an annotator of the texts' language."""

    languages: ClassVar[frozenset[str] | None] = None
    phrase: ClassVar[str] = "{}"

    def presence(self, data: Encoded) -> Presence:
        """Return which instances have which property."""
        columns: Flagged = {}
        for told in data.annotations:
            for name, has_it in self.columns(told).items():
                columns[name] = columns[name] | has_it if name in columns else has_it
        return Presence.from_columns(columns, len(data.instances))

    @staticmethod
    @abstractmethod
    def columns(annotations: Annotations) -> Flagged:
        """Return the features as boolean columns."""


@dataclass(frozen=True)
class Sentiment(Annotated):
    """Positive, negative or neutral: the sign of the sum of word polarities."""

    name: ClassVar[str] = "sentiment"
    description: ClassVar[str] = "the sign of the sum of the words' polarities"
    phrase: ClassVar[str] = "{} words"

    @staticmethod
    def columns(annotations: Annotations) -> Flagged:
        """Return the three signs."""
        sign = annotations.sentiment
        return {"positive": sign > 0, "negative": sign < 0, "neutral": sign == 0}


@dataclass(frozen=True)
class Tense(Annotated):
    """Past, present or future of the main verb."""

    name: ClassVar[str] = "tense"
    description: ClassVar[str] = "the tense of the main verb"
    phrase: ClassVar[str] = "a verb in the {}"

    @staticmethod
    def columns(annotations: Annotations) -> Flagged:
        """Return the tenses; a text without a finite verb has none."""
        return {name: annotations.tense == code for code, name in enumerate(TENSES) if name != "none"}


@dataclass(frozen=True)
class Negation(Annotated):
    """A clause is negated."""

    name: ClassVar[str] = "negation"
    description: ClassVar[str] = "a clause is negated"
    phrase: ClassVar[str] = "a {}"

    @staticmethod
    def columns(annotations: Annotations) -> Flagged:
        """Return the one feature."""
        return {"negation": annotations.negation}


@dataclass(frozen=True)
class Entities(Annotated):
    """Something of a type is named: a person, an organisation, a place, a time, a number."""

    name: ClassVar[str] = "entity"
    description: ClassVar[str] = "a person, an organisation, a place, a time or a number is named"
    phrase: ClassVar[str] = "an entity ({})"

    @staticmethod
    def columns(annotations: Annotations) -> Flagged:
        """Return one feature per type."""
        return dict(annotations.entities)


@dataclass(frozen=True)
class Typos(Annotated):
    """At least one word is misspelt."""

    name: ClassVar[str] = "typo"
    description: ClassVar[str] = "a word is misspelt"
    phrase: ClassVar[str] = "a {}"
    content_blind: ClassVar[bool] = True

    @staticmethod
    def columns(annotations: Annotations) -> Flagged:
        """Return the one feature."""
        return {"typo": annotations.typo}
