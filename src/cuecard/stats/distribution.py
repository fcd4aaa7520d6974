"""Distribution test: what a model predicts for instances with a cue once their gold labels are made flat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc, gammaln

__all__ = ["FlattenedDistribution", "flattened_distribution"]

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]

_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class FlattenedDistribution:
    """Predicted label shares on a sample with equally many instances of every gold label."""

    gold_counts: IntArray
    """Instances with the cue by gold label, before flattening."""
    per_label: int
    """Instances per label in a flattened draw: the count of the rarest label."""
    draws: FloatArray
    """Predicted shares of every flattened draw, draws × labels."""
    share: FloatArray
    """Expected predicted share of each label over all flattened draws, exactly."""
    low: FloatArray
    high: FloatArray
    """Bootstrap interval of the share: the test instances themselves are a sample too."""
    amplification: float
    """Divergence of the predicted shares from flat, KL(predicted ‖ flat) in bits."""
    amplification_low: float
    amplification_high: float
    statistic: float
    """Wald statistic of "the model predicts every label equally often on flattened data"."""
    log10_p: float

    @property
    def p_value(self) -> float:
        """The p-value as a float: 0.0 below about 1e-323."""
        return float(10.0**self.log10_p)


def flattened_distribution(
    predicted: npt.ArrayLike,
    gold: npt.ArrayLike,
    *,
    label_count: int | None = None,
    draws: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> FlattenedDistribution:
    """Predicted label shares when the gold labels are sampled down to the rarest, with interval and test.

    ``predicted`` and ``gold`` are label codes of the instances that have the cue. Drawing m instances of each
    gold label without replacement only re-counts the confusion table, so a draw costs nothing. The test is of
    marginal homogeneity: a model that errs evenly passes, one that leans to a label does not.
    """
    table = _confusion(predicted, gold, label_count)
    if not 0 < confidence < 1 or draws < 1:
        raise ValueError("confidence must be between 0 and 1 and draws at least 1.")
    rng = np.random.default_rng(seed)
    counts = table.sum(axis=1)
    rarest = int(counts.min())
    flat = sum(
        rng.multivariate_hypergeometric(row, rarest, size=draws, method="marginals") for row in table
    ) / (rarest * len(table))
    rows = table / counts[:, None]
    share = rows.mean(axis=0)
    redrawn = rng.multinomial(counts, rows, size=(max(draws, 1000), len(table))) / counts[:, None]
    repeats = redrawn.mean(axis=1)
    levels = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(repeats, levels, axis=0)
    amplification = _bits_from_flat(share)
    spread = np.quantile(_bits_from_flat(repeats), levels)
    statistic = _wald(table)
    return FlattenedDistribution(
        gold_counts=counts,
        per_label=rarest,
        draws=np.asarray(flat, dtype=np.float64),
        share=share,
        low=low,
        high=high,
        amplification=float(amplification),
        amplification_low=float(spread[0]),
        amplification_high=float(spread[1]),
        statistic=statistic,
        log10_p=_chi_square_log_tail(statistic, len(table) - 1) / _LN10,
    )


def _confusion(predicted: npt.ArrayLike, gold: npt.ArrayLike, label_count: int | None) -> IntArray:
    """Confusion counts, gold × predicted; every gold label must occur."""
    guess, truth = np.asarray(predicted), np.asarray(gold)
    if guess.ndim != 1 or guess.shape != truth.shape or not len(guess):
        raise ValueError(
            f"predicted and gold must be vectors of one length, got {guess.shape} and {truth.shape}."
        )
    for values, name in ((guess, "predicted"), (truth, "gold")):
        if not np.issubdtype(values.dtype, np.integer) or values.min() < 0:
            raise ValueError(f"{name} must hold label codes 0, 1, 2, …")
    count = max(int(guess.max()), int(truth.max())) + 1
    if label_count is not None:
        if count > label_count:
            raise ValueError(f"label code {count - 1} is outside the {label_count} labels.")
        count = label_count
    table = np.bincount(truth * count + guess, minlength=count * count).reshape(count, count).astype(np.int64)
    empty = np.flatnonzero(table.sum(axis=1) == 0)
    if len(empty):
        raise ValueError(
            f"no instance with the cue has gold label {int(empty[0])}, so it cannot be flattened."
        )
    if count < 2:
        raise ValueError("the distribution test needs at least two labels.")
    return table


def _bits_from_flat(shares: FloatArray) -> FloatArray:
    """KL(shares ‖ flat) in bits along the last axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(shares > 0, shares * np.log2(shares * shares.shape[-1]), 0.0)
    return np.asarray(np.maximum(terms.sum(axis=-1), 0.0))


def _wald(table: IntArray) -> float:
    """Squared distance of the flattened predicted shares from flat in units of their covariance.

    Half an instance is spread over each row of the table, so that a model which never predicts some label has
    a covariance that can be inverted.
    """
    labels = len(table)
    smoothed = table + 0.5 / labels
    counts = smoothed.sum(axis=1)
    rows = smoothed / counts[:, None]
    covariance = sum(
        (np.diag(row) - np.outer(row, row)) / count for row, count in zip(rows, counts, strict=True)
    ) / (labels**2)
    # The last share follows from the others.
    off = (table / table.sum(axis=1, keepdims=True)).mean(axis=0)[:-1] - 1.0 / labels
    return float(off @ np.linalg.solve(np.asarray(covariance)[:-1, :-1], off))


def _chi_square_log_tail(statistic: float, freedom: int) -> float:
    """Natural log of P(χ² ≥ statistic), by its asymptotic series where floats underflow."""
    a, x = freedom / 2.0, statistic / 2.0
    direct = float(gammaincc(a, x))
    if direct > 1e-280:
        return float(np.log(direct))
    series, term = 1.0, 1.0
    for step in range(1, 20):
        term *= (a - step) / x
        series += term
    return float((a - 1.0) * np.log(x) - x - gammaln(a) + np.log(series))
