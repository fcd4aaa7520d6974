"""Distribution test: what a model predicts for instances with a cue once their gold labels are made flat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.intervals import combined_shares

__all__ = ["FlattenedDistribution", "divergence_interval", "flattened_distribution"]


_NEWTON_STEPS = 60


@dataclass(frozen=True)
class FlattenedDistribution:
    """Predicted label shares on a sample with equally many instances of every gold label."""

    gold_counts: Ints
    """Instances with the cue by gold label, before flattening."""
    per_label: int
    """Instances per label in a flattened draw: the count of the rarest label."""
    draws: Floats
    """Predicted shares of every flattened draw, draws × labels."""
    share: Floats
    """Expected predicted share of each label over all flattened draws, exactly."""
    low: Floats
    high: Floats
    """Interval of the share, Wilson's ends combined in squares: the test instances themselves are a sample too."""
    amplification: float
    """Divergence of the predicted shares from flat, KL(predicted ‖ flat) in bits."""
    amplification_low: float
    amplification_high: float
    """Bootstrap interval; it starts at 0 where the shares may be flat."""
    amplification_null: float
    """What the amplification of an even-handed model stays below in 95 % of samples of this size."""
    statistic: float
    """Score statistic of "the model predicts every label equally often on flattened data"."""
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
    simulations: int = 9_999,
    seed: int = 0,
) -> FlattenedDistribution:
    """Predicted label shares when the gold labels are sampled down to the rarest, with interval and test.

    ``predicted`` and ``gold`` are label codes of the instances that have the cue. Drawing m instances of each
    gold label without replacement only re-counts the confusion table, so a draw costs nothing. The test is of
    marginal homogeneity: a model that errs evenly passes, one that leans to a label does not. Its p-value is that of
    `simulations` tables drawn under the null, and so never below 1 / (simulations + 1).
    """
    table = _confusion(predicted, gold, label_count)
    if not 0 < confidence < 1 or draws < 1 or simulations < 1:
        raise ValueError("confidence must be between 0 and 1, draws and simulations at least 1.")
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
    low, high = combined_shares(
        np.full(len(table), 1 / len(table)), table, np.broadcast_to(counts[:, None], table.shape), confidence
    )
    amplification = _bits_from_flat(share)
    spread = divergence_interval(float(amplification), _bits_from_flat(repeats), confidence)
    statistic, log10_p, null_bits = _score_test(table, simulations, rng)
    return FlattenedDistribution(
        gold_counts=counts,
        per_label=rarest,
        draws=np.asarray(flat, dtype=np.float64),
        share=share,
        low=low,
        high=high,
        amplification=float(amplification),
        amplification_low=spread[0],
        amplification_high=spread[1],
        amplification_null=float(np.quantile(null_bits, 0.95)),
        statistic=statistic,
        log10_p=log10_p,
    )


def divergence_interval(value: float, repeats: Floats, confidence: float = 0.95) -> tuple[float, float]:
    """Bootstrap interval of a divergence: from the reflected lower end, 0 at least, to the upper quantile.

    A divergence is never negative, so noise only ever adds to it, and resamples have more of it than the sample
    has: the lower quantile of resamples would never reach 0, not even for a model that is perfectly flat. The lower end
    is 2 · value − the upper quantile instead, which takes off what resampling adds.
    """
    lower, upper = (float(end) for end in np.quantile(repeats, [(1 - confidence) / 2, (1 + confidence) / 2]))
    return max(0.0, min(lower, 2 * value - upper)), max(upper, 2 * value - lower)


def _confusion(predicted: npt.ArrayLike, gold: npt.ArrayLike, label_count: int | None) -> Ints:
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


def _bits_from_flat(shares: Floats) -> Floats:
    """KL(shares ‖ flat) in bits along the last axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(shares > 0, shares * np.log2(shares * shares.shape[-1]), 0.0)
    return np.asarray(np.maximum(terms.sum(axis=-1), 0.0))


def _score_test(table: Ints, simulations: int, rng: np.random.Generator) -> tuple[float, float, Floats]:
    """Score statistic of flat predicted shares, the base-10 log of its p-value, and the bits of simulated tables.

    The p-value comes from tables drawn from the most likely confusion shares whose predictions are flat, because
    the χ² tail is far too small where a gold label has few instances. It is never below 1 / (1 + simulations).
    """
    counts = table.sum(axis=1)
    null = _likeliest_flat_rows(table)
    labels = len(table)
    covariance = sum(
        (np.diag(row) - np.outer(row, row)) / count for row, count in zip(null, counts, strict=True)
    ) / (labels**2)
    # The last share follows from the others.
    inverse = np.linalg.inv(np.asarray(covariance)[:-1, :-1])

    def distance(tables: Ints) -> Floats:
        off = (tables / counts[:, None]).mean(axis=-2)[..., :-1] - 1.0 / labels
        return np.asarray(np.einsum("...i,ij,...j->...", off, inverse, off))

    statistic = float(distance(table))
    tables = rng.multinomial(counts, null, size=(simulations, labels))
    beyond = int((distance(tables) >= statistic - 1e-9).sum())
    bits = _bits_from_flat((tables / counts[:, None]).mean(axis=-2))
    return statistic, float(np.log10((1 + beyond) / (1 + simulations))), bits


def _likeliest_flat_rows(table: Ints) -> Floats:
    """Maximum-likelihood row shares of a confusion table under predictions that are flat on flattened data.

    Rows and columns of such shares sum to one, so they are n / (a_row + b_column) with multipliers a and b, found
    by Newton steps on the concave dual. Half an instance is spread over each row, so that all are positive.
    """
    labels = len(table)
    smoothed = table + 0.5 / labels
    multipliers = np.concatenate([smoothed.sum(axis=1), np.zeros(labels)])

    def sums(values: Floats) -> Floats:
        return np.asarray(values[:labels, None] + values[None, labels:])

    def dual(values: Floats) -> float:
        both = sums(values)
        return float((smoothed * np.log(both)).sum() - values.sum()) if both.min() > 0 else -np.inf

    for _ in range(_NEWTON_STEPS):
        shares = smoothed / sums(multipliers)
        slope = np.concatenate([shares.sum(axis=1), shares.sum(axis=0)]) - 1
        if np.abs(slope).max() < 1e-10:
            break
        bend = shares / sums(multipliers)
        curvature = np.block([[np.diag(bend.sum(axis=1)), bend], [bend.T, np.diag(bend.sum(axis=0))]])
        # A constant can move from a to b, so the system has many solutions; any will do.
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        here, scale = dual(multipliers), 1.0
        while dual(multipliers + scale * step) < here - 1e-12 and scale > 1e-9:
            scale /= 2
        multipliers = multipliers + scale * step
    shares = smoothed / sums(multipliers)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
