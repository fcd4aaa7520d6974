"""Intervals of what a cross-fit measured: its examples are learned from and scored, so they are not independent."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from cuecard.stats.arrays import Array, Codes, chunks, counted, level_of
from cuecard.stats.scores.row_sums import beside_others, sum_of_squares, unit_codes
from cuecard.stats.weighted import effective_sample_size

#: Labels whose share is within this many standard errors of the largest may be the most frequent.
RIVAL = 4.0


def cross_fit_inflation(folds: int) -> float:
    """How much more a cross-fitted mean varies, at most, than one of as many independent examples: 1 + K / (K − 1).

    Nadeau and Bengio's (2003) correction, var = σ² (1/K + n_test/n_train) for means of K folds of variance σ². An
    example takes part twice, where it is scored and where it is learned from, and what chance put into the data
    moves both the same way. Simulated variances are 1.0 to 2.0 times those of independent examples; this is 2.25
    for five folds.

    >>> cross_fit_inflation(5)
    2.25
    """
    if folds < 2:
        raise ValueError(f"a cross-fit has at least two folds, and this has {folds}")
    return 1 + folds / (folds - 1)


def share_interval(share: float, size: float, level: float = 0.95) -> tuple[float, float]:
    """Low and high end of Wilson's interval of a share of `size` independent examples, which need not be whole.

    >>> low, high = share_interval(0.8, 10)
    >>> round(low, 4), round(high, 4)
    (0.4902, 0.9433)
    """
    if not size > 0:
        return 0.0, 1.0
    z = float(ndtri((1 + level_of(level)) / 2))
    middle = share + z**2 / (2 * size)
    half = z * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
    scale = 1 + z**2 / size
    return max(float((middle - half) / scale), 0.0), min(float((middle + half) / scale), 1.0)


def effective_units(
    values: npt.ArrayLike, units: npt.ArrayLike | None = None, weights: npt.ArrayLike | None = None
) -> float:
    """How many independent examples leave a mean of values from 0 to 1 the same error as these do.

    The error is that of a ratio with the sums of units (copies of a text) as its independent terms. It is never
    believed to be smaller than that of the weights alone, nor larger than with units whose examples are all alike.
    Where every value is the same share of a hit, ties decide all of them, each by a draw of its own.

    >>> effective_units([1, 1, 0, 0, 1, 1, 0, 0], units=[0, 0, 1, 1, 2, 2, 3, 3])
    4.0
    """
    if weights is None:
        return _effective_examples(np.asarray(values), units)
    x, w = np.asarray(values, np.float64), np.asarray(weights, np.float64)
    most = effective_sample_size(w)
    if units is None or not len(x):
        return most
    codes = unit_codes(units, len(x))[0]
    mean = float((w * x).sum() / w.sum())
    squares, least = _squares_of_units(np.bincount(codes, w * (x - mean)), np.bincount(codes, w))
    alone = float((w**2 * (x - mean) ** 2).sum())
    return _between(least, most * alone / squares, most) if squares > 0 else least


def _between(least: float, seen: float, most: float) -> float:
    """Return how many examples count, of what few units seem to show: as many as leave Student's interval its width."""
    if least <= 1:
        return least
    wider = float(stdtrit(least - 1, 0.975) / ndtri(0.975))
    return min(max(seen / wider**2, least), most)


def _effective_examples(x: Array, units: npt.ArrayLike | None) -> float:
    """Return `effective_units` of examples that count the same."""
    most = float(len(x))
    if units is None or not len(x):
        return most
    if 0 < x[0] < 1 and bool((x == x[0]).all()):
        return most
    squares, alone, least = _by_units(x, float(x.mean()), units)
    return _between(least, most * alone / squares, most) if squares > 0 else least


def _by_units(x: Array, mean: float, units: npt.ArrayLike) -> tuple[float, float, float]:
    """Return the squared deviations of units, those of examples, and how many units of one size there are."""
    codes, n = unit_codes(units, len(x))
    sums = np.zeros(n)
    for rows in chunks(len(x)):
        np.add.at(sums, codes[rows], x[rows] - mean)
    squares, size = _squares_of_units(sums, counted(codes, n))
    del sums
    return squares, sum_of_squares(x, mean), size


