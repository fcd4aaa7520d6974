"""A model's accuracy in a world without a leak: weights and an outcome model, each correcting the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.counted_forest import Forest, cross_fitted, fold_numbers

__all__ = [
    "DebiasedAccuracy",
    "accuracy_without_leak",
    "doubly_robust_accuracy",
    "expected_correctness",
    "steady_depth",
]

#: Number of examples per leaf of a steady tree, about.
_PER_LEAF = 20
#: Level of the intervals.
LEVEL = 0.95
#: The forests that say which labels a model is correct for.
FOREST = Forest(200, depth=8)


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
    even_leak: bool = False,
    rougher_weights: npt.ArrayLike | None = None,
    units: Sequence[npt.ArrayLike] = (),
) -> DebiasedAccuracy:
    """Accuracy where labels do not depend on the leak, with an interval (augmented inverse-probability weighting).

    The mean over examples i with leak l_i and gold label y_i of

        t_i · Σ_y π_y m(y, l_i)  +  w_i · (correct_i − m(y_i, l_i)),

    w and t with mean one. m(y, l), the accuracy expected for label y at leak l, comes from examples other than
    i (`expected_correctness`). If m is right, errors of the weights do not matter; if the weights are right, errors of
    m do not. Weights alone over-correct a model that follows the leak, because they are largest where the forest
    behind them is surprised, by chance or not.

    Intervals of 95 % use Student's distribution with (Σp²)² / Σp⁴ degrees of freedom, p the parts that examples add: a
    few large weights are few observations. An interval that relies on weights from small trees is too narrow, because
    such trees miss how large weights are; one that relies on weights from deep trees is too wide. With
    `rougher_weights` the standard error is the geometric mean of the two.

    Args:
        correct: whether the model is correct, one entry per example.
        gold: label codes 0, 1, 2, …
        weights: weight of every example; under them label and leak are independent.
        prior: share π_y of every label in the world without the leak.
        expected: m(y, l) of every example and label, examples × labels.
        even_leak: a leak is as frequent as the mean over labels of P(l | y), as under leakage-neutral weights; by
            default as frequent as among the examples.
        rougher_weights: such weights from deeper trees, for the standard error.
        units: codes of examples that are not independent, such as pairs that share a sentence; one array per kind.

    >>> result = doubly_robust_accuracy([1, 0, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1], [0.5, 0.5], [[0.5, 0.5]] * 4)
    >>> result.accuracy, result.change
    (0.5, 0.0)
    """
    x, w = np.asarray(correct, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    y, m = np.asarray(gold, dtype=np.int64), np.asarray(expected, dtype=np.float64)
    shares = np.asarray(prior, dtype=np.float64)
    rough = w if rougher_weights is None else np.asarray(rougher_weights, dtype=np.float64)
    n = len(x)
    if not n or not x.shape == w.shape == y.shape == rough.shape or m.shape != (n, len(shares)):
        raise ValueError("correct, gold, weights and expected must have one entry per example.")
    if not all((one >= 0).all() and one.sum() > 0 for one in (w, rough)):
        raise ValueError("weights must not be negative, nor all zero.")
    member = np.eye(len(shares))[y]
    t = 1 / (member.mean(axis=0)[y] * np.count_nonzero(member.any(axis=0))) if even_leak else np.ones(n)
    everywhere, left = m @ shares, x - m[np.arange(n), y]
    first = float((t * everywhere).mean())
    # The labels' shares in the world without the leak are estimated, too: an example more of a label moves them.
    moved = (member - shares) @ (t @ m / n)
    if even_leak:
        counts = np.maximum(member.sum(axis=0), 1.0)
        moved = moved - t * ((member.T @ (everywhere - first)) / counts)[y]

    def parts_of(mass: Floats) -> tuple[float, Floats]:
        scaled = mass / mass.mean()
        second = float((scaled * left).mean())
        return second, t * (everywhere - first) + scaled * (left - second) + moved

    second, parts = parts_of(w)
    rough_parts = parts if rougher_weights is None else parts_of(rough)[1]
    value, plain = min(max(first + second, 0.0), 1.0), float(x.mean())
    change = value - plain

    def error(off: Floats) -> float:
        both = (_variance(parts - off, units), _variance(rough_parts - off, units))
        return float(np.sqrt(both[0] * both[1])) / n**2

    variance = error(np.zeros(n))
    fourth = float((parts**4).sum())
    freedom = float((parts**2).sum()) ** 2 / fourth if fourth > 0 else float(n)
    z = float(stdtrit(max(freedom, 2.0), (1 + LEVEL) / 2))
    size = min(value * (1 - value) / variance, float(n)) if variance > 0 else float(n)
    low, high = _wilson(value, max(size, 1.0), z)
    half = z * float(np.sqrt(error(x - plain)))
    return DebiasedAccuracy(
        value, low, high, change, max(change - half, -1.0), min(change + half, 1.0), size, n
    )


def accuracy_without_leak(
    correct: npt.ArrayLike,
    gold: npt.ArrayLike,
    leakage: npt.ArrayLike,
    weights: npt.ArrayLike,
    *,
    rougher_weights: npt.ArrayLike,
    folds: int = 20,
    forest: Forest = FOREST,
    units: Sequence[npt.ArrayLike] = (),
) -> DebiasedAccuracy:
    """The doubly robust accuracy in the world of leakage-neutral weights, in which labels keep their shares.

    Args:
        correct: whether the model is correct, one entry per example.
        gold: label codes 0, 1, 2, …, each of which occurs.
        leakage: the features that the weights neutralise.
        weights: leakage-neutral weights from trees of `steady_depth`: the estimate.
        rougher_weights: leakage-neutral weights from trees of full depth: its standard error.
        folds: folds of `expected_correctness`.
        forest: trees, depth and seed of its forests; the seed is also that of the folds.
        units: codes of examples that are not independent.
    """
    labels = np.asarray(gold, dtype=np.int64)
    shares = np.bincount(labels) / len(labels)
    expected = expected_correctness(
        correct, labels, leakage, n_labels=len(shares), folds=folds, forest=forest
    )
    return doubly_robust_accuracy(
        correct, labels, weights, shares, expected, even_leak=True, rougher_weights=rougher_weights, units=units
    )  # fmt: skip


def steady_depth(n: int, most: int = 8) -> int:
    """Return the depth of trees whose leaves have about 20 of n examples: 2 to `most`.

    >>> steady_depth(100), steady_depth(1000), steady_depth(100_000)
    (2, 5, 8)
    """
    return int(min(max(np.log2(n / _PER_LEAF), 2), most))


def _variance(parts: Floats, units: Sequence[npt.ArrayLike]) -> float:
    """Return the variance of a sum of parts, which may be correlated within units of one kind or another."""
    alone = float((parts**2).sum())
    together = [float((np.bincount(np.asarray(codes), weights=parts) ** 2).sum()) for codes in units]
    return alone + sum(max(one - alone, 0.0) for one in together)


def expected_correctness(
    correct: npt.ArrayLike,
    gold: npt.ArrayLike,
    leakage: npt.ArrayLike,
    *,
    n_labels: int,
    folds: int = 20,
    forest: Forest = FOREST,
) -> Floats:
    """P(correct | gold label, leak) of every example and label, from forests on the examples of the other folds.

    One forest per label; a label that some fold's complement lacks gets the share correct of all examples.
    """
    hit, truth = np.asarray(correct, dtype=np.int64), np.asarray(gold, dtype=np.int64)
    rows = np.asarray(leakage, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    fold = fold_numbers(len(hit), min(folds, len(hit)), seed=forest.seed)
    expected = np.full((len(hit), n_labels), float(hit.mean()))
    for label in range(n_labels):
        mine = truth == label
        if not _occurs_outside_every_fold(mine, fold):
            continue
        probabilities = cross_fitted(
            rows, hit, n_labels=2, folds=fold, weights=mine.astype(float),
            forest=replace(forest, seed=forest.seed + label),
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
