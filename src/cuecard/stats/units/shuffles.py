"""Orders of rows that shuffle whole units: copies of a text change places together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Ints
from cuecard.stats.units.codes import dense_codes

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
