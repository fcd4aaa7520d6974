"""Agreement of two raters beyond chance: Cohen's κ with an interval over clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import t as t_distribution

__all__ = ["Kappa", "cohen_kappa"]


@dataclass(frozen=True)
class Kappa:
    """Cohen's κ, both ends of its interval, and the agreement it is made of."""

    value: float
    low: float
    high: float
    agreement: float
    expected: float


def cohen_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, level: float = 0.95
) -> Kappa:
    """Return Cohen's κ of two sequences of verdicts, with a linearised interval over independent clusters.

    A single cluster says nothing of how clusters vary: the interval is then −1 to 1.

    >>> kappa = cohen_kappa([0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, 1])
    >>> round(kappa.value, 3), round(kappa.agreement, 3)
    (0.333, 0.667)
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise ValueError("both raters need one verdict per item, and at least one")
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    x, y = codes[: len(a)], codes[len(a) :]
    n, k = len(a), len(values)
    p, q = np.bincount(x, minlength=k) / n, np.bincount(y, minlength=k) / n
    observed, expected = float((x == y).mean()), float(p @ q)
    if expected >= 1.0:
        return Kappa(float("nan"), float("nan"), float("nan"), observed, expected)
    kappa = (observed - expected) / (1 - expected)
    # Influence of every item on κ, by the derivative of the ratio.
    change = q[x] + p[y] - 2 * expected
    influence = ((x == y) - observed - (1 - kappa) * change) / (1 - expected)
    units = np.arange(n) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(units, influence)
    groups = len(sums)
    if groups < 2:
        return Kappa(kappa, -1.0, 1.0, observed, expected)
    error = float(np.sqrt((sums**2).sum() * groups / (groups - 1))) / n
    reach = float(t_distribution.ppf(0.5 + level / 2, groups - 1)) * error
    return Kappa(kappa, max(kappa - reach, -1.0), min(kappa + reach, 1.0), observed, expected)
