"""Locally weighted regression: the smooth part of a score that goes with length (Cleveland 1979)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats

__all__ = ["lowess"]

_POINTS = 200


def lowess(x: npt.ArrayLike, y: npt.ArrayLike, fraction: float = 0.5) -> Floats:
    """Return the smoothed y at every x: lines fitted with tricube weights to the nearest `fraction` of the points.

    Lines are fitted at no more than 200 quantiles of x, with straight lines between them.

    >>> lowess([0, 1, 2, 3, 4], [1.0, 3.0, 5.0, 7.0, 9.0], fraction=1.0).round(6).tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0]
    """
    at, values = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be above 0 and at most 1, not {fraction}")
    order = np.argsort(at, kind="stable")
    sorted_x, sorted_y = at[order], values[order]
    n = len(at)
    near = max(int(np.ceil(fraction * n)), 2)
    points = np.unique(np.quantile(sorted_x, np.linspace(0, 1, min(_POINTS, n)))) if n else np.empty(0)
    fitted = np.array([_line(sorted_x, sorted_y, point, near) for point in points])
    return np.asarray(np.interp(at, points, fitted) if n else np.empty(0))


def _line(x: Floats, y: Floats, point: float, near: int) -> float:
    """Return the height at a point of the line through its nearest points."""
    middle = int(np.searchsorted(x, point))
    low, high = max(0, middle - near), min(len(x), middle + near)
    distance = np.abs(x[low:high] - point)
    reach = float(np.partition(distance, min(near, len(distance)) - 1)[min(near, len(distance)) - 1])
    weight = np.clip(1 - (distance / (reach * (1 + 1e-9) + 1e-12)) ** 3, 0.0, None) ** 3
    if not weight.sum() > 0:
        weight = np.ones_like(distance)
    total = weight.sum()
    mean_x, mean_y = weight @ x[low:high] / total, weight @ y[low:high] / total
    spread = weight @ (x[low:high] - mean_x) ** 2
    slope = weight @ ((x[low:high] - mean_x) * (y[low:high] - mean_y)) / spread if spread > 1e-12 else 0.0
    return float(mean_y + slope * (point - mean_x))
