"""Words and n-grams: the presence of a token type, or of a run of tokens, in an instance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from cuecard.features.family import FeatureCounts, Presence
from cuecard.text import Encoded, presence, presence_counts


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
        counts = presence_counts(tokens, classes, n_classes)
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
        return FeatureCounts(runs.names, presence_counts(runs, classes, n_classes), runs.ids, runs.offsets)


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