def _squares_of_units(sums: Array, sizes: Array) -> tuple[float, float]:
    """Return squared deviations of units, and how many of one size these are; unequal ones are told from the others."""
    total = float(sizes.sum())
    size = total**2 / sum_of_squares(sizes)
    squares = sum(
        sum_of_squares(beside_others(sums[chunk], sizes[chunk], total)) for chunk in chunks(len(sums))
    )
    return (1 - 1 / size) ** 2 * squares, size


def mean_interval(
    values: npt.ArrayLike,
    *,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    inflation: float = 1.0,
) -> tuple[float, float, float]:
    """Weighted mean with Student's 95 % interval, from sums over units; `inflation` multiplies the variance.

    >>> mean, low, high = mean_interval([0.1, 0.3, 0.2, 0.4])
    >>> round(mean, 2), round(low, 2), round(high, 2)
    (0.25, 0.04, 0.46)
    """
    x = np.asarray(values, np.float64)
    if weights is None and units is not None and len(x):
        mean = float(x.mean())
        squares, _, size = _by_units(x, mean, units)
        return _student(mean, squares / len(x) ** 2, size, inflation)
    if weights is None and len(x):
        mean = float(x.mean())
        return _student(mean, sum_of_squares(x, mean) / len(x) ** 2, len(x), inflation)
    w = np.ones(len(x)) if weights is None else np.asarray(weights, np.float64)
    if not len(x) or not w.sum() > 0:
        return float("nan"), float("-inf"), float("inf")
    mean = float((w * x).sum() / w.sum())
    parts = w * (x - mean) / w.sum()
    if units is None:
        return _student(mean, float((parts**2).sum()), effective_sample_size(w), inflation)
    codes = unit_codes(units, len(x))[0]
    sums, mass = (np.asarray(np.bincount(codes, v), np.float64) for v in (parts, w))
    return _student(mean, *_squares_of_units(sums, mass), inflation)


def excess_interval(
    hits: Array,
    labels: Codes,
    *,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    inflation: float = 1.0,
) -> tuple[float, float]:
    """Low and high end of how far an accuracy is above the share of the most frequent label, of which both are samples.

    The excess is the least of the accuracy's distances from the shares of all labels, so the ends are the lowest of
    theirs; the high ones, which are as many as labels compete for the largest share, are Bonferroni's.

    Args:
        hits: the credit for the guess of every example, from 0 to 1.
        labels: their labels.
        units: examples that are one observation share a number.
        weights: how much every example counts.
        inflation: multiplies the variance (see `cross_fit_inflation`).
    """
    shares = np.bincount(labels, weights=None if weights is None else np.asarray(weights, np.float64))
    shares = shares / shares.sum()
    size = len(labels) if weights is None else effective_sample_size(np.asarray(weights, np.float64))
    largest = float(shares.max())
    rivals = np.flatnonzero(shares >= largest - RIVAL * np.sqrt(2 * largest / size))
    wider = float(ndtri(1 - 0.025 / len(rivals)) / ndtri(0.975))
    ends = []
    for label in rivals:
        above = np.asarray(hits, np.float64) - (labels == label)
        mean, low, high = mean_interval(above, units=units, weights=weights, inflation=inflation)
        ends.append((low, mean + (high - mean) * wider))
    low, high = (min(sides) for sides in zip(*ends, strict=True))
    return max(low, -1.0), min(high, 1.0)


def _student(mean: float, variance: float, size: float, inflation: float) -> tuple[float, float, float]:
    """Return a mean with Student's interval, from the variance of the mean that `size` equal terms show."""
    if size < 1 + 1e-9:
        return mean, float("-inf"), float("inf")
    sd = float(np.sqrt(inflation * variance * size / (size - 1)))
    half = float(stdtrit(size - 1, 0.975)) * sd
    return mean, mean - half, mean + half
