"""Items that better models fail more often than worse ones, by an exact rank test."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from cuecard.stats.arrays import Floats

__all__ = ["failed_by_better"]

#: Beyond this many models the normal approximation is as good as exact.
_EXACT = 150


def failed_by_better(correct: npt.ArrayLike) -> Floats:
    """One-sided p-values, per item: are models that are right on it worse on the other items than those that are wrong?

    The sum of the ranks of the models that are right, by their score on the other items, against all equally likely
    choices of as many models (Wilcoxon 1945): exact. 1 where all or none are right.

    Args:
        correct: items × models, whether a model is right.

    >>> staircase = np.tril(np.ones((8, 8)))
    >>> item = np.array([[0, 0, 0, 0, 0, 0, 1, 1]])  # the two weakest models alone are right
    >>> p = failed_by_better(np.vstack([staircase, item]))
    >>> round(float(p[-1]), 4), bool(p[:-1].min() > 0.05)
    (0.0357, True)
    """
    right = np.asarray(correct, dtype=np.int64)
    items, models = right.shape
    if models < 2:
        return np.ones(items)
    rest = right.sum(axis=0)[None, :] - right
    # Ties count in favour of the item, so that the test keeps its level.
    order = np.lexsort((right, rest), axis=1)
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(1, models + 1)[None, :], axis=1)
    sums, count = (ranks * right).sum(axis=1), right.sum(axis=1)
    if models <= _EXACT:
        tails = _tails(models)
        p = np.array([tails[k][s] for k, s in zip(count, sums, strict=True)])
    else:
        mean = count * (models + 1) / 2
        spread = np.sqrt(np.maximum(count * (models - count) * (models + 1) / 12, 1e-12))
        p = ndtr((sums + 0.5 - mean) / spread)
    return np.where((count == 0) | (count == models), 1.0, np.minimum(p, 1.0))


def _tails(models: int) -> Floats:
    """Return P(sum of the ranks of k of the models ≤ s), by k and s."""
    most = models * (models + 1) // 2
    ways = np.zeros((models + 1, most + 1))
    ways[0, 0] = 1.0
    for rank in range(1, models + 1):
        for k in range(rank, 0, -1):
            ways[k, rank:] += ways[k - 1, : most + 1 - rank]
    return np.asarray(np.cumsum(ways, axis=1) / ways.sum(axis=1, keepdims=True))
