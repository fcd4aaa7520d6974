"""How far copies of a text agree in their labels: what a copy adds to the first."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.units.codes import dense_codes, exact_sum, rows_of_copies
from cuecard.stats.units.effective import UnitCounts

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
