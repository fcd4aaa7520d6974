"""Test whether right answers stand in some places more often than in others."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from cuecard.stats.arrays import Floats

#: Random placements that a moderate p-value is counted on; a smaller one than `TAIL` is that of the chi-square.
DRAWS, TAIL = 9_999, 2e-3


def place_log_p(
    places: npt.ArrayLike,
    options: npt.ArrayLike,
    *,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
) -> float:
    """Natural log of the p-value that each of an example's k places is as likely to hold the right answer.

    Pearson's chi-square Sᵀ V⁺ S, where S sums what the right places, as indicators, exceed 1/k by, and V is its
    covariance if places were drawn at random. A unit is one observation: the mean of its examples, taken to vary as
    much as if they all agreed. Without weights, random placements give the p-value where it is not tiny.

    >>> round(float(np.exp(place_log_p([0] * 20 + [1] * 10, [2] * 30))), 2)  # a binomial test gives 0.10
    0.1
    >>> round(float(np.exp(place_log_p([0] * 40 + [1] * 20, [2] * 60, units=np.arange(60) // 2))), 2)  # copies
    0.1
    """
    place, k = np.asarray(places, dtype=np.int64), np.asarray(options, dtype=np.int64)
    n, most = len(place), int(np.max(options, initial=0))
    if n < 2 or most < 2:
        return 0.0
    weight = np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64)
    unit = np.arange(n) if units is None else np.unique(np.asarray(units), return_inverse=True)[1]
    sizes = np.bincount(unit)
    share = weight / sizes[unit]
    exceeded = np.bincount(place, share, most)
    squares = np.zeros(most + 1)  # of each k, the squared mass of the units
    for each in np.unique(k):
        mass = np.bincount(unit[k == each], share[k == each])
        squares[each] = float(mass @ mass)
        exceeded[:each] -= mass.sum() / each
    variance = np.zeros((most, most))
    for each in np.flatnonzero(squares):
        variance[:each, :each] += squares[each] * (np.identity(int(each)) / each - 1 / each**2)
    inverse: Floats = np.linalg.pinv(variance, hermitian=True).astype(np.float64)
    statistic = float(exceeded @ inverse @ exceeded)
    degrees = int(np.linalg.matrix_rank(variance, hermitian=True))
    with np.errstate(divide="ignore"):
        log_p = float(np.log(chdtrc(degrees, statistic)))
    if weights is not None or log_p < math.log(TAIL):
        return min(log_p, 0.0)
    rng = np.random.default_rng(0)
    drawn = np.zeros((DRAWS, most))
    for each in np.flatnonzero(squares):
        number = round(squares[each])
        drawn[:, :each] += rng.multinomial(number, np.full(each, 1 / each), DRAWS) - number / each
    as_large = _quadratic(drawn, inverse) >= statistic - 1e-9
    return math.log((1 + int(as_large.sum())) / (1 + DRAWS))


def _quadratic(rows: Floats, matrix: Floats) -> Floats:
    values: Floats = np.einsum("ij,jk,ik->i", rows, matrix, rows)
    return values
