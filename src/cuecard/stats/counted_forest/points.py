"""The distinct rows of a table, and which row is which."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class Points:
    """Distinct rows: row i of the table is `values[index[i]]`."""

    values: Floats
    index: Ints

    def __len__(self) -> int:
        return len(self.values)

    def counts(self, labels: npt.ArrayLike, n_labels: int, weights: Floats | None = None) -> npt.NDArray[Any]:
        """Return how often every point carries every label, or with how much weight."""
        codes = np.asarray(labels, dtype=np.int64)
        flat = np.bincount(self.index * n_labels + codes, weights, minlength=len(self) * n_labels)
        return flat.reshape(len(self), n_labels)


def distinct_points(rows: npt.ArrayLike) -> Points:
    """Return the distinct rows of a table of numbers in lexicographic order, with every row's number."""
    table = np.asarray(rows, dtype=np.float64)
    index = np.zeros(len(table), dtype=np.int64)
    for column in table.T:
        values, codes = np.unique(column, return_inverse=True)
        index = np.unique(index * len(values) + codes, return_inverse=True)[1].astype(np.int64)
    where = np.empty(int(index.max(initial=-1)) + 1, dtype=np.int64)
    where[index] = np.arange(len(table))
    return Points(table[where], index)
