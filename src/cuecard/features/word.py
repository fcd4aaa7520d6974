"""Words: the presence of a token type in an instance."""

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
