"""Effective number of independent instances among repeated ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints

#: Units are told apart by size up to 2^15 rows with a feature; larger ones count as that large.
SIZE_BINS = 16


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """What each feature's rows are within units of independence; one entry per feature in every array."""

    units: Ints
    """Units (distinct texts) in which some row has the feature."""
    squares: Floats
    """Σ over units of (summed weight of the rows with the feature)²; the effective count is (Σw)² / it."""
    many: Ints
    """Units by feature and bin of their number of rows with the feature (1, 2–3, 4–7, …)."""
    rows_squared: Floats
    """Sum of squares of that number, by feature and bin."""
    crossed: Floats
    """Σ over units of the number of rows with the feature times the number of all their rows."""


def unit_counts(
    ids: npt.ArrayLike,
    offsets: npt.ArrayLike,
    units: npt.ArrayLike,
    n_features: int,
    *,
    weights: npt.ArrayLike | None = None,
    totals: npt.ArrayLike | None = None,
) -> UnitCounts:
    """Units with each feature and Σ (weight of a unit)², so that n instances count as (Σw)² / Σ_c (Σ_{i∈c} w)².

    The features of row i are `ids[offsets[i]:offsets[i + 1]]`; a feature that is there twice counts once. `units` holds
    a code for every row that rows of one unit share. Only the first `len(units)` rows are read. A text that occurs m
    times counts once: five instances of which three are copies of one text count as 25 / (9 + 1 + 1) = 2.3.

    With `totals`, how many rows have each feature, rows that are no copies need not be read; units are then not told
    apart by size.

    >>> counts = unit_counts([0, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5], [7, 7, 7, 8, 9], 1)
    >>> counts.units, counts.squares
    (array([3]), array([11.]))
    """
    codes = np.asarray(units)
    mass = np.ones(len(codes)) if weights is None else np.asarray(weights, dtype=np.float64)
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    new = np.ones(len(order) + 1, dtype=np.bool_)
    new[1:-1] = ordered[1:] != ordered[:-1]
    bounds = np.flatnonzero(new) if len(order) else np.zeros(1, dtype=np.int64)
    if totals is not None:
        repeated = np.repeat(np.diff(bounds) > 1, np.diff(bounds))
        sizes = np.diff(bounds)
        order, bounds = order[repeated], np.concatenate([[0], np.cumsum(sizes[sizes > 1])])
    units_, squares, many, rows_squared, rows, crossed = _native.repeated_sums(
        np.require(ids, np.int32, "C"),
        np.require(offsets, np.int64, "C"),
        order.astype(np.int64),
        bounds.astype(np.int64),
        np.require(mass, np.float64, "C"),
        n_features,
        SIZE_BINS if totals is None else 1,
    )
    if totals is not None:
        single = np.asarray(totals, dtype=np.int64) - rows
        units_, squares, crossed = units_ + single, squares + single, crossed + single
    return UnitCounts(units_, squares, many, rows_squared, crossed)


def worth(sums: npt.ArrayLike, squares: npt.ArrayLike) -> Floats:
    """Effective count (Σw)² / Σ_c (Σ_{i∈c} w)² of each feature, 0 for one without instances.

    >>> worth([5, 0], [11, 0]).round(2)
    array([2.27, 0.  ])
    """
    total, spread = np.asarray(sums, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    return np.asarray(np.divide(total**2, spread, out=np.zeros(total.shape), where=spread > 0))
