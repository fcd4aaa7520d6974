"""A model's accuracy in a world without a leak: weights and an outcome model, each correcting the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from cuecard.stats._arrays import level_of
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.counted_forest import cross_fitted, fold_numbers

__all__ = ["DebiasedAccuracy", "doubly_robust_accuracy", "expected_correctness"]


@dataclass(frozen=True)
class DebiasedAccuracy:
    """An accuracy without the leak, and how it differs from the unweighted accuracy."""

    accuracy: float
    low: float
    high: float
    change: float
    """Accuracy without the leak minus accuracy as it stands."""
    change_low: float
    change_high: float
    effective_n: float
    """How many equally weighted examples have the same standard error."""
    n: int


def doubly_robust_accuracy(
    correct: npt.ArrayLike,
    gold: npt.ArrayLike,
    weights: npt.ArrayLike,
    prior: npt.ArrayLike,
    expected: npt.ArrayLike,
    *,
    tilt: npt.ArrayLike | None = None,
    level: float = 0.95,
) -> DebiasedAccuracy:
    """Accuracy where labels do not depend on the leak, with an interval (augmented inverse-probability weighting).

    The mean over examples i with leak l_i and gold label y_i of

        t_i · Σ_y π_y m(y, l_i)  +  w_i · (correct_i − m(y_i, l_i)),

    w and t with mean one. m(y, l), the accuracy expected for label y at leak l, comes from examples other than
    i (`expected_correctness`). If m is right, errors of the weights do not matter; if the weights are right, errors of
    m do not. Weights alone over-correct a model that follows the leak, because they are largest where the forest
    behind them is surprised, by chance or not.

    Args:
        correct: whether the model is correct, one entry per example.
        gold: label codes 0, 1, 2, …
        weights: weight of every example; under them label and leak are independent.
        prior: share π_y of every label in the world without the leak.
        expected: m(y, l) of every example and label, examples × labels.
        tilt: how much more frequent the leak of an example is in that world, up to a factor; as frequent by
            default. With leakage-neutral weights it is Σ_y P(y | l) / π_y.
        level: level of the intervals.

    >>> result = doubly_robust_accuracy([1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1], [0.5, 0.5], [[0.5, 0.5]] * 4)
    >>> result.accuracy, result.change
    (0.5, 0.0)
    """
    x, w = np.asarray(correct, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    y, m = np.asarray(gold, dtype=np.int64), np.asarray(expected, dtype=np.float64)
    shares = np.asarray(prior, dtype=np.float64)
    t = np.ones(len(x)) if tilt is None else np.asarray(tilt, dtype=np.float64)
    n = len(x)
    if not n or not x.shape == w.shape == y.shape == t.shape or m.shape != (n, len(shares)):
        raise ValueError("correct, gold, weights, tilt and expected must have one entry per example.")
    if not (w >= 0).all() or not (t >= 0).all() or not w.sum() > 0 or not t.sum() > 0:
        raise ValueError("weights and tilt must not be negative, nor all zero.")
    w, t = w / w.mean(), t / t.mean()
    everywhere, left = m @ shares, x - m[np.arange(n), y]
    first, second = float((t * everywhere).mean()), float((w * left).mean())
    value = min(max(first + second, 0.0), 1.0)
    parts = t * (everywhere - first) + w * (left - second)
    # The labels' shares in the world without the leak are estimated, too: an example more of a label moves them.
    parts = parts + (np.eye(len(shares))[y] - shares) @ (t @ m / n)
    z = float(ndtri((1 + level_of(level)) / 2))
    plain = float(x.mean())
    variance = float((parts**2).sum()) / n**2
    size = min(value * (1 - value) / variance, float(n)) if variance > 0 else float(n)
    low, high = _wilson(value, max(size, 1.0), z)
    half = z * float(np.sqrt(((parts - (x - plain)) ** 2).sum())) / n
    change = value - plain
    return DebiasedAccuracy(
        value, low, high, change, max(change - half, -1.0), min(change + half, 1.0), size, n
    )


def expected_correctness(
    correct: npt.ArrayLike,
    gold: npt.ArrayLike,
    leakage: npt.ArrayLike,
    *,
    n_labels: int,
    folds: int = 20,
    trees: int = 200,
    depth: int = 8,
    seed: int = 0,
) -> Floats:
    """P(correct | gold label, leak) of every example and label, from forests on the examples of the other folds.

    One forest per label; a label that some fold's complement lacks gets the share correct of all examples.
    """
    hit, truth = np.asarray(correct, dtype=np.int64), np.asarray(gold, dtype=np.int64)
    rows = np.asarray(leakage, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    fold = fold_numbers(len(hit), min(folds, len(hit)), seed=seed)
    expected = np.full((len(hit), n_labels), float(hit.mean()))
    for label in range(n_labels):
        mine = truth == label
        if not _occurs_outside_every_fold(mine, fold):
            continue
        probabilities = cross_fitted(
            rows, hit, n_labels=2, folds=fold, trees=trees, depth=depth, seed=seed + label, weights=mine.astype(float)
        )  # fmt: skip
        expected[:, label] = probabilities[:, 1]
    return expected


def _occurs_outside_every_fold(mine: npt.NDArray[np.bool_], fold: Ints) -> bool:
    inside = np.bincount(fold, weights=mine)
    return bool(mine.any() and (inside < mine.sum()).all())


def _wilson(share: float, size: float, z: float) -> tuple[float, float]:
    middle = share + z**2 / (2 * size)
    half = z * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2)
    scale = 1 + z**2 / size
    return max(float((middle - half) / scale), 0.0), min(float((middle + half) / scale), 1.0)
