"""Which instances have which of some cues, in slices of rows: memory holds one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.features import Family
from cuecard.stats.arrays import Bools, Ints
from cuecard.text import Encoded


@dataclass(frozen=True, eq=False)
class CueRows:
    """Which instances (rows) have which cues (columns).

    Attributes:
        n_cues: the number of cues.
        read: yields consecutive slices of all rows, 0/1; no example has rows in two of them.
    """

    n_cues: int
    read: Callable[[], Iterator[sparse.csr_matrix]]

    @classmethod
    def of(cls, matrix: sparse.spmatrix) -> CueRows:
        """Return the rows of a matrix that is in memory: one slice."""
        rows = sparse.csr_matrix(matrix)
        return cls(rows.shape[1], lambda: iter([rows]))

    def slices(self, stop: int | None = None) -> Iterator[tuple[slice, sparse.csr_matrix]]:
        """Yield which rows, and what they have, up to a row."""
        start = 0
        for rows in self.read():
            end = start + rows.shape[0]
            if stop is not None and end >= stop:
                yield slice(start, stop), rows[: stop - start]
                return
            yield slice(start, end), rows
            start = end

    def blocks(self, bounds: Ints) -> Iterator[sparse.csr_matrix]:
        """Yield what the rows between bounds have, however they are sliced; the first bound is 0."""
        slices = self.slices(int(bounds[-1]))
        where, rows = next(slices)
        for start, end in pairwise(bounds.tolist()):
            parts = []
            while where.stop < end:
                parts.append(rows[max(start - where.start, 0) :])
                where, rows = next(slices)
            parts.append(rows[max(start - where.start, 0) : end - where.start])
            yield sparse.vstack(parts, format="csr") if len(parts) > 1 else parts[0]

    def first(
        self, columns: Sequence[int], wanted: Callable[[int, slice], Bools], stop: int, n: int
    ) -> list[Ints]:
        """Return the first n rows before `stop` that have each of some cues and are wanted.

        Args:
            columns: numbers of the cues.
            wanted: returns which rows of a slice are wanted for a cue, by its place in `columns`.
            stop: the row to end before.
            n: how many rows to return for each, at most.
        """
        found = [np.empty(0, dtype=np.int64) for _ in columns]
        for where, rows in self.slices(stop):
            if all(len(some) >= n for some in found):
                break
            here = rows[:, list(columns)].tocsc()
            for i, some in enumerate(found):
                having = np.sort(here.indices[here.indptr[i] : here.indptr[i + 1]])
                having = having[wanted(i, where)[having]][: n - len(some)]
                found[i] = np.concatenate([some, having + where.start]).astype(np.int64)
        return found


def cue_matrix(sample: Encoded, families: Sequence[Family], cues: pl.DataFrame) -> sparse.csr_matrix:
    """Return which instances of the sample have which of the cues: instances × rows of `cues`."""
    n = len(sample.instances)
    starts = np.zeros(n + 1, dtype=np.int64)
    of_families: list[tuple[Ints, Ints]] = []
    for family in families:
        wanted = cues.with_row_index("cue").filter(pl.col("family") == family.name)
        if wanted.is_empty():
            continue
        presence = family.presence(sample)
        names = pl.DataFrame({"feature": presence.names}).with_row_index("column")
        present = wanted.join(names, on="feature", how="inner")
        cue_of = np.full(len(presence.names), -1, dtype=np.int32)
        cue_of[present["column"].to_numpy()] = present["cue"].to_numpy()
        cue = cue_of[presence.indices]
        listed = np.flatnonzero(cue >= 0)
        own_starts = np.searchsorted(listed, presence.indptr)
        of_families.append((own_starts, cue[listed]))
        starts += own_starts
    columns = np.empty(starts[-1], dtype=np.int32)
    filled = starts[:-1].copy()
    for own_starts, cue in of_families:
        sizes = np.diff(own_starts)
        columns[np.repeat(filled - own_starts[:-1], sizes) + np.arange(len(cue))] = cue
        filled += sizes
    return sparse.csr_matrix((np.ones(len(columns), dtype=np.int64), columns, starts), shape=(n, cues.height))
