"""How many rows of units count: sums by unit, and the correlation within units."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats.arrays import Codes, Floats, Ints
from cuecard.stats.units.codes import dense_codes, exact_sum, rising_order, rows_of_copies

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
    of_rows = np.require(ids, np.int32, "C"), np.require(offsets, np.int64, "C")
    mass = np.empty(0) if weights is None else np.require(weights, np.float64, "C")
    if totals is None:
        blocks, n_bins = iter([np.arange(len(codes), dtype=np.int64)]), SIZE_BINS
    else:
        blocks, n_bins = rows_of_copies(dense_codes(codes)), 1
    units_, many = np.zeros(n_features, np.int64), np.zeros((n_features, n_bins), np.int64)
    squares, rows_squared, crossed = (
        np.zeros(n_features),
        np.zeros((n_features, n_bins)),
        np.zeros(n_features),
    )
    single = None if totals is None else np.array(totals, dtype=np.int64)
    for block in blocks:
        order, bounds = _ordered(codes, block)
        summed = _native.repeated_sums(*of_rows, order, bounds, mass, n_features, n_bins)
        for total, part in zip((units_, squares, many, rows_squared), summed, strict=False):
            np.add(total, part, out=total, casting="unsafe")
        crossed += summed[5]
        if single is not None:
            single -= summed[4]
    if single is not None:
        units_ += single
        squares += single
        crossed += single
    return UnitCounts(units_, squares, many, rows_squared, crossed)


def _ordered(codes: Codes, rows: Ints) -> tuple[Ints, Ints]:
    """Return some rows by rising code, and where the rows of each code begin and end."""
    own = codes[rows]
    order = rising_order(own)
    ordered = own[order]
    new = np.ones(len(order) + 1, dtype=np.bool_)
    new[1:-1] = ordered[1:] != ordered[:-1]
    return rows[order], np.flatnonzero(new) if len(order) else np.zeros(1, dtype=np.int64)


def worth(sums: npt.ArrayLike, squares: npt.ArrayLike) -> Floats:
    """Effective count (Σw)² / Σ_c (Σ_{i∈c} w)² of each feature, 0 for one without instances.

    >>> worth([5, 0], [11, 0]).round(2)
    array([2.27, 0.  ])
    """
    total, spread = np.asarray(sums, dtype=np.float64), np.asarray(squares, dtype=np.float64)
    return np.asarray(np.divide(total**2, spread, out=np.zeros(total.shape), where=spread > 0))


#: Standard errors by which the correlation is raised: what is divided by it must not be too large.
CAREFUL = 2.0


def copy_correlation(units: npt.ArrayLike, labels: npt.ArrayLike, prior: npt.ArrayLike) -> float:
    """Upper bound of the correlation of labels within units, from 0 (copies are independent) to 1 (copies say nothing).

    The mean product of how far two copies' labels are from the prior, Σ_l (y_l − π_l)(y'_l − π_l), over its value for
    the same row, 1 − Σ π_l²; raised by two standard errors over units. `units` and `labels` have a code for every row,
    `prior` the share of every label. Rows that are no copies say nothing and may be left out. Copies whose labels are
    drawn one by one, but from other shares than the prior, correlate as well: a word of theirs differs from the prior
    because of the text that it is in.

    >>> texts, labels = np.repeat(np.arange(200), 3), np.tile([0, 1, 2], 200)  # every text once with every label
    >>> copy_correlation(texts, labels, [1 / 3, 1 / 3, 1 / 3])
    0.0
    >>> copy_correlation(texts, np.repeat(np.arange(200) % 2, 3), [0.5, 0.5])  # copies always agree
    1.0
    >>> often = np.repeat(np.arange(20), 30), np.tile([0, 1], 300)  # labels at random, of which other texts have fewer
    >>> round(copy_correlation(*often, [0.7, 0.3]), 2)
    0.15
    """
    codes = dense_codes(units)
    label, shares = np.asarray(labels), np.asarray(prior, dtype=np.float64)
    by_chance = float((shares**2).sum())
    products, pairs = [np.empty(0)], [np.empty(0)]
    for rows in rows_of_copies(codes):
        unit, of_label, count = label_cells(codes[rows], label[rows], len(shares))
        sizes = np.bincount(unit, weights=count)
        agreeing = np.bincount(unit, weights=count * (count - 1.0))
        expected = np.bincount(unit, weights=count * shares[of_label])
        pairs.append(sizes * (sizes - 1.0))
        products.append(agreeing - 2.0 * (sizes - 1.0) * expected + by_chance * pairs[-1])
    n_pairs = sum(float(each.sum()) for each in pairs)
    if not n_pairs:
        return 0.0
    if by_chance >= 1.0:
        return 1.0
    # Exact sums, so that the order of the texts does not change the last digit.
    mean = exact_sum(products) / n_pairs
    squares = ((of - mean * many) ** 2 for of, many in zip(products, pairs, strict=True))
    error = math.sqrt(exact_sum(squares)) / n_pairs
    bound = (mean + CAREFUL * error) / (1.0 - by_chance)
    return float(np.clip(bound, 0.0, 1.0))


def label_cells(codes: Ints, labels: npt.ArrayLike, n_labels: int) -> tuple[Ints, Ints, Ints]:
    """Return the numbers of units and labels that occur together, by rising unit and label, and how often.

    >>> [each.tolist() for each in label_cells(np.array([5, 5, 7, 5]), [1, 0, 1, 1], 2)]
    [[0, 0, 1], [0, 1, 1], [1, 2, 1]]
    """
    keys = dense_codes(codes) * n_labels + np.asarray(labels)
    if int(keys.max(initial=-1)) < 8 * len(keys):
        counts = np.bincount(keys)
        cells = np.flatnonzero(counts)
        return cells // n_labels, cells % n_labels, counts[cells]
    cells, counts = np.unique(keys, return_counts=True)
    return cells // n_labels, cells % n_labels, counts


def correlated_pairs(
    n: npt.ArrayLike, copies: UnitCounts, correlation: float, *, rows: float, squared_sizes: float
) -> Floats:
    """Σ over pairs of a feature's n rows of their correlation, so that n rows count as n² / (n + it).

    Labels of one unit correlate by ρ = `correlation`, and by at least 1/√units: few texts cannot show that their copies
    are independent. What a unit's labels have in common only matters as far as the feature goes with the unit as well
    (Moulton 1990). If m_c of the M_c rows of unit c have the feature, and a share s = n / `rows` of all, then

        Var Σ (label of a row with the feature) ∝ (1 − ρ) n (1 − s) + ρ Σ_c (m_c − s M_c)²

    A word that all copies of a text have counts once per text, one that half of the sentences of a template have counts
    in full. `squared_sizes` is Σ_c M_c²; with infinitely many `rows`, s is 0 and every copy counts against a feature.

    >>> from cuecard.stats.units import unit_counts
    >>> texts = unit_counts([0] * 58, np.arange(59), [0] * 58, 1)  # one text 58 times
    >>> correlated_pairs([58], texts, 0.0, rows=10_000, squared_sizes=58**2 + 9_942).round()
    array([3287.])
    >>> half = unit_counts([0] * 58, np.minimum(np.arange(117), 58), [0] * 116, 1)  # half of the 116 rows of one unit
    >>> correlated_pairs([58], half, 0.0, rows=116, squared_sizes=116**2)
    array([0.])
    """
    total = np.asarray(n, dtype=np.float64)
    share = total / rows
    centred = copies.squares - 2 * share * copies.crossed + share**2 * squared_sizes
    own = total * (1 - share)
    within = np.maximum(correlation, 1.0 / np.sqrt(np.maximum(copies.units, 1)))
    pairs = np.divide(centred - own, 1 - share, out=np.zeros(total.shape), where=share < 1)
    return np.asarray(within * np.maximum(pairs, 0.0))
