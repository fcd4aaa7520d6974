"""Weights under which leakage features say nothing about the label (Selection, Algorithm 1)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats
from cuecard.stats.counted_forest import Criterion, Forest, cross_fitted, fold_numbers
from cuecard.stats.weighted import effective_sample_size


@dataclass(frozen=True, eq=False)
class LeakageNeutralWeights:
    """A weight per row, mean 1, and what it rests on.

    Attributes:
        weights: `1 / P(S = y | l)`, so that label and leakage are independent; classes keep their share of weight.
        probabilities: cross-fitted `P(Y = y | l)` in the data, a column per label.
        labels: the labels, in the order of the columns.
        prior: `P(Y = y)` of the leakage-neutral world that keeps the classes' shares.
        infinite: rows whose label has no probability in any tree; their weight would be infinite.
        clipped: rows whose weight was cut to `max_weight`.
    """

    weights: Floats
    probabilities: Floats
    labels: tuple[Any, ...]
    prior: Floats
    infinite: int
    clipped: int

    @property
    def effective_sample_size(self) -> float:
        """Effective sample size of the weights."""
        return effective_sample_size(self.weights)


def leakage_neutral_weights(
    labels: npt.ArrayLike,
    leakage: npt.ArrayLike,
    *,
    folds: int = 100,
    trees: int = 1000,
    depth: int = 8,
    criterion: Criterion = "gini",
    max_weight: float | None = None,
    seed: int = 0,
    threads: int | None = None,
) -> LeakageNeutralWeights:
    """Return weights under which the leakage features do not predict the label (Algorithm 1).

    `P(Y | l)` comes from cross-fitted random forests on the leakage features and their pairwise products. For two or
    more labels with intention S and prior π, equation 1 reads `P(S = y | l) ∝ P(Y = y | l) / π_y`, and the weight is
    1 / P(S = y | l).
    The prior that keeps every class's share of the weight is the only positive eigenvector of a small matrix; for two
    labels it is what bisection finds.

    Args:
        labels: the label of every row.
        leakage: features that reflect how rows were chosen, such as S1_freq, S2_freq, S1S2_inter; one row per label.
        folds: rows are predicted by forests on the other folds.
        trees: trees of every forest; identical rows are one point, so a large number is affordable.
        depth: largest depth of a tree.
        criterion: the impurity that trees lower, "gini" or "entropy".
        max_weight: largest weight allowed, in units of the mean; None allows any.
        seed: seed of folds and forests.
        threads: threads to use; the result does not depend on it.

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 4000)
    >>> frequency = rng.poisson(2 + labels)
    >>> result = leakage_neutral_weights(labels, frequency, folds=5, trees=50)
    >>> round(float(np.corrcoef(labels, frequency)[0, 1]), 2)
    0.3
    >>> bool(abs(np.cov(labels, frequency, aweights=result.weights)[0, 1]) < 0.05)
    True
    """
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    rows = _checked(leakage, len(codes))
    if len(classes) < 2:
        raise ValueError("Leakage-neutral weights need at least two labels; all rows have the same one.")
    if not 2 <= folds <= len(codes):
        raise ValueError(f"folds must lie between 2 and the number of rows ({len(codes)}), and is {folds}.")
    if trees < 1 or depth < 1:
        raise ValueError(f"trees and depth must be at least 1, and are {trees} and {depth}.")
    if criterion not in get_args(Criterion):
        raise ValueError(f"criterion is gini or entropy, not {criterion!r}.")
    if max_weight is not None and max_weight <= 1:
        raise ValueError(f"max_weight must be above 1, the mean of all weights, and is {max_weight:g}.")
    probabilities = cross_fitted(
        with_products(rows),
        codes,
        n_labels=len(classes),
        folds=fold_numbers(len(codes), folds, seed=seed),
        forest=Forest(trees, depth, seed, criterion),
        threads=threads,
    )
    own = probabilities[np.arange(len(codes)), codes]
    infinite = int((own == 0).sum())
    if infinite:
        warnings.warn(
            f"{infinite:,} of {len(codes):,} weights would be infinite, because no tree gives the label of the row any "
            f"probability. They use the probability 1/{trees + 1} instead; max_weight limits them further.",
            stacklevel=2,
        )
    weights, prior = weights_from_probabilities(
        codes, np.where(probabilities == 0, 1 / (trees + 1), probabilities)
    )
    clipped = 0
    if max_weight is not None:
        clipped = int((weights > max_weight).sum())
        weights = _limited(weights, codes, max_weight)
    return LeakageNeutralWeights(weights, probabilities, tuple(classes.tolist()), prior, infinite, clipped)


def weights_from_probabilities(codes: npt.NDArray[np.int64], probabilities: Floats) -> tuple[Floats, Floats]:
    """Return the weights 1 / P(S = y | l), mean 1, and the prior π under which classes keep their share of weight.

    With a = 1/π, w_i = Σ_k a_k p_ik / (a_y p_iy). Class y keeps its share if Σ_k M_yk a_k = c a_y for every y, where
    M_yk is the mean of p_ik / p_iy over the class: a is the Perron vector of M, and c the mean weight.
    """
    own = probabilities[np.arange(len(codes)), codes]
    ratios = probabilities / own[:, None]
    means = np.array([ratios[codes == y].mean(axis=0) for y in range(probabilities.shape[1])])
    values, vectors = np.linalg.eig(means)
    inverse_prior = np.abs(vectors[:, int(values.real.argmax())].real)
    weights = (ratios @ inverse_prior) / inverse_prior[codes]
    prior = 1 / inverse_prior
    return weights / weights.mean(), prior / prior.sum()


def with_products(leakage: Floats) -> Floats:
    """Return the features followed by the products of every two of them, which the paper's weights use."""
    first, second = np.triu_indices(leakage.shape[1], 1)
    return np.column_stack([leakage, leakage[:, first] * leakage[:, second]])


def _checked(leakage: npt.ArrayLike, n: int) -> Floats:
    rows = np.asarray(leakage, dtype=np.float64)
    rows = rows[:, None] if rows.ndim == 1 else rows
    if rows.ndim != 2 or len(rows) != n:
        raise ValueError(
            f"There are {n:,} labels, but {len(rows):,} rows of leakage features: give one row per label."
        )
    if not np.isfinite(rows).all():
        raise ValueError(
            "The leakage features have missing or infinite values; fill or drop these rows first."
        )
    return rows


def _limited(weights: Floats, codes: npt.NDArray[np.int64], largest: float) -> Floats:
    """Return weights of at most `largest`; what is cut goes to the rest of the same class, in proportion."""
    limited = weights.copy()
    for y in np.unique(codes):
        mine = weights[codes == y]
        low, high = 1.0, max(largest / mine.min(), 1.0)
        for _ in range(100):
            middle = np.sqrt(low * high)
            low, high = (
                (middle, high) if np.minimum(middle * mine, largest).sum() < mine.sum() else (low, middle)
            )
        limited[codes == y] = np.minimum(high * mine, largest)
    return limited
