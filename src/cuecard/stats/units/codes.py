"""Codes of units, and shuffles of labels that keep units together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.stats.arrays import Bools, Codes, Floats, Ints, chunks, counted, rows_where, whole_type

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
        numbers = np.cumsum(occurs, dtype=whole_type(len(values)))
        numbers -= 1
        dense = np.empty(len(values), dtype=np.int64)
        for chunk in chunks(len(values)):
            dense[chunk] = numbers[values[chunk]]
        return dense
    return np.asarray(np.unique(values, return_inverse=True)[1].ravel(), dtype=np.int64)


def rising_order(codes: npt.ArrayLike) -> Ints:
    """Return the places of codes from the smallest to the largest, equal ones as they stand.

    Numbers below twice their count are counted, which takes a tenth of the time of sorting them.

    >>> rising_order([7, 3, 7, 1])
    array([3, 1, 0, 2])
    """
    values = np.asarray(codes)
    if values.dtype.kind == "i" and len(values) and 0 <= values.min() <= values.max() < 2 * len(values):
        places = np.arange(len(values))
        by_code = sparse.coo_matrix((np.ones(len(values), dtype=np.int8), (values, places)))
        return np.asarray(by_code.tocsr().indices, dtype=np.int64)
    return np.asarray(np.argsort(values, kind="stable"), dtype=np.int64)


def distinct_codes(codes: Ints) -> int:
    """Return how many different codes there are, of codes that are not negative.

    >>> distinct_codes(np.array([7, 3, 7, 10]))
    3
    """
    occurs = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.bool_)
    occurs[codes] = True
    return int(np.count_nonzero(occurs))


def counts_of_codes(codes: Codes, size: int) -> Ints:
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
    first[first_rows_of_codes(codes)] = True
    return first


def first_rows_of_codes(codes: Ints) -> Codes:
    """Return the first row of each code that occurs, by rising code; codes are not negative.

    >>> first_rows_of_codes(np.array([7, 3, 7, 10])).tolist()
    [1, 0, 3]
    """
    place = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=whole_type(len(codes)))
    for chunk in reversed(list(chunks(len(codes)))):  # of equal places, the last one written stays
        place[codes[chunk][::-1]] = np.arange(chunk.stop - 1, chunk.start - 1, -1)
    return place if (place >= 0).all() else place[place >= 0]


def rows_of_copies(codes: Ints) -> Iterator[Ints]:
    """Yield the rows whose code other rows share, in parts of bounded size; no code is in two parts.

    >>> [rows.tolist() for rows in rows_of_copies(np.array([0, 1, 2, 1, 0, 3]))]
    [[0, 1, 3, 4]]
    """
    sizes = counted(codes, 1)
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
        yield rows_where(len(codes), lambda chunk: _within(codes[chunk], copied[chunk], first, end))  # noqa: B023
        first = end


def _within(codes: Ints, chosen: Bools, first: int, end: int) -> Bools:
    return np.asarray(chosen & (codes >= first) & (codes < end))


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


#: A class of unit sizes has at least this many units, where neighbouring sizes can be joined to it.
LEAST_UNITS = 10


def block_orders(
    units: npt.ArrayLike,
    permutations: int,
    rng: np.random.Generator,
    *,
    strata: npt.ArrayLike | None = None,
) -> Iterator[Ints]:
    """Yield orders: row i takes the label (and weight) of row order[i], whole units taking those of whole units.

    Units change places with units of the same size, and of about the same where fewer than `LEAST_UNITS` have it: then
    a row takes the label of the row at its place in the other unit, which starts again at its end. Units stay within
    their stratum. Where all units are single rows and there are no strata, orders are plain permutations.

    >>> next(block_orders([0, 0, 1, 1], 1, np.random.default_rng(0))).tolist()
    [2, 3, 0, 1]
    """
    codes = np.unique(np.asarray(units), return_inverse=True)[1].ravel()
    n = len(codes)
    sizes = np.bincount(codes)
    layers = None if strata is None else np.unique(np.asarray(strata), return_inverse=True)[1].ravel()
    if sizes.max(initial=1) == 1 and layers is None:
        for _ in range(permutations):
            yield rng.permutation(n)
        return
    rows = np.argsort(codes, kind="stable")
    starts = np.cumsum(sizes) - sizes
    place = np.empty(n, dtype=np.int64)
    place[rows] = np.arange(n) - np.repeat(starts, sizes)
    layer = np.zeros(len(sizes), dtype=np.int64) if layers is None else layers[rows[starts]]
    classes = _size_classes(sizes, layer)
    standing = np.argsort(classes, kind="stable")
    ordered, partner = classes[standing], np.empty(len(sizes), dtype=np.int64)
    for _ in range(permutations):
        # Sorting by class plus a random fraction keeps classes together and mixes within them.
        partner[standing] = standing[np.argsort(ordered + rng.random(len(ordered)))]
        other = partner[codes]
        yield rows[starts[other] + place % sizes[other]]


def group_orders(
    groups: npt.ArrayLike, permutations: int, rng: np.random.Generator, *, units: npt.ArrayLike | None = None
) -> Iterator[Ints]:
    """Yield orders that shuffle rows within their group: row i takes the label of row order[i].

    With `units`, codes that the rows of copies of a group share (the same choice of the same question), copies are
    shuffled alike: one question asked three times has one random answer.
    """
    codes = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    if units is None:
        standing, own = np.argsort(codes, kind="stable"), None
    else:
        own = np.unique(np.asarray(units), return_inverse=True)[1].ravel()
        standing = np.lexsort((own, codes))
    ordered, order = codes[standing], np.empty(len(codes), dtype=np.int64)
    for _ in range(permutations):
        # Sorting by group plus a random fraction keeps groups together and mixes within them.
        drawn = rng.random(len(codes)) if own is None else rng.random(own.max(initial=-1) + 1)[own[standing]]
        order[standing] = standing[
            np.argsort(ordered + drawn, kind="stable" if own is not None else "quicksort")
        ]
        yield order


def label_orders(
    n: int,
    permutations: int,
    rng: np.random.Generator,
    *,
    groups: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
    strata: npt.ArrayLike | None = None,
) -> Iterator[Ints]:
    """Yield orders of n rows that the null of a test allows: within groups, among strata, whole units at a time.

    `groups` are the examples of a grouped task. Otherwise rows change places within their stratum (those of like
    weight), or freely. Units that are all single rows change nothing.
    """
    repeated = units is not None and has_repeats(units, groups)
    if groups is not None:
        yield from group_orders(groups, permutations, rng, units=units if repeated else None)
    elif repeated and units is not None:
        yield from block_orders(units, permutations, rng, strata=strata)
    elif strata is not None:
        yield from group_orders(strata, permutations, rng)
    else:
        for _ in range(permutations):
            yield rng.permutation(n)


def has_repeats(units: npt.ArrayLike, groups: npt.ArrayLike | None = None) -> bool:
    """Whether some unit has several rows, of several groups where there are groups.

    >>> has_repeats([1, 2, 3]), has_repeats([1, 1, 2]), has_repeats([1, 1, 2], groups=[0, 0, 1])
    (False, True, False)
    """
    codes = dense_codes(units)
    if groups is None:
        return int(codes.max(initial=-1)) + 1 < len(codes)
    of = dense_codes(groups)
    return len(np.unique(codes * (int(of.max(initial=0)) + 1) + of)) > int(codes.max(initial=-1)) + 1


def group_units(groups: npt.ArrayLike, units: npt.ArrayLike) -> Ints:
    """Return a code for every row that groups share whose rows have the same units: copies of a question.

    >>> group_units([0, 0, 1, 1, 2, 2], [5, 6, 6, 5, 5, 7])
    array([0, 0, 0, 0, 1, 1])
    """
    of = np.unique(np.asarray(groups), return_inverse=True)[1].ravel()
    own = np.unique(np.asarray(units), return_inverse=True)[1].ravel()
    drawn = np.random.default_rng(0).integers(0, 2**63, int(own.max(initial=0)) + 1, dtype=np.uint64)
    key = np.zeros(int(of.max(initial=-1)) + 1, dtype=np.uint64)
    np.add.at(key, of, drawn[own])
    _, first, code = np.unique(key, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[code.ravel()][of]


def _size_classes(sizes: Ints, layer: Ints) -> Ints:
    """Return a number for every unit that units of about its size, in its stratum, share."""
    order = np.lexsort((sizes, layer))
    classes = np.empty(len(sizes), dtype=np.int64)
    current, first = -1, 0
    bounds = np.flatnonzero(np.diff(sizes[order]) | np.diff(layer[order])) + 1
    for start, end in zip([0, *bounds], [*bounds, len(order)], strict=True):
        same_layer = start > 0 and layer[order[start]] == layer[order[start - 1]]
        if not (same_layer and start - first < LEAST_UNITS):
            current, first = current + 1, start
        classes[order[start:end]] = current
    return classes
