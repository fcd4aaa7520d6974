"""Length, overlap and position: how the texts of an instance compare with others, whatever they say."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.features.family import Presence
from cuecard.stats import _native
from cuecard.stats.arrays import chunks
from cuecard.text import STOP_WORDS, Encoded
from cuecard.wording import only_applies_to, plural


@dataclass(frozen=True)
class Lengths:
    """Bins that each hold about the same share of the training instances, named by their range of tokens.

    `edges` are the last lengths of all bins but the open one; they are learned from the training instances.
    """

    name: ClassVar[str] = "length"
    description: ClassVar[str] = "how many tokens, and the longest or shortest choice"
    phrase: ClassVar[str] = "{}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    bins: int = 5
    edges: tuple[int, ...] | None = None

    def learned(self, data: Encoded) -> Lengths:
        """Return the family with bins of about equal share; ties merge bins rather than split a length."""
        in_train, offsets = data.instances.in_splits("train"), data.scoped.offsets
        often = np.zeros(0, dtype=np.int64)
        for rows in chunks(len(in_train)):
            lengths = np.diff(offsets[rows.start : rows.stop + 1])[in_train[rows]]
            own = np.bincount(lengths, minlength=len(often))
            own[: len(often)] += often
            often = own
        if not len(often):  # no training instance
            return replace(self, edges=())
        below = np.cumsum(often)
        shares = np.arange(1, self.bins) / self.bins * below[-1]
        edges = np.unique(np.searchsorted(below, shares, side="left"))
        return replace(self, edges=tuple(int(edge) for edge in edges if edge < len(below) - 1))

    def presence(self, data: Encoded) -> Presence:
        """Return the bin of every instance and, for grouped tasks, whether it is the longest or shortest."""
        if self.edges is None:
            return self.learned(data).presence(data)
        lengths = data.scoped.lengths
        bins = np.searchsorted(self.edges, lengths, side="left")
        columns = {name: bins == b for b, name in enumerate(_bin_names(self.edges))}
        if data.instances.grouped:
            columns |= extremes(lengths, data.instances)
        return Presence.from_columns(columns, len(lengths))


def _bin_names(edges: tuple[int, ...]) -> list[str]:
    if not edges:
        return ["any number of tokens"]
    first = f"up to {plural(edges[0], 'token')}" if edges[0] else "no tokens"
    between = [
        plural(high, "token") if low + 1 == high else f"{low + 1:,} to {plural(high, 'token')}"
        for low, high in pairwise(edges)
    ]
    return [first, *between, f"{edges[-1] + 1:,} or more tokens"]


def extremes(lengths: npt.NDArray[np.int64], instances: Instances) -> dict[str, npt.NDArray[np.bool_]]:
    """Return whether an instance alone is the longest, or the shortest, of its example."""
    starts = example_starts(instances)
    codes = instances.example_codes
    columns = {}
    for name, reduce in (("longest", np.maximum.reduceat), ("shortest", np.minimum.reduceat)):
        extreme = lengths == reduce(lengths, starts)[codes]
        alone = np.add.reduceat(extreme.astype(np.int64), starts)[codes] == 1
        columns[name] = extreme & alone
    return columns


def example_starts(instances: Instances) -> npt.NDArray[np.int64]:
    """Return the first row of every example."""
    codes = instances.example_codes
    return np.flatnonzero(np.diff(codes, prepend=-1)).astype(np.int64)


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
    return _native.overlap_counts(
        data.premise.ids,
        data.premise.offsets,
        data.hypothesis.ids,
        data.hypothesis.offsets,
        content_words(data),
    )


def content_words(data: Encoded) -> npt.NDArray[np.bool_]:
    """Return for every word of the vocabulary whether it is not a stop word of the language."""
    function_words = STOP_WORDS.get(data.language, frozenset())  # no list: every word counts
    stop = pl.Series(sorted(function_words), dtype=pl.String)
    return (~data.vocabulary.is_in(stop.implode())).to_numpy()


@dataclass(frozen=True)
class Positions:
    """Being the first, second, … choice; only where the order of the choices is part of the data."""

    name: ClassVar[str] = "position"
    description: ClassVar[str] = "the place of a choice among the choices"
    phrase: ClassVar[str] = "the position of {}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None
    #: The place of a choice is no property of its text.
    unit: ClassVar[str] = "example"

    def presence(self, data: Encoded) -> Presence:
        """Return the position of every choice."""
        if data.instances.task != "choice":
            raise UsageError(f"position {only_applies_to(['choice'], data.instances.task)}")
        positions = data.instances.table["position"].to_numpy()
        names = {f"choice {p + 1}": positions == p for p in range(int(positions.max(initial=-1)) + 1)}
        return Presence.from_columns(names, len(positions))
