"""The types of arrays that functions here take and return, named once, and how long ones are gone through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]
#: Small whole numbers of any size: labels, folds, units.
Codes = npt.NDArray[np.integer[Any]]
#: Numbers of any type.
Array = npt.NDArray[Any]

#: Entries of long arrays that are looked at at a time.
CHUNK = 1 << 20


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Yield where the parts of an array of n entries are, each of bounded size."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def counted(codes: Codes, n: int = 0) -> Ints:
    """Return how many entries have each number from 0, at least n of them; `numpy.bincount` would copy small numbers.

    >>> counted(np.array([0, 2, 2], dtype=np.int8), 4)
    array([1, 0, 2, 0])
    """
    counts = np.zeros(max(n, int(codes.max()) + 1 if len(codes) else 0), dtype=np.int64)
    for some in chunks(len(codes)):
        counts += np.bincount(codes[some], minlength=len(counts))
    return counts


def follows(numbers: Codes) -> bool:
    """Return whether numbers, which need not rise, follow each other without a gap; False where there are none."""
    n = len(numbers)
    if not n or int(numbers[-1]) - int(numbers[0]) != n - 1:
        return False
    return all(bool((np.diff(numbers[some.start : some.stop + 1]) == 1).all()) for some in chunks(n))


def whole_type(largest: int) -> type[np.signedinteger[Any]]:
    """Return the smaller type of whole numbers that holds numbers up to the largest."""
    return np.int32 if largest < 1 << 31 else np.int64
