"""How far copies of a text agree in their labels: what a copy adds to the first."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats
from cuecard.stats.units.codes import dense_codes

#: Standard errors by which the correlation is raised: what is divided by it must not be too large.
CAREFUL = 2.0


def copy_correlation(units: npt.ArrayLike, labels: npt.ArrayLike, prior: npt.ArrayLike) -> float:
    """Upper bound of the correlation of labels within units, from 0 (copies are independent) to 1 (copies say nothing).

    The share of pairs of copies with the same label, less the share that would agree by chance, of what chance leaves;
    raised by two standard errors over units. `units` and `labels` have a code for every row, `prior` the share of every
    label. Rows that are no copies say nothing and may be left out.

    >>> texts, labels = np.repeat(np.arange(200), 3), np.tile([0, 1, 2], 200)  # every text once with every label
    >>> copy_correlation(texts, labels, [1 / 3, 1 / 3, 1 / 3])
    0.0
    >>> copy_correlation(texts, np.repeat(np.arange(200) % 2, 3), [0.5, 0.5])  # copies always agree
    1.0
    """
    codes = dense_codes(units)
    label, shares = np.asarray(labels, dtype=np.int64), np.asarray(prior, dtype=np.float64)
    sizes = np.bincount(codes)
    rows = np.flatnonzero(sizes[codes] > 1)
    if not len(rows):
        return 0.0
    counts = np.bincount(codes[rows] * len(shares) + label[rows])
    cells = np.flatnonzero(counts)
    count = counts[cells]
    agreeing = np.bincount(cells // len(shares), weights=count * (count - 1.0), minlength=len(sizes))
    pairs = sizes * (sizes - 1.0)
    by_chance = float((shares**2).sum())
    if by_chance >= 1.0:
        return 1.0
    agreement = agreeing.sum() / pairs.sum()
    error = np.sqrt(((agreeing - agreement * pairs) ** 2).sum()) / pairs.sum()
    bound = (agreement - by_chance + CAREFUL * error) / (1.0 - by_chance)
    return float(np.clip(bound, 0.0, 1.0))


def correlated_squares(
    n: npt.ArrayLike, squares: npt.ArrayLike, units: npt.ArrayLike, correlation: float
) -> Floats:
    """Σ over pairs of a feature's rows of their correlation, so that n rows count as n² / it.

    Rows of one unit correlate by `correlation`, and by at least 1/√units: few texts cannot show that their copies are
    independent. `squares` is Σ_c m_c² over the feature's units.

    >>> correlated_squares([58, 58], [58**2, 58], [1, 58], 0.0)  # one text 58 times, and 58 texts
    array([3364.,   58.])
    """
    total, spread, texts = (np.asarray(values, dtype=np.float64) for values in (n, squares, units))
    within = np.maximum(correlation, 1.0 / np.sqrt(np.maximum(texts, 1.0)))
    return np.asarray(total + np.maximum(spread - total, 0.0) * within)
