"""Tests of values, numbers and places against labels that hold with few rows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, gammaincc

from cuecard.stats.arrays import Floats

#: The largest p-value that a combination takes as it is.
LARGEST_P = 0.99


def contingency_log_p(values: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Natural log of the p-value of Pearson's chi-square of values × labels, by its exact moments.

    With both margins fixed, the mean and the variance of the chi-square are known whatever the counts (Haldane 1940,
    Dawson 1954); the p-value is that of the gamma distribution that has them. So a column of 200 values in 400 rows is
    tested as well as one of three.

    >>> float(np.exp(contingency_log_p(np.repeat([0, 1], 50), np.repeat([0, 1, 0, 1], [30, 20, 20, 30]))).round(3))
    0.046
    """
    rows, columns = (np.unique(np.asarray(codes), return_inverse=True)[1] for codes in (values, labels))
    n, r, c = len(rows), int(rows.max(initial=-1)) + 1, int(columns.max(initial=-1)) + 1
    if min(r, c) < 2 or n < 4 or r >= n:
        return 0.0
    table = np.bincount(rows * c + columns, minlength=r * c).reshape(r, c)
    of_rows, of_columns = table.sum(axis=1), table.sum(axis=0)
    statistic = n * float((table**2 / of_rows[:, None] / of_columns).sum()) - n
    mean = n / (n - 1) * (r - 1) * (c - 1)

    def parts(margin: npt.NDArray[np.int64]) -> tuple[float, float]:
        k = len(margin)
        uneven = float(n * (1 / margin).sum() - k**2) / (n - 2)
        return (k - 1) * (n - k) / (n - 1) - uneven, uneven

    (even_r, uneven_r), (even_c, uneven_c) = parts(of_rows), parts(of_columns)
    variance = 2 * n / (n - 3) * even_r * even_c + n**2 / (n - 1) * uneven_r * uneven_c
    if variance <= 0:
        return 0.0
    with np.errstate(divide="ignore"):
        return float(np.log(gammaincc(mean**2 / variance, max(statistic, 0.0) / (variance / mean))))


def rank_log_p(numbers: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Natural log of the p-value of the test of Kruskal and Wallis: whether some labels have larger numbers.

    >>> float(np.exp(rank_log_p([1, 2, 3, 4, 5, 6, 7, 8], [0, 0, 0, 0, 1, 1, 1, 1])).round(3))
    0.021
    """
    ranks, codes = average_ranks(numbers), np.unique(np.asarray(labels), return_inverse=True)[1]
    counts = np.bincount(codes)
    variance = float(ranks.var(ddof=1)) if len(ranks) > 1 else 0.0
    if len(counts) < 2 or variance <= 0:
        return 0.0
    means = np.bincount(codes, ranks) / counts
    statistic = float(counts @ (means - ranks.mean()) ** 2) / variance
    with np.errstate(divide="ignore"):
        return float(np.log(chdtrc(len(counts) - 1, statistic)))


def average_ranks(numbers: npt.ArrayLike) -> Floats:
    """Return the rank of every number, from 1; equal ones share the mean of theirs.

    >>> average_ranks([3.0, 1.0, 3.0])
    array([2.5, 1. , 2.5])
    """
    _, place, counts = np.unique(np.asarray(numbers), return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def combined_log_p(log_p: Sequence[float]) -> float:
    """Natural log of Cauchy's combination of p-values of dependent tests of one claim (Liu and Xie 2020).

    p-values near 1 count as `LARGEST_P` (Fang et al. 2023): a test that sees nothing would outweigh the others.

    >>> float(np.exp(combined_log_p([np.log(0.01), np.log(0.02), np.log(0.9)])).round(3))
    0.021
    """
    p = np.exp(np.asarray(log_p, dtype=np.float64))
    least = float(min(log_p))
    if least == -math.inf:  # a p-value of zero among others
        return least
    if least < -30.0:  # where the tangent is 1 / πp
        return min(0.0, math.log(len(p)) - math.log(float(np.exp(least - np.asarray(log_p)).sum())) + least)
    mean = float(np.tan((0.5 - np.minimum(p, LARGEST_P)) * math.pi).mean())
    return math.log(max(0.5 - math.atan(mean) / math.pi, 1e-300))


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
