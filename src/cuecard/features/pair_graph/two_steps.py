"""Walks of two steps between the sentences of every pair, in memory of a fixed size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import ceil, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.data import Instances
from cuecard.data.row_numbers import SIDES, text_numbers
from cuecard.data.space import MEMORY, Space
from cuecard.data.units.buckets import number_in_order
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Ints, chunks, whole_type

Array = npt.NDArray[Any]
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
            self_paired = self.first[rows] == self.second[rows]
            self_paired &= True if self.counted is None else self.counted[rows]
            np.add.at(loops, self.first[rows][self_paired], 2)
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
                np.add.at(times, side[rows] if which is None else side[rows][which[rows]], 1)
        return times

    @property
    def _type(self) -> type[np.signedinteger[Any]]:
        return whole_type(2 * len(self))


def pairs_of(data: Instances) -> SentencePairs:
    """Return the pairs of all splits of a dataset: premise and hypothesis of every instance."""
    n, space = len(data), data.space
    numbers = space.array(np.int64, 2 * n)
    texts = text_numbers(data)
    with space.place() as place:
        keys = (texts[f"{side}_text"][rows] for side in SIDES for rows in chunks(n))
        number_in_order(keys, numbers, place)
    n_nodes = max((int(numbers[rows].max()) + 1 for rows in chunks(2 * n)), default=0)
    narrow = space.joined(whole_type(2 * n), (numbers[rows] for rows in chunks(2 * n)))
    return SentencePairs(narrow[:n], narrow[n:], n_nodes, space=space)


#: Entries of the adjacency matrix between two colours, about.
ENTRIES = 1 << 22
#: More colours would need more open files than a process may have.
MAXIMUM_COLOURS = 8
#: Passes that leave out pairs; each pass leaves fewer.
PASSES = 4


@dataclass(frozen=True, eq=False)
class TwoSteps:
    """Entries of A² at every pair, and how many different pairs there are."""

    walks: Ints
    distinct_pairs: int


def two_step_walks(pairs: SentencePairs) -> TwoSteps:
    """Return A² at every pair, whatever the memory that its edges would take."""
    walks = pairs.space.array(np.int64, len(pairs))
    kept, degree = _joined(pairs)
    n_kept = int(np.count_nonzero(kept))
    distinct = len(pairs) - n_kept  # the pairs of a sentence that has no other pair differ from all others
    if n_kept:
        with pairs.space.place() as place:
            edges = _Edges(_colours(n_kept, place), *_numbered(degree), pairs.space, place)
            edges.divide(pairs, kept, degree)
            del degree
            distinct += edges.join(pairs.counted)
            edges.write_walks(walks)
    return TwoSteps(walks, distinct)


def _colours(n_pairs: int, place: Path | None) -> int:
    """Return how many colours divide pairs into small blocks; one where all of them are in memory."""
    return 1 if place is None else min(max(1, ceil(sqrt(2 * n_pairs / ENTRIES))), MAXIMUM_COLOURS)


def _joined(pairs: SentencePairs) -> tuple[Bools, Numbers]:
    """Return which pairs walks of two steps may join, and how many of these every sentence has."""
    n = len(pairs)
    looped = np.zeros(pairs.n_nodes, dtype=np.bool_)
    for rows in chunks(n):
        looped[pairs.first[rows][pairs.first[rows] == pairs.second[rows]]] = True
    kept, degree = np.ones(n, dtype=np.bool_), pairs.occurrences.copy()
    for _ in range(PASSES):
        left_out = sum(
            _native.prune_pairs(pairs.first[rows], pairs.second[rows], looped, degree, kept[rows])
            for rows in chunks(n)
        )
        if not left_out:
            break
    return kept, degree


def _numbered(degree: Numbers) -> tuple[Numbers, int]:
    """Return the numbers of the nodes that have pairs left, 0, 1, 2, …, and how many they are."""
    left = degree > 0
    numbers = np.cumsum(left, dtype=degree.dtype)
    numbers -= 1
    return numbers, int(np.count_nonzero(left))


def _oriented(first: Array, second: Array, degree: Array) -> tuple[Array, Array]:
    """Return the node of more pairs and the other one of every pair, equal ones by number."""
    swapped = (degree[first] < degree[second]) | ((degree[first] == degree[second]) & (first < second))
    return np.where(swapped, second, first), np.where(swapped, first, second)


def _sparse_rows(rows: Array, columns: Array, entries: Array, n: int) -> tuple[Array, Array, Array]:
    """Return the entries of a sparse matrix of n rows by row: where each begins, columns and entries."""
    order = np.argsort(rows, kind="stable")
    begins = np.zeros(n + 1, dtype=rows.dtype)
    np.cumsum(np.bincount(rows, minlength=n), out=begins[1:])
    return begins, columns[order], entries[order]


class _Edges:
    """The edges between any two colours, as files: a block for each."""

    def __init__(
        self, colours: int, numbers: Numbers, n_nodes: int, space: Space, place: Path | None
    ) -> None:
        self._colours, self._numbers, self._n = colours, numbers, n_nodes
        self._space, self._folder = space, place
        self._blocks: dict[tuple[int, int], list[Array]] = {}
        self._arrays: dict[tuple[str, int, int], Array] = {}
        self._rows: dict[tuple[int, int], tuple[Array, Array, Array]] = {}

    def divide(self, pairs: SentencePairs, kept: Bools, degree: Numbers) -> None:
        """Divide pairs into blocks, by the colour of the sentence of more pairs and that of the other."""
        kinds = [("more", pairs.first.dtype), ("fewer", pairs.first.dtype), ("row", whole_type(len(pairs)))]
        for rows in chunks(len(pairs)):
            places = np.flatnonzero(kept[rows])
            more, fewer = _oriented(pairs.first[rows][places], pairs.second[rows][places], degree)
            records = np.empty(len(places), dtype=kinds)
            records["more"], records["fewer"] = self._numbers[more], self._numbers[fewer]
            records["row"] = places + rows.start
            for block, some in self._by_colours(records):
                self._put(block, some)
        self._numbers = np.empty(0, dtype=self._numbers.dtype)

    def _by_colours(self, records: Array) -> Iterator[tuple[tuple[int, int], Array]]:
        p = self._colours
        if p == 1:
            yield (0, 0), records
            return
        code = (records["more"] % p * p + records["fewer"] % p).astype(np.uint16)
        order = np.argsort(code, kind="stable")  # 16 bits: a radix sort
        ends = np.cumsum(np.bincount(code, minlength=p * p))
        records = records[order]
        for i in np.flatnonzero(np.diff(ends, prepend=0)):
            yield divmod(int(i), p), records[ends[i - 1] if i else 0 : ends[i]]

    def _put(self, block: tuple[int, int], records: Array) -> None:
        if (place := self._place(block)) is None:
            self._blocks.setdefault(block, []).append(records)
            return
        self._blocks[block] = [records[:0]]
        with place.open("ab") as file:
            records.tofile(file)

    def _taken(self, block: tuple[int, int]) -> Array:
        """Return the records of a block, which are not kept any longer."""
        parts = self._blocks.pop(block)
        if (place := self._place(block)) is None:
            return np.concatenate(parts)
        records = np.fromfile(place, dtype=parts[0].dtype)
        place.unlink()
        return records

    def _place(self, block: tuple[int, int]) -> Path | None:
        return None if self._folder is None else self._folder / f"{block[0]} {block[1]}"

    def join(self, counted: Bools | None) -> int:
        """Join pairs of the same two sentences in one edge, with their number; return how many edges there are."""
        edges = 0
        for block in sorted(self._blocks):
            records = self._taken(block)
            size = self._size(block[1])
            keys = (records["more"] // self._colours).astype(np.int64) * size + records[
                "fewer"
            ] // self._colours
            distinct, edge = np.unique(keys, return_inverse=True)
            mass = None if counted is None else counted[records["row"]]
            kind = records["more"].dtype
            times = np.bincount(edge, mass, minlength=len(distinct)).astype(kind)
            more, fewer = (side.astype(kind) for side in np.divmod(distinct, size))
            # A sentence that is paired with itself has two ends there.
            times[(more == fewer) & (block[0] == block[1])] *= 2
            parts = {"more": more, "fewer": fewer, "times": times, "row": records["row"]}
            for name, values in (parts | {"edge": edge.astype(kind)}).items():
                self._arrays[name, *block] = self._space.stored(values)
            edges += len(distinct)
        self._write_rows()
        return edges

    def _write_rows(self) -> None:
        """Write the rows of the adjacency matrix between any two colours."""
        for i in range(self._colours):
            for j in range(self._colours):
                here = self._edges_of((i, j))
                there = self._edges_of((j, i))
                if i == j:
                    other = there[0] != there[1]
                    there = [side[other] for side in there]
                rows = np.concatenate([here[0], there[1]])
                columns, entries = np.concatenate([here[1], there[0]]), np.concatenate([here[2], there[2]])
                parts = _sparse_rows(rows, columns, entries, self._size(i))
                begins, of_rows, values = map(self._space.stored, parts)
                self._rows[i, j] = begins, of_rows, values

    def _edges_of(self, block: tuple[int, int]) -> list[Array]:
        """Return both ends of every edge of a block, and how many pairs it has."""
        nothing = np.empty(0, dtype=next(iter(self._arrays.values())).dtype)
        return [self._arrays.get((name, *block), nothing) for name in ("more", "fewer", "times")]

    def write_walks(self, walks: Ints) -> None:
        """Write A² at every pair."""
        p = self._colours
        mark = np.zeros(self._size(0), dtype=np.int64)
        for i in range(p):
            for j in range(p):
                more, fewer, times = self._edges_of((i, j))
                if not len(times):
                    continue
                total = np.zeros(len(times), dtype=np.int64)
                for k in range(p):
                    _native.add_walks(more, fewer, *self._rows[i, k], *self._rows[j, k], mark, total)
                walks[self._arrays["row", i, j]] = total[self._arrays["edge", i, j]]

    def _size(self, colour: int) -> int:
        """Return how many nodes have a colour; node n has the colour n modulo p."""
        return (self._n - colour + self._colours - 1) // self._colours
