"""Families read off the words: words and n-grams, sentiment, tense, negation, entities, typos."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cuecard.features.family import FeatureCounts, Presence
from cuecard.text import Encoded, presence, presence_counts
from cuecard.text.annotate import TENSES, Annotations


@dataclass(frozen=True)
class Words:
    """Every token type is a feature, named by itself."""

    name: ClassVar[str] = "word"
    description: ClassVar[str] = "a word occurs"
    phrase: ClassVar[str] = "“{}”"
    languages: ClassVar[frozenset[str] | None] = None

    def presence(self, data: Encoded) -> Presence:
        """Return which instances contain which words."""
        indptr, indices = presence(data.scoped)
        return Presence(data.vocabulary, indptr, indices)

    def counts(self, data: Encoded, classes: npt.NDArray[np.int32], n_classes: int) -> FeatureCounts:
        """Return how many instances of every class contain each word, without building the matrix."""
        tokens = data.scoped
        counts = presence_counts(tokens, classes, n_classes, engine=data.instances.space.engine)
        return FeatureCounts(data.vocabulary.gather, counts, tokens.ids, tokens.offsets)


@dataclass(frozen=True)
class Bigrams:
    """Every run of two tokens is a feature, named by its words: "is sleeping"."""

    name: ClassVar[str] = "bigram"
    description: ClassVar[str] = "two words follow each other"
    phrase: ClassVar[str] = "“{}”"
    languages: ClassVar[frozenset[str] | None] = None
    n: ClassVar[int] = 2

    def presence(self, data: Encoded) -> Presence:
        """Return which instances contain which n-grams."""
        runs = data.ngrams(self.n)
        return Presence(runs.names(), *presence(runs))

    def counts(self, data: Encoded, classes: npt.NDArray[np.int32], n_classes: int) -> FeatureCounts:
        """Return how many instances of every class contain each n-gram; names are written at first use."""
        runs = data.ngrams(self.n)
        counts = presence_counts(runs, classes, n_classes, engine=data.instances.space.engine)
        return FeatureCounts(runs.names, counts, runs.ids, runs.offsets)


@dataclass(frozen=True)
class Trigrams(Bigrams):
    """Every run of three tokens."""

    name: ClassVar[str] = "trigram"
    description: ClassVar[str] = "three words follow each other"
    n: ClassVar[int] = 3


@dataclass(frozen=True)
class FourGrams(Bigrams):
    """Every run of four tokens."""

    name: ClassVar[str] = "4-gram"
    description: ClassVar[str] = "four words follow each other"
    n: ClassVar[int] = 4


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
    extra: ClassVar[str] = "english"

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
    extra: ClassVar[str] = "english"

    @staticmethod
    def columns(annotations: Annotations) -> Flagged:
        """Return the one feature."""
        return {"typo": annotations.typo}
