"""Orders of rows that shuffle whole units: copies of a text change places together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cuecard.stats._arrays import IntArray

#: A class of unit sizes has at least this many units, where neighbouring sizes can be joined to it.
LEAST_UNITS = 10


def block_orders(
    units: npt.ArrayLike,
    permutations: int,
    rng: np.random.Generator,
    *,
    strata: npt.ArrayLike | None = None,
) -> Iterator[IntArray]:
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


def _size_classes(sizes: IntArray, layer: IntArray) -> IntArray:
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
