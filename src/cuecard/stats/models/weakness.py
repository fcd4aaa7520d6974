"""ICQ's tests of a model: its accuracy with and without each cue, and its predictions where gold labels are flat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import ndtr, ndtri

from cuecard.stats.arrays import Array, Floats, Ints, Matrix
from cuecard.stats.cues.within_example import stratified_hypergeometric_log_p
from cuecard.stats.intervals import combined_shares, newcombe_difference

__all__ = [
    "AccuracyGaps",
    "FlattenedDistribution",
    "ModelWeakness",
    "accuracy_gaps",
    "checked_members",
    "checked_truths",
    "divergence_interval",
    "flattened_distribution",
    "model_weakness",
]


def checked_truths(values: npt.ArrayLike, name: str) -> npt.NDArray[np.bool_]:
    """Truth values, one per instance."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} must be a vector with one entry per instance, got shape {array.shape}.")
    if array.dtype != np.bool_ and not np.all((array == 0) | (array == 1)):
        raise ValueError(f"{name} must hold only true and false.")
    return array.astype(np.bool_)


def checked_members(has: Matrix, rows: int, name: str) -> Matrix:
    """Zeros and ones of an instances × cues matrix, dense or sparse, as CSR integers."""
    member = sparse.csr_matrix(has).astype(bool).astype(np.int64)
    if member.shape[0] != rows:
        raise ValueError(f"{name} must have one row per instance ({rows}), got shape {member.shape}.")
    return member


_NEWTON_STEPS = 60


@dataclass(frozen=True)
class FlattenedDistribution:
    """Predicted label shares on a sample with equally many instances of every gold label."""

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


_LN10 = float(np.log(10.0))
# Resamples held in memory at a time.
_CHUNK = 64


@dataclass(frozen=True)
class AccuracyGaps:
    """ΔAcc(f) = accuracy where the cue is − accuracy where it is not; arrays follow the cues."""

    with_cue: Ints
    without_cue: Ints
    accuracy_with: Floats
    accuracy_without: Floats
    gap: Floats
    """NaN for a cue that every instance has, or none."""
    low: Floats
    high: Floats
    """Newcombe's interval from the two Wilson intervals."""
    log10_p: Floats
    """Base-10 log of the exact two-sided (hypergeometric) p-value."""


@dataclass(frozen=True)
class ModelWeakness:
    """Σ|Δ| over the cues: raw, without the part that noise alone adds, and an interval for the truth."""

    weakness: float
    """Raw sum; never below the true sum in expectation."""
    corrected: float
    """Sum without the noise; zero in expectation when no cue matters, and never above the true sum."""
    low: float
    """Lower end for the true sum, from the corrected value."""
    high: float
    """Upper end for the true sum, from the raw value."""

    @property
    def noise(self) -> float:
        """Part of the raw sum that absolute values of noise account for."""
        return self.weakness - self.corrected


def accuracy_gaps(correct: npt.ArrayLike, has_cue: Matrix, *, confidence: float = 0.95) -> AccuracyGaps:
    """Accuracy gap of every cue, interval and exact test (``has_cue``: instances × cues, dense or sparse)."""
    right, member = _checked(correct, has_cue)
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    total, total_right = len(right), int(right.sum())
    inside = np.asarray(member.sum(axis=0)).ravel().astype(np.int64)
    inside_right = np.asarray(right @ member).ravel().astype(np.int64)
    outside, outside_right = total - inside, total_right - inside_right
    with np.errstate(invalid="ignore", divide="ignore"):
        first, second = inside_right / inside, outside_right / outside
    low, high = newcombe_difference(inside_right, inside, outside_right, outside, confidence)
    drawn, whole = inside[:, None], np.ones((len(inside), 1), dtype=np.int64)
    log_p = stratified_hypergeometric_log_p(inside_right, drawn, whole * total_right, whole * total)
    return AccuracyGaps(inside, outside, first, second, first - second, low, high, log_p / _LN10)


