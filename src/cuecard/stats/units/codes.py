"""Codes of units as the numbers 0, 1, 2, …"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Bools, Floats, Ints

#: Rows that are counted at a time.
AT_A_TIME = 1 << 22
#: Numbers that are made Python's own at a time.
LISTED = 1 << 16


def dense_codes(codes: npt.ArrayLike) -> Ints:
    """Return the codes numbered 0, 1, 2, … in rising order, without gaps; numbers below twice their count unsorted.

    >>> dense_codes([7, 3, 7, 10])
    array([1, 0, 1, 2])
    """
    values = np.asarray(codes)
    if values.dtype.kind == "i" and len(values) and 0 <= values.min() <= values.max() < 2 * len(values):
        occurs = np.zeros(int(values.max()) + 1, dtype=np.bool_)
        occurs[values] = True
        if occurs.all():
            return np.asarray(values, dtype=np.int64)
        return np.asarray((np.cumsum(occurs) - 1)[values], dtype=np.int64)
    return np.asarray(np.unique(values, return_inverse=True)[1].ravel(), dtype=np.int64)


def distinct_codes(codes: Ints) -> int:
    """Return how many different codes there are, of codes that are not negative.

    >>> distinct_codes(np.array([7, 3, 7, 10]))
    3
    """
    occurs = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.bool_)
    occurs[codes] = True
    return int(np.count_nonzero(occurs))


def counts_of_codes(codes: npt.NDArray[np.integer[Any]], size: int) -> Ints:
    """Return how many rows have each code below `size`, without a wider copy of them all.

    >>> counts_of_codes(np.array([2, 0, 2], dtype=np.int32), 4)
    array([1, 0, 2, 0])
    """
    parts = (codes[start : start + AT_A_TIME] for start in range(0, len(codes), AT_A_TIME))
    return sum((np.bincount(part, minlength=size) for part in parts), np.zeros(size, dtype=np.int64))


def first_of_code(codes: Ints) -> Bools:
    """Return which rows are the first of their code, of codes that are not negative.

    >>> first_of_code(np.array([7, 3, 7, 10])).tolist()
    [True, True, False, True]
    """
    first = np.zeros(len(codes), dtype=np.bool_)
    place = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    place[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # of equal places, the last one written stays
    first[place[codes]] = True
    return first


def rows_of_copies(codes: Ints) -> Iterator[Ints]:
    """Yield the rows whose code other rows share, in parts of bounded size; no code is in two parts.

    >>> [rows.tolist() for rows in rows_of_copies(np.array([0, 1, 2, 1, 0, 3]))]
    [[0, 1, 3, 4]]
    """
    sizes = np.bincount(codes, minlength=1)
    sizes[sizes < 2] = 0
    before = np.cumsum(sizes, out=sizes)
    if not before[-1]:
        return
    goals = np.arange(AT_A_TIME, before[-1] + AT_A_TIME, AT_A_TIME)
    ends = np.unique(np.minimum(np.searchsorted(before, goals) + 1, len(before)))
    copied = np.empty(len(codes), dtype=np.bool_)
    for start in range(0, len(codes), AT_A_TIME):
        own = codes[start : start + AT_A_TIME]
        copied[start : start + AT_A_TIME] = before[own] > np.where(own > 0, before[own - 1], 0)
    first = 0
    for end in ends:
        within = copied if len(ends) == 1 else copied & (codes >= first) & (codes < end)
        yield np.flatnonzero(within)
        first = end


def exact_sum(parts: Iterable[Floats]) -> float:
    """Return the sum of numbers in several arrays, rounded once: their order does not change the last digit.

    >>> exact_sum([np.full(5, 0.1), np.full(5, 0.1)])
    1.0
    """
    return math.fsum(
        value
        for part in parts
        for start in range(0, len(part), LISTED)
        for value in part[start : start + LISTED].tolist()
    )
