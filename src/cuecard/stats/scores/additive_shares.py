"""How much of a model's log score each of its features carries, so that the parts add up to the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.scores.cross_fit_intervals import mean_interval

#: Points of the Gauss–Legendre rule. With margins within ± 30 its error is below 1e-4 of the score.
NODES = 24


def path_weights(start: Floats, end: Floats, gold: Ints) -> Floats:
    """Return the mean slope of each example's log score in every margin, on the way from `start` to `end`.

    The log score is that of the softmax of the margins, and the way is straight. So the sum of the slopes times the
    differences of the margins is the difference of the log scores, and where a margin is a sum over features, each
    feature's part is the slope times its term (Aumann & Shapley 1974). The parts of two features add up to that of
    both together, however a model has divided a weight between them.

    Args:
        start: margins of a model that sees nothing: examples × answers, or one row for all.
        end: margins of the model, with nan or -inf where an example has fewer answers.
        gold: the place of the right answer of each example.

    >>> weights = path_weights(np.zeros((1, 2)), np.array([[2.0, 0.0]]), np.array([0]))
    >>> round((weights @ [2.0, 0.0]).item(), 6), round(float(np.log(1 / (1 + np.exp(-2))) - np.log(1 / 2)), 6)
    (0.566219, 0.566219)
    """
    end = np.where(np.isnan(end), -np.inf, end)
    start = np.broadcast_to(start, end.shape)
    weights = np.zeros(end.shape)
    places, shares = np.polynomial.legendre.leggauss(NODES)
    for place, share in zip((places + 1) / 2, shares / 2, strict=True):
        margins = (1 - place) * start + place * end
        odds = np.exp(margins - margins.max(axis=1, keepdims=True))
        weights -= share / odds.sum(axis=1, keepdims=True) * odds
    weights[np.arange(len(gold)), gold] += 1.0
    return weights


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares of a sum of scores, with the ends of their 95 % intervals."""

    value: Floats
    low: Floats
    high: Floats


def score_shares(
    parts: npt.ArrayLike,
    scores: Floats,
    *,
    units: Ints | None = None,
    weights: Floats | None = None,
    inflation: float = 1.0,
) -> Shares:
    """Return the share of the sum of `scores` that each column of `parts` makes up: a ratio of two means.

    The interval is that of the mean of the ratio's influence values, by units of examples that are one observation.

    >>> shares = score_shares([[0.5], [0.1], [0.0], [0.2]], np.array([1.0, 0.2, 0.1, 0.7]))
    >>> shares.value.round(2).tolist()
    [0.4]
    """
    columns = np.asarray(parts, np.float64)
    mean = float(np.average(scores, weights=weights))
    values = np.average(columns, axis=0, weights=weights) / mean
    ends = [
        mean_interval((part - value * scores) / mean, units=units, weights=weights, inflation=inflation)[1:]
        for part, value in zip(columns.T, values, strict=True)
    ]
    low, high = np.array(ends).reshape(-1, 2).T
    return Shares(values, values + low, values + high)