def model_weakness(
    correct: npt.ArrayLike,
    has_cue: Matrix,
    *,
    confidence: float = 0.95,
    draws: int = 500,
    seed: int = 0,
    effects: npt.ArrayLike | None = None,
) -> ModelWeakness:
    """Σ|Δ| over the cues, the same without what noise adds to absolute values, and a bootstrap interval.

    The absolute value of a noisy zero is positive, so the raw sum grows with the number of cues and with
    how rare they are. The correction takes a gap's sign from one half of the data and its size from the
    other: where the gap is zero the halves disagree as often as they agree. Its average over all halvings
    has a closed form. The interval is wide on purpose: a plain bootstrap of absolute values never reaches
    zero. ``effects`` are design effects, one per cue, where instances are not independent.
    """
    right, member = _checked(correct, has_cue)
    if not 0 < confidence < 1 or draws < 2:
        raise ValueError("confidence must be between 0 and 1 and draws at least 2.")
    rng = np.random.default_rng(seed)
    n = len(right)
    gaps = _gaps(np.ones((1, n)), right, member)
    effect = np.ones(member.shape[1]) if effects is None else np.asarray(effects, dtype=np.float64)
    independent = _deviations(right, member)
    deviations = independent * np.sqrt(effect)
    # Resamples of single instances vary too little by the mean effect.
    total = float((independent**2).sum())
    more = float(np.sqrt((deviations**2).sum() / total)) if total else 1.0
    resampled = np.concatenate(
        [_gaps(rng.multinomial(n, np.full(n, 1 / n), size=size), right, member) for size in _chunks(draws)]
    )
    raw, corrected = float(np.nansum(np.abs(gaps))), float(np.nansum(_cross_signed(gaps, deviations)))
    z = float(ndtri((1 + confidence) / 2))
    corrected_error = float(np.std(np.nansum(_cross_signed(resampled, deviations), axis=1))) * more
    raw_error = float(np.std(np.nansum(np.abs(resampled), axis=1))) * more
    return ModelWeakness(raw, corrected, max(0.0, corrected - z * corrected_error), raw + z * raw_error)


def _cross_signed(gaps: Floats, deviations: Floats) -> Floats:
    """Gaps without noise: expected size of each in one random half, signed by the other half.

    A half's gap is the whole's ± e, e normal with the deviation s of the whole, so with t = gap / s the
    expected (gap + e) · sign(gap − e) is s · (t (2Φ(t) − 1) − 2φ(t)).
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        t = gaps / deviations
    density = np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi)
    return np.asarray(deviations * (t * (2 * ndtr(t) - 1) - 2 * density))


def _deviations(right: Floats, member: Matrix) -> Floats:
    """Errors of the gaps, from shares with one success and one failure added (Agresti and Caffo)."""
    inside, inside_right = (np.asarray(part).ravel() for part in (member.sum(axis=0), right @ member))
    variance = np.zeros(len(inside))
    for n, k in ((inside, inside_right), (len(right) - inside, right.sum() - inside_right)):
        share = (k + 1) / (n + 2)
        variance += share * (1 - share) / (n + 2)
    return np.sqrt(variance)


def _gaps(weights: Array, right: Floats, member: Matrix) -> Floats:
    """Accuracy gap of every cue (columns) under every row of instance weights."""
    total, total_right = weights.sum(axis=1, keepdims=True), (weights @ right)[:, None]
    inside = np.asarray((member.T @ weights.T).T)
    inside_right = np.asarray((member.T @ (weights * right).T).T)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(inside_right / inside - (total_right - inside_right) / (total - inside))


def _chunks(count: int) -> list[int]:
    return [min(_CHUNK, count - start) for start in range(0, count, _CHUNK)]


def _checked(correct: npt.ArrayLike, has_cue: Matrix) -> tuple[Floats, Matrix]:
    right = checked_truths(correct, "correct")
    return right.astype(np.float64), checked_members(has_cue, len(right), "has_cue").astype(np.float64)
