"""Weighted shares and what weights cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from cuecard.stats.arrays import Ints, level_of


@dataclass(frozen=True)
class WeightedShare:
    """A weighted share with its interval, and how many equally weighted answers carry as much."""

    share: float
    low: float
    high: float
    effective_n: float
    n: int


def effective_sample_size(weights: npt.ArrayLike) -> float:
    """How many equally weighted rows vary as little as these: (Σ w)² / Σ w² (Kish).

    >>> effective_sample_size([1, 1, 2])
    2.6666666666666665
    """
    w = np.asarray(weights, dtype=np.float64)
    squares = float((w**2).sum())
    return float(w.sum()) ** 2 / squares if squares > 0 else 0.0


def effective_sample_share(weights: npt.ArrayLike) -> float:
    """`effective_sample_size` as a share of the number of rows: 1 for equal weights.

    >>> round(effective_sample_share([1, 1, 2]), 3)
    0.889
    """
    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or not len(w) or not np.all(np.isfinite(w)) or np.any(w < 0) or w.sum() == 0:
        raise ValueError("weights must be a vector of finite numbers, not negative, and not all zero.")
    return effective_sample_size(w) / len(w)


def weighted_share(successes: npt.ArrayLike, weights: npt.ArrayLike, level: float = 0.95) -> WeightedShare:
    """Weighted mean Σ w x / Σ w of values from 0 to 1, with an interval that accounts for the weights.

    The error is that of a ratio, sqrt(Σ w² (x − mean)²) / Σ w; it is turned into the number of equally weighted
    answers with the same error, and Wilson's interval is taken for those.

    >>> result = weighted_share([1, 1, 0, 0], [3, 1, 1, 1])
    >>> round(result.share, 3), round(result.low, 2), round(result.high, 2)
    (0.667, 0.21, 0.94)
    """
    x = np.asarray(successes, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    if x.shape != w.shape or x.ndim != 1:
        raise ValueError("successes and weights must be one-dimensional and of the same length")
    if (w < 0).any() or not np.isfinite(w).all():
        raise ValueError("weights must be finite and not negative")
    total = float(w.sum())
    if total == 0:
        return WeightedShare(float("nan"), 0.0, 1.0, 0.0, len(x))
    share = float((w * x).sum() / total)
    variance = float((w**2 * (x - share) ** 2).sum()) / total**2
    # Without any spread (all right or all wrong) the weights alone say how many answers there are.
    # Where few weights dominate, the spread is estimated from few answers and too small: more than (Σw)² / Σw² is not
    # believed.
    worth = effective_sample_size(w)
    size = min(share * (1 - share) / variance, worth) if variance > 0 else worth
    # Wilson's interval, for a size that need not be whole.
    z = float(ndtri((1 + level_of(level)) / 2))
    middle = share + z**2 / (2 * size)
    half = z * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
    scale = 1 + z**2 / size
    low, high = max((middle - half) / scale, 0.0), min((middle + half) / scale, 1.0)
    return WeightedShare(share, float(low), float(high), size, len(x))


def weighted_quantiles(
    values: npt.ArrayLike, weights: npt.ArrayLike, levels: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Return the smallest value at or below which each share of the weight lies.

    >>> weighted_quantiles([10, 20, 30], [1, 1, 8], [0.05, 0.2, 0.5])
    array([10., 20., 30.])
    """
    x, w = np.asarray(values, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    order = np.argsort(x, kind="stable")
    reached = np.cumsum(w[order])
    # A sum of weights may end a rounding error below the share that it makes up.
    wanted = np.asarray(levels, dtype=np.float64) * reached[-1] * (1 - 1e-12)
    return np.asarray(x[order][np.searchsorted(reached, wanted, side="left")])


def effective_counts(sums: npt.ArrayLike, squares: npt.ArrayLike) -> Ints:
    """Return rows of summed weights as whole counts of as many equal instances as say the same, (Σw)² / Σw² a row.

    Args:
        sums: a row per group and a column per label, sums of weights.
        squares: sum of squared weights of each group.

    >>> effective_counts([[6.0, 2.0]], [16.0])
    array([[3, 1]])
    """
    table = np.asarray(sums, dtype=np.float64)
    spread = np.asarray(squares, dtype=np.float64)[:, None]
    worth = table.sum(axis=1, keepdims=True) / np.where(spread > 0, spread, 1.0)
    return np.asarray(np.rint(table * worth), dtype=np.int64)


def weighted_change(
    successes: npt.ArrayLike, weights: npt.ArrayLike, level: float = 0.95
) -> tuple[float, float, float]:
    """Weighted minus unweighted share of the same values, with an interval that accounts for it.

    The two shares move together, so their intervals must not be compared; the error is that of the difference, from
    what every value adds to it: w (x − weighted share) / Σ w − (x − share) / n, and at least as large as if the values
    had nothing to do with the weights. Weights are taken as known.

    >>> change, low, high = weighted_change([1, 1, 0, 0] * 50, [3, 1, 1, 1] * 50)
    >>> round(change, 3), round(low, 2), round(high, 2)
    (0.167, 0.13, 0.21)
    """
    x = np.asarray(successes, dtype=np.float64)
    w = np.asarray(weights, dtype=np.float64)
    total = float(w.sum())
    if x.shape != w.shape or x.ndim != 1 or not len(x) or not total > 0:
        raise ValueError("successes and weights must be one-dimensional, of the same length and not all zero")
    plain, weighted = float(x.mean()), float((w * x).sum() / total)
    parts = w * (x - weighted) / total - (x - plain) / len(x)
    # A few heavy values that happen to be near the share would make the error look small: it is at least that of values
    # whose success does not depend on the weight.
    even = (float(x.sum()) + 2) / (len(x) + 4)
    least = even * (1 - even) * float(((w / total - 1 / len(x)) ** 2).sum())
    half = float(ndtri((1 + level_of(level)) / 2)) * float(np.sqrt(max((parts**2).sum(), least)))
    change = weighted - plain
    return change, max(change - half, -1.0), min(change + half, 1.0)
