"""Tails of (sums of independent) hypergeometric counts in log space, exact far below the smallest float."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

__all__ = ["hypergeometric_log_tail", "hypergeometric_two_sided_log_p"]

FloatArray: TypeAlias = npt.NDArray[np.float64]

# Tilted probabilities this far (in nats) below the largest are dropped: 1e-30 of the answer at most.
_NEGLIGIBLE = 70.0


def hypergeometric_log_tail(
    count: int, pool: npt.ArrayLike, correct: npt.ArrayLike, drawn: npt.ArrayLike
) -> float:
    """Natural log of P(X ≥ count), X a sum of independent hypergeometric counts, one per stratum.

    Stratum s draws ``drawn[s]`` of ``pool[s]`` items of which ``correct[s]`` count. The distributions are
    tilted exponentially until their sum is centred on ``count``; there the convolution is taken in plain
    floats without underflow, and the tilt is undone in log space.
    """
    strata = _checked(pool, correct, drawn)
    lowest = sum(max(0, n + k - size) for size, k, n in strata)
    highest = sum(min(n, k) for _, k, n in strata)
    if count <= lowest:
        return 0.0
    if count > highest:
        return -np.inf
    mean = sum(n * k / size for size, k, n in strata if size)
    if count >= mean:
        return min(0.0, _upper(count, strata))
    # P(X ≥ c) = 1 − P(X ≤ c − 1), and X ≤ c − 1 is an upper tail when what counts is the incorrect.
    mirrored = [(size, size - k, n) for size, k, n in strata]
    below = _upper(sum(n for _, _, n in strata) - count + 1, mirrored)
    return float(np.log1p(-np.exp(min(below, -1e-300))))


def hypergeometric_two_sided_log_p(count: int, pool: int, correct: int, drawn: int) -> float:
    """Natural log of the two-sided p-value: twice the smaller tail, at most one."""
    upper = hypergeometric_log_tail(count, [pool], [correct], [drawn])
    lower = hypergeometric_log_tail(drawn - count, [pool], [pool - correct], [drawn])
    return min(0.0, float(np.log(2.0)) + min(upper, lower))


def _checked(pool: npt.ArrayLike, correct: npt.ArrayLike, drawn: npt.ArrayLike) -> list[tuple[int, int, int]]:
    sizes, hits, takes = (np.atleast_1d(np.asarray(part)) for part in (pool, correct, drawn))
    if not sizes.shape == hits.shape == takes.shape or sizes.ndim != 1:
        raise ValueError("pool, correct and drawn must have one entry per stratum.")
    if np.any(hits < 0) or np.any(takes < 0) or np.any(hits > sizes) or np.any(takes > sizes):
        raise ValueError("correct and drawn must lie between zero and the size of the pool.")
    return [(int(size), int(k), int(n)) for size, k, n in zip(sizes, hits, takes, strict=True) if size > 0]


def _upper(count: int, strata: list[tuple[int, int, int]]) -> float:
    """Log P(X ≥ count) for a count at or above the mean."""
    from scipy.optimize import brentq

    parts = [_log_weights(*stratum) for stratum in strata]
    target = min(float(count), sum(float(support[-1]) for support, _ in parts) - 0.25)

    def surplus(tilt: float) -> float:
        return sum(_tilted_mean(support, weights, tilt) for support, weights in parts) - target

    high = 1.0
    while surplus(high) < 0 and high < 1e3:
        high *= 2.0
    tilt = float(brentq(surplus, 0.0, high)) if surplus(0.0) < 0 < surplus(high) else 0.0
    log_scale, first = 0.0, 0
    combined = np.ones(1)
    for support, weights in parts:
        tilted = weights + tilt * (support - support[0])
        total = _log_sum(tilted)
        keep = np.flatnonzero(tilted > tilted.max() - _NEGLIGIBLE)
        inside = slice(keep[0], keep[-1] + 1)
        combined = np.convolve(combined, np.exp(tilted[inside] - total))
        first += int(support[keep[0]])
        log_scale += total + tilt * float(support[0])
    values = first + np.arange(len(combined))
    tail = values >= count
    with np.errstate(divide="ignore"):
        terms = np.log(combined[tail]) - tilt * (values[tail] - count)
    return _log_sum(terms) + log_scale - tilt * count


def _log_weights(size: int, correct: int, drawn: int) -> tuple[FloatArray, FloatArray]:
    """Support of one hypergeometric count and its log probabilities."""
    support = np.arange(max(0, drawn + correct - size), min(drawn, correct) + 1, dtype=np.float64)
    log_p = (
        _log_choose(correct, support)
        + _log_choose(size - correct, drawn - support)
        - _log_choose(size, np.asarray(float(drawn)))
    )
    return support, np.asarray(log_p)


def _log_choose(n: int, k: FloatArray) -> FloatArray:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


def _tilted_mean(support: FloatArray, weights: FloatArray, tilt: float) -> float:
    tilted = weights + tilt * (support - support[0])
    return float(np.exp(tilted - _log_sum(tilted)) @ support)


def _log_sum(logs: FloatArray) -> float:
    top = float(logs.max())
    return top + float(np.log(np.sum(np.exp(logs - top))))
