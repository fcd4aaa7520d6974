"""Pieces of a dataset summarised on a Ray cluster: a task for each, done again where a machine is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy.typing as npt
import polars as pl

from cuecard.data import Instances, Scan
from cuecard.data.exact import SIDES
from cuecard.data.fingerprint import Hashes
from cuecard.data.scanning import Piece
from cuecard.data.units.in_parts import Texts
from cuecard.engines.copies import WORDS, FoldedRows, Scope, folded
from cuecard.engines.store import Summary, compact
from cuecard.engines.stream import Stream, Summarise, surveyed, whole_table
from cuecard.engines.sums import Sums, added, checkpoints, parted, put_checkpoint, reduced, sums_of
from cuecard.engines.texts_on_ray import TextsOnRay
from cuecard.errors import CueCardError
from cuecard.stats.arrays import Ints

#: Times that a task is done again where the machine that does it, or that has what it returned, is lost.
RETRIES = 5
#: Pieces at a time for every processor of the cluster: what they return waits in memory until it is taken.
AHEAD = 2
#: Results that one task merges: the tree has this many branches at every node.
BRANCHES = 8
#: Seconds after which sums of the pieces that are done are written here: about what an interrupted run repeats.
CHECKPOINT = 60.0
#: Parts by key that counts are merged in, at most.
MOST_PARTS = 256


class OnRay:
    """Does the pieces of a stage on a cluster that is connected."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray
        self._folded: dict[int, Any] = {}

    def __call__(self, stream: Stream, stage: str, summarise: Summarise, pieces: list[int]) -> None:
        """Do the pieces; what they say is kept as soon as it is there.

        The words of the survey stay where they are, until copies have been found.
        """
        shared = self.ray.put((stream.to_read(), summarise))
        if summarise == surveyed:
            work = self.remote(_survey, num_returns=2)
            for piece, [reference, kept] in self.done(lambda i: work.remote(shared, i), pieces):
                stream.store.put(stage, piece, self.result(reference))
                self._folded[piece] = kept
            return
        work = self.remote(_summary)
        for piece, [reference] in self.done(lambda i: [work.remote(shared, i)], pieces):
            stream.store.put(stage, piece, self.result(reference))

    def texts(
        self,
        stream: Stream,
        pieces: list[int],
        scope: Scope,
        size: int,
        hashes: Callable[[], Iterator[Hashes]],
    ) -> Texts:
        """Return the texts of pieces, which stay on the cluster; those of an earlier run are read again."""
        again = self.remote(_folded_rows)
        shared = self.ray.put((stream.to_read(), folded))
        for piece in pieces:
            if piece not in self._folded:
                self._folded[piece] = again.remote(shared, piece)
        return TextsOnRay(self, [self._folded[piece] for piece in pieces], scope, size, hashes)

    def forget_texts(self) -> None:
        """Let go of the texts on the cluster."""
        self._folded.clear()

    def add(self, stream: Stream, stage: str, summarise: Summarise, sums: Sums, left: list[int]) -> None:
        """Do the pieces and add up their tables where they are, in parts by key: only what is left of them comes here.

        Every `CHECKPOINT` seconds, the sums so far come here as well: an interrupted run continues there.
        """
        n = min(self._processors, MOST_PARTS)
        work = self.remote(_parted_summary, num_returns=1 + n)
        shared = self.ray.put((stream.to_read(), summarise, sums, n))
        how = self.ray.put(sums)
        merge = self.remote(_added)

        def empty() -> list[Tree]:
            return [Tree(lambda nodes: merge.remote(how, False, *nodes)) for _ in range(n)]

        def merged(trees: list[Tree], *, last: bool) -> Summary:
            ends = [merge.remote(how, last, *tree.nodes()) for tree in trees]
            return _joined(list(map(self.result, ends)))

        kept: dict[int, Summary] = {}
        trees, written = empty(), time.monotonic()
        for piece, [own, *parts] in self.done(lambda i: work.remote(shared, i), left):
            kept[piece] = self.result(own)
            for tree, part in zip(trees, parts, strict=True):
                tree.add(part)
            if time.monotonic() - written >= CHECKPOINT:
                put_checkpoint(stream.store, stage, kept, merged(trees, last=False))
                kept, trees, written = {}, empty(), time.monotonic()
        for of_pieces, summed in checkpoints(stream.store, stage):
            kept |= of_pieces
            for tree, part in zip(trees, parted(summed, sums, n)[1], strict=True):
                tree.add(self.ray.put(part))
        # The sums are there before any piece counts as done.
        stream.store.put(sums_of(stage), 0, merged(trees, last=True))
        for piece, summary in kept.items():
            if not stream.store.has(stage, piece):
                stream.store.put(stage, piece, summary)

    def observed(
        self, stream: Stream, observe: Callable[[Instances], Any], merge: Callable[[Any, Any], Any]
    ) -> Any:
        """Return what is observed of all pieces, merged as a tree on the cluster."""
        work, join = self.remote(_observation), self.remote(_merged)
        shared = self.ray.put((stream.to_read(), observe, merge))
        tree = Tree(lambda nodes: join.remote(shared, *nodes))
        pieces = list(range(len(stream.scan.pieces)))
        for _, [reference] in self.done(lambda i: [work.remote(shared, i)], pieces):
            self.result(reference)
            tree.add(reference)
        return self.result(join.remote(shared, *tree.nodes()))

    def rows(self, scan: Scan, wanted: Mapping[Piece, Ints]) -> list[pl.DataFrame]:
        """Return some rows of pieces with their texts, a table for each piece."""
        work, shared = self.remote(_rows), self.ray.put(scan)
        pieces, tables = list(wanted), {}
        for i, [reference] in self.done(
            lambda i: [work.remote(shared, pieces[i], wanted[pieces[i]])], list(range(len(pieces)))
        ):
            tables[i] = self.result(reference)
        return [tables[i] for i in range(len(pieces))]

    @property
    def _processors(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def remote(self, function: Callable[..., Any], **options: Any) -> Any:
        """Return a function that is done on the cluster, again where its machine is lost."""
        return self.ray.remote(max_retries=RETRIES, num_cpus=1, **options)(function)

    def done(
        self, begin: Callable[[int], Sequence[Any]], pieces: list[int]
    ) -> Iterator[tuple[int, Sequence[Any]]]:
        """Begin pieces, a few more than can be worked on, and yield each when it is done."""
        ahead = self._processors * AHEAD
        waiting = list(pieces[::-1])
        running: dict[Any, tuple[int, Sequence[Any]]] = {}
        while waiting or running:
            while waiting and len(running) < ahead:
                piece = waiting.pop()
                returned = begin(piece)
                running[returned[0]] = piece, returned
            done, _ = self.ray.wait(list(running))
            for reference in done:
                yield running.pop(reference)

    def result(self, reference: Any) -> Any:
        """Return what a task has returned, or raise what it has raised."""
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, CueCardError):  # it names the file and the row
                raise error.cause from None
            raise


