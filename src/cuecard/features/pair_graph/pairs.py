"""Which two sentences every pair has, by number, and how often each sentence occurs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.data import Instances
from cuecard.data.fingerprint import Hashes
from cuecard.data.survey import NumberedInstances
from cuecard.data.units.buckets import number_in_order
from cuecard.data.units.copies import distinct
from cuecard.features.pair_graph import _edges
from cuecard.features.pair_graph.graph import sentence_codes
from cuecard.features.pair_graph.space import MEMORY, Space, whole_type
from cuecard.stats.arrays import Bools, chunks

Numbers = npt.NDArray[np.signedinteger[Any]]


@dataclass(frozen=True, eq=False)
class SentencePairs:
    """The numbers of both sentences of every pair, from 0 to `n_nodes` − 1.

    Only pairs that are `counted` are edges of the graph, all where it is None; the others are asked about.
    """

    first: Numbers
    second: Numbers
    n_nodes: int
    counted: Bools | None = None
    space: Space = MEMORY

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def frequency(self) -> Numbers:
        """How often every sentence occurs in counted pairs, on either side."""
        return self._occurrences(self.counted)

    @cached_property
    def occurrences(self) -> Numbers:
        """How often every sentence occurs in any pair, on either side."""
        return self.frequency if self.counted is None else self._occurrences(None)

    @cached_property
    def loops(self) -> Numbers:
        """Twice the number of times that every sentence is paired with itself in counted pairs."""
        loops = np.zeros(self.n_nodes, dtype=self._type)
        for rows in chunks(len(self)):
            own = self.first[rows] == self.second[rows]
            own &= True if self.counted is None else self.counted[rows]
            np.add.at(loops, self.first[rows][own], 2)
        return loops

    @property
    def self_pairs(self) -> int:
        """How many pairs are of a sentence with itself."""
        ranges = chunks(len(self))
        return sum(int(np.count_nonzero(self.first[rows] == self.second[rows])) for rows in ranges)

    def _occurrences(self, which: Bools | None) -> Numbers:
        times = np.zeros(self.n_nodes, dtype=self._type)
        for rows in chunks(len(self)):
            for side in (self.first, self.second):
                _edges.count(side[rows] if which is None else side[rows][which[rows]], times)
        return times

    @property
    def _type(self) -> type[np.signedinteger[Any]]:
        return whole_type(2 * len(self))


def pairs_of(data: Instances, space: Space = MEMORY) -> SentencePairs:
    """Return the pairs of all splits of a dataset: premise and hypothesis of every instance."""
    if isinstance(data, NumberedInstances):
        n = len(data)
        numbers = space.array(whole_type(2 * n), 2 * n)
        with space.place() as place:
            _write_numbers(data, numbers, place)
        n_nodes = max((int(numbers[rows].max()) + 1 for rows in chunks(2 * n)), default=0)
        return SentencePairs(numbers[:n], numbers[n:], n_nodes, space=space)
    first, second, n_nodes = sentence_codes(data.table["premise"], data.table["hypothesis"])
    return SentencePairs(first, second, n_nodes, space=space)


def _write_numbers(data: NumberedInstances, numbers: Numbers, place: Path | None) -> None:
    """Write the number of every sentence, those of the first side before those of the second."""
    if place is not None:
        number_in_order(_hashes(data), numbers, place / "numbering")
    else:
        numbers[:] = distinct(np.concatenate([*_hashes(data)]))[1]


def _hashes(data: NumberedInstances) -> Iterator[Hashes]:
    """Yield what stands for the sentences of the first side, then of the second, in parts."""
    for side in ("premise", "hypothesis"):
        hashes = data.own_numbers[f"{side}_text"].to_numpy()
        for rows in chunks(len(data)):
            yield hashes[rows]
