"""Compiled sparse sums: the products that every step of the solvers is made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from cuecard._compiled import njit

__all__ = ["add_by_column", "gather_sums"]

# More pieces than most machines have cores: uneven pieces then still share the work well.
_PIECES = 32
# Below this many entries, waking the threads costs more than they save.
_WORTH_THREADS = 200_000


def gather_sums(
    indptr: np.ndarray[Any, Any],
    indices: np.ndarray[Any, Any],
    x: np.ndarray[Any, Any],
    out: np.ndarray[Any, Any],
) -> None:
    """Fill ``out[i]`` with the sum of ``x`` over the indices of row i: a binary matrix times a vector.

    Every row is summed by one thread in the order of its entries, so the result does not depend on threads. A core is
    0.8 × as fast as scipy's product; it is here because it takes all cores and a third of the memory: there is no array
    of ones.
    """
    if len(indices) < _WORTH_THREADS:
        _sums(indptr, indices, x, out, 0, len(out))
    else:
        _sums_in_pieces(indptr, indices, x, out, _even_pieces(indptr))


def _even_pieces(indptr: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Row numbers that cut the matrix into contiguous pieces of about equal work."""
    rows = len(indptr) - 1
    cuts = np.searchsorted(indptr, np.linspace(0, indptr[-1], _PIECES + 1).astype(indptr.dtype))
    cuts[0], cuts[-1] = 0, rows
    return np.minimum(cuts, rows).astype(np.int64)


@njit(cache=True, nogil=True)
def _sums(indptr: Any, indices: Any, x: Any, out: Any, first: int, last: int) -> None:
    for i in range(first, last):
        total = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            total += x[indices[p]]
        out[i] = total


@njit(cache=True, nogil=True, parallel=True)
def _sums_in_pieces(indptr: Any, indices: Any, x: Any, out: Any, bounds: Any) -> None:
    for piece in prange(len(bounds) - 1):
        _sums(indptr, indices, x, out, bounds[piece], bounds[piece + 1])


@njit(cache=True, nogil=True)
def add_by_column(indptr: Any, indices: Any, values: Any, x: Any, out: Any, squared: bool) -> None:
    """Add ``values[p] · x[i]`` of every entry p of row i to ``out`` at its column; without ``values``, they are ones.

    Every column is summed in the order of the rows, as `gather_sums` does with the transposed matrix, to the last bit.
    Where `squared`, the squares of the values are added.
    """
    binary = len(values) == 0
    for i in range(len(indptr) - 1):
        own = x[i]
        for p in range(indptr[i], indptr[i + 1]):
            value = 1.0 if binary else values[p] * values[p] if squared else values[p]
            out[indices[p]] += value * own
