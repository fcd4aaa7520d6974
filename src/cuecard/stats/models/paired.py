"""Two models on the same test set: exact McNemar test and bootstrap interval of the accuracy difference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.models.correctness import checked_members, checked_truths

__all__ = ["PairedByCue", "PairedResult", "paired_by_cue", "paired_comparison"]


_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class PairedResult:
    """Accuracy of model A minus accuracy of model B on the same instances."""

    n: int
    only_a: int
    """Instances that only A has right."""
    only_b: int
    accuracy_a: float
    accuracy_b: float
    difference: float
    low: float
    high: float
    log10_p: float
    """Base-10 log of the exact two-sided McNemar p-value."""

    @property
    def p_value(self) -> float:
        """The exact two-sided McNemar p-value."""
        return float(10.0**self.log10_p)


@dataclass(frozen=True)
class PairedByCue:
    """Paired comparisons within the instances of every cue; arrays follow the cues."""

    n: Ints
    only_a: Ints
    only_b: Ints
    difference: Floats
    low: Floats
    high: Floats
    log10_p: Floats


def paired_comparison(
    correct_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    *,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> PairedResult:
    """Exact McNemar test and percentile bootstrap interval of the difference in accuracy.

    Only the instances on which exactly one model is right tell them apart: under the null each falls to
    either side with probability one half. A resample of instances is a multinomial draw of the three kinds.
    """
    a, b = _checked(correct_a, correct_b)
    only_a, only_b = int(np.sum(a & ~b)), int(np.sum(b & ~a))
    n, first, second = np.array([[len(a)], [only_a], [only_b]])
    low, high = _bootstrap(n, first, second, confidence, draws, seed)
    return PairedResult(
        n=len(a),
        only_a=only_a,
        only_b=only_b,
        accuracy_a=float(a.mean()),
        accuracy_b=float(b.mean()),
        difference=(only_a - only_b) / len(a),
        low=float(low[0]),
        high=float(high[0]),
        log10_p=mcnemar_log_p(only_a, only_b) / _LN10,
    )


def paired_by_cue(
    correct_a: npt.ArrayLike,
    correct_b: npt.ArrayLike,
    has_cue: Any,
    *,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> PairedByCue:
    """Comparison within the instances of each cue (``has_cue``: instances × cues, dense or sparse)."""
    a, b = _checked(correct_a, correct_b)
    member = checked_members(has_cue, len(a), "has_cue")
    n = np.asarray(member.sum(axis=0)).ravel()
    only_a, only_b = (np.asarray(side.astype(np.int64) @ member).ravel() for side in (a & ~b, b & ~a))
    low, high = _bootstrap(n, only_a, only_b, confidence, draws, seed)
    with np.errstate(invalid="ignore"):
        difference = (only_a - only_b) / n
    log_p = [mcnemar_log_p(int(x), int(y)) for x, y in zip(only_a, only_b, strict=True)]
    return PairedByCue(n, only_a, only_b, difference, low, high, np.array(log_p) / _LN10)


def mcnemar_log_p(only_a: int, only_b: int) -> float:
    """Natural log of the exact two-sided p-value: 2 · P(Binomial(a + b, ½) ≥ max(a, b)), at most one."""
    total, more = only_a + only_b, max(only_a, only_b)
    if 2 * more <= total + 1:
        return 0.0
    side = np.arange(more, total + 1, dtype=np.float64)
    logs = gammaln(total + 1.0) - gammaln(side + 1.0) - gammaln(total - side + 1.0)
    tail = float(logs[0] + np.log(np.sum(np.exp(logs - logs[0])))) - total * np.log(2.0)
    return min(0.0, float(np.log(2.0) + tail))


def _bootstrap(
    n: Ints, only_a: Ints, only_b: Ints, confidence: float, draws: int, seed: int
) -> tuple[Floats, Floats]:
    if not 0 < confidence < 1 or draws < 1:
        raise ValueError("confidence must be between 0 and 1 and draws at least 1.")
    size = np.maximum(n, 1)
    shares = np.stack([only_a / size, only_b / size, 1.0 - (only_a + only_b) / size], axis=1)
    drawn = np.random.default_rng(seed).multinomial(n, np.clip(shares, 0.0, 1.0), size=(draws, len(n)))
    differences = (drawn[..., 0] - drawn[..., 1]) / size
    low, high = np.quantile(differences, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def _checked(
    correct_a: npt.ArrayLike, correct_b: npt.ArrayLike
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    a, b = checked_truths(correct_a, "correct_a"), checked_truths(correct_b, "correct_b")
    if a.shape != b.shape:
        raise ValueError(f"both models need the same instances, got {len(a)} and {len(b)}.")
    return a, b
