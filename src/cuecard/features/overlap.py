"""Overlap: words that premise and hypothesis share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.errors import UsageError
from cuecard.features import _kernels
from cuecard.features.family import Presence
from cuecard.text import STOP_WORDS, Encoded


@dataclass(frozen=True)
class Overlap:
    """Whether some, all or none of the hypothesis' words that are not stop words occur in the premise."""

    name: ClassVar[str] = "overlap"
    description: ClassVar[str] = "premise and hypothesis share words that are not stop words"
    phrase: ClassVar[str] = "{}"
    #: It compares the two texts, and their relation may be just what the label is about.
    relational: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    def presence(self, data: Encoded) -> Presence:
        """Return three features: some, none or all of the hypothesis' words occur in the premise."""
        if data.instances.task == "text":
            raise UsageError(
                "overlap only applies to datasets with two texts; this dataset holds single texts"
            )
        shared, content = shared_words(data)
        columns = {
            "some words of the premise": shared > 0,
            "no word of the premise": (shared == 0) & (content > 0),
            "only words of the premise": (shared == content) & (content > 0),
        }
        return Presence.from_columns(columns, len(data.instances))


def shared_words(data: Encoded) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return per instance how many distinct content words of the hypothesis the premise has, of how many."""
    shared, total = _kernels.shared_content_words(
        data.premise.ids,
        data.premise.offsets,
        data.hypothesis.ids,
        data.hypothesis.offsets,
        content_words(data),
    )
    return shared, total


def content_words(data: Encoded) -> npt.NDArray[np.bool_]:
    """Return for every word of the vocabulary whether it is not a stop word of the language."""
    function_words = STOP_WORDS.get(data.language, frozenset())  # no list: every word counts
    stop = pl.Series(sorted(function_words), dtype=pl.String)
    return (~data.vocabulary.is_in(stop.implode())).to_numpy()
