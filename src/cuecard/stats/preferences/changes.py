"""Mean changes of verdicts, and what may be said of them: fair, biased or undecided."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr, stdtrit

from cuecard.stats.arrays import Floats

__all__ = ["Expected", "Ruling", "mean_change", "ruling", "slope_parts"]

#: What should happen to verdicts: nothing, or they should fall, or rise.
Expected = Literal["same", "lower", "higher"]
Ruling = Literal["fair", "biased", "undecided"]


def mean_change(changes: npt.ArrayLike, units: npt.ArrayLike) -> tuple[float, float, float, float]:
    """Return the mean of changes from −1 to 1, its 95 % interval over units (Student), and its two-sided p-value.

    The variance is that of one more unit that changed by a half: a judge that moved in none of 20 responses may move
    in the next one.

    >>> mean, low, high, p = mean_change([0.0] * 100, range(100))
    >>> mean, round(low, 3), round(high, 3), p
    (0.0, -0.01, 0.01, 1.0)
    """
    x = np.asarray(changes, dtype=np.float64)
    codes = np.unique(np.asarray(units), return_inverse=True)[1].ravel()
    groups, mean = int(codes.max(initial=-1)) + 1, float(x.mean()) if len(x) else 0.0
    if groups < 2:
        return mean, -1.0, 1.0, 1.0
    sums = np.bincount(codes, weights=x - mean)
    size = len(x) / groups
    variance = (float((sums**2).sum()) + (0.5 * size) ** 2) / len(x) ** 2 * groups / (groups - 1)
    error = float(np.sqrt(variance))
    margin = float(stdtrit(groups - 1, 0.975)) * error
    p = 2 * float(stdtr(groups - 1, -abs(mean) / error))
    return mean, max(mean - margin, -1.0), min(mean + margin, 1.0), min(p, 1.0)


def slope_parts(outcome: npt.ArrayLike, x: npt.ArrayLike, others: npt.ArrayLike | None = None) -> Floats:
    """Return values whose mean is the slope of an outcome on x per standard deviation, and that vary as it does.

    Each is the slope plus the influence of an example on it (ordinary least squares with an intercept), so that their
    sums over units give the variance that holds where outcomes within units hang together.

    >>> y = np.array([0.0, 0.2, 0.4, 0.6])
    >>> float(slope_parts(y, [1, 2, 3, 4]).mean().round(3))  # 0.2 per unit, SD 1.118
    0.224
    """
    y, column = np.asarray(outcome, dtype=np.float64), np.asarray(x, dtype=np.float64)
    design = np.ones((len(y), 1)) if others is None else np.column_stack([np.ones(len(y)), others])
    rest, left = (v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (column, y))
    square = float((rest**2).sum())
    if square <= 1e-9 * max(float((column**2).sum()), 1e-300):
        return np.zeros(0)
    spread = float(column.std())
    slope = float((rest * left).sum()) / square
    residual = left - slope * rest
    return np.asarray(spread * (slope + len(y) * rest * residual / square))


def ruling(
    expected: Expected, low: float, high: float, p_adjusted: float, *, alpha: float, margin: float
) -> Ruling:
    """Return whether a change is as it should be, is not, or cannot be told from its interval.

    A change that should not happen is a bias if it is significant and not surely within the margin, and is fair if it
    surely is. One that should happen is fair if it is significant, and a bias if it surely stays below the margin.

    >>> ruling("same", 0.02, 0.2, 0.01, alpha=0.05, margin=0.05)
    'biased'
    >>> ruling("same", -0.02, 0.03, 0.6, alpha=0.05, margin=0.05)
    'fair'
    >>> ruling("lower", -0.02, 0.03, 0.6, alpha=0.05, margin=0.05)
    'biased'
    """
    significant = p_adjusted <= alpha
    if expected == "same":
        if -margin <= low and high <= margin:
            return "fair"
        return "biased" if significant else "undecided"
    if expected == "lower":
        low, high = -high, -low
    if significant and low > 0:
        return "fair"
    return "biased" if high < margin else "undecided"
