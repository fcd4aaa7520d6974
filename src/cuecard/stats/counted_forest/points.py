"""The distinct rows of a table, and which row is which."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct rows: row i of the table is `values[index[i]]`."""

    values: Floats
    index: npt.NDArray[np.signedinteger[Any]]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def rows(self) -> Floats:
        """The table itself."""
        rows: Floats = self.values[self.index]
        return rows

    def counts(self, labels: npt.ArrayLike, n_labels: int, weights: Floats | None = None) -> npt.NDArray[Any]:
        """Return how often every point carries every label, or with how much weight."""
        codes = np.asarray(labels, dtype=np.int64)
        flat = np.bincount(self.index * n_labels + codes, weights, minlength=len(self) * n_labels)
        return flat.reshape(len(self), n_labels)


def distinct_points(rows: npt.ArrayLike) -> Points:
    """Return the distinct rows of a table of numbers in lexicographic order, with every row's number."""
    table = np.asarray(rows, dtype=np.float64)
    index: Ints = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        values, codes = np.unique(column, return_inverse=True)
        index = np.unique(index * len(values) + codes, return_inverse=True)[1].astype(np.int64)
    where = np.empty(int(index.max(initial=-1)) + 1, dtype=np.int64)
    where[index] = np.arange(len(table))
    return Points(table[where], index)


def points_in_parts(
    parts: Iterable[tuple[slice, npt.NDArray[Any]]], index: npt.NDArray[np.signedinteger[Any]]
) -> Points:
    """Return the distinct rows of a table that comes in parts, each with where it is; `index` is written.

    They are those of `distinct_points`, of a table that is never in memory.
    """
    ranges, found = [], []
    for where, table in parts:
        own = distinct_points(table)
        index[where] = own.index
        ranges.append(where)
        found.append(own.values)
    if not found:
        return Points(np.empty((0, 0)), index)
    together = distinct_points(np.concatenate(found))
    start = 0
    for where, values in zip(ranges, found, strict=True):
        index[where] = together.index[start : start + len(values)][index[where]]
        start += len(values)
    return Points(together.values, index)
