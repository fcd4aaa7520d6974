"""Accuracy with and without each cue, and the model weakness that sums the gaps (ICQ's accuracy test)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.intervals import newcombe_difference
from cuecard.stats.models.correctness import checked_members, checked_truths
from cuecard.stats.stratified import stratified_hypergeometric_log_p

__all__ = ["AccuracyGaps", "ModelWeakness", "accuracy_gaps", "model_weakness"]


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


def accuracy_gaps(correct: npt.ArrayLike, has_cue: Any, *, confidence: float = 0.95) -> AccuracyGaps:
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
    has_cue: Any,
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


def _deviations(right: Floats, member: Any) -> Floats:
    """Errors of the gaps, from shares with one success and one failure added (Agresti and Caffo)."""
    inside, inside_right = (np.asarray(part).ravel() for part in (member.sum(axis=0), right @ member))
    variance = np.zeros(len(inside))
    for n, k in ((inside, inside_right), (len(right) - inside, right.sum() - inside_right)):
        share = (k + 1) / (n + 2)
        variance += share * (1 - share) / (n + 2)
    return np.sqrt(variance)


def _gaps(weights: npt.NDArray[Any], right: Floats, member: Any) -> Floats:
    """Accuracy gap of every cue (columns) under every row of instance weights."""
    total, total_right = weights.sum(axis=1, keepdims=True), (weights @ right)[:, None]
    inside = np.asarray((member.T @ weights.T).T)
    inside_right = np.asarray((member.T @ (weights * right).T).T)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(inside_right / inside - (total_right - inside_right) / (total - inside))


def _chunks(count: int) -> list[int]:
    return [min(_CHUNK, count - start) for start in range(0, count, _CHUNK)]


def _checked(correct: npt.ArrayLike, has_cue: Any) -> tuple[Floats, Any]:
    right = checked_truths(correct, "correct")
    return right.astype(np.float64), checked_members(has_cue, len(right), "has_cue").astype(np.float64)