class Tree:
    """Results that are merged `BRANCHES` at a time as they come: of each height, fewer than that are left."""

    def __init__(self, merge: Callable[[list[Any]], Any]) -> None:
        self._merge = merge
        self._levels: list[list[Any]] = []

    def add(self, node: Any, height: int = 0) -> None:
        """Take a result, and merge it with others of its height where there are enough."""
        if height == len(self._levels):
            self._levels.append([])
        level = self._levels[height]
        level.append(node)
        if len(level) == BRANCHES:
            self._levels[height] = []
            self.add(self._merge(level), height + 1)

    def nodes(self) -> list[Any]:
        """Return the results that are left to merge."""
        return [node for level in self._levels for node in level]


def _joined(parts: Sequence[Summary]) -> Summary:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: pl.concat(part[name] for part in parts if name in part) for name in names}


def _summary(shared: tuple[Stream, Summarise], piece: int) -> Summary:
    stream, summarise = shared
    return stream.summary(piece, summarise)


def _survey(shared: tuple[Stream, Summarise], piece: int) -> tuple[Summary, FoldedRows]:
    summary = dict(_summary(shared, piece))
    words = summary.pop(WORDS)
    return summary, FoldedRows.of(_arrays(summary["rows"]), words)


def _folded_rows(shared: tuple[Stream, Summarise], piece: int) -> FoldedRows:
    summary = _summary(shared, piece)
    return FoldedRows.of(_arrays(summary["rows"]), summary[WORDS])


def _arrays(rows: pl.DataFrame) -> dict[str, npt.NDArray[Any]]:
    return {name: rows[name].to_numpy() for name in ("begins", *(f"{side}_folded" for side in SIDES))}


def _rows(scan: Scan, piece: Piece, rows: Ints) -> pl.DataFrame:
    return compact(whole_table(scan, piece)[rows])


def _parted_summary(shared: tuple[Stream, Summarise, Sums, int], piece: int) -> list[Summary]:
    stream, summarise, sums, n = shared
    kept, parts = parted(stream.summary(piece, summarise), sums, n)
    return [kept, *parts]


def _added(sums: Sums, last: bool, *parts: Summary) -> Summary:
    return added(parts, sums, last=last)


def _observation(shared: tuple[Stream, Callable[..., Any], Callable[..., Any]], piece: int) -> Any:
    stream, observe, merge = shared
    return stream.observation(piece, observe, merge)


def _merged(shared: tuple[Stream, Callable[..., Any], Callable[..., Any]], *observations: Any) -> Any:
    return reduced(observations, shared[2])
