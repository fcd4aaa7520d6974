"""Does a model prefer a label, or a choice, with a cue once other properties such as length are held fixed?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from cuecard.stats.arrays import Floats, Ints, Matrix
from cuecard.stats.cues.within_example import stratified_hypergeometric_log_p

__all__ = ["PreferenceGiven", "choices_given", "labels_given"]

_LN10 = float(np.log(10.0))
_NEWTON_STEPS = 50
#: Keeps coefficients finite where a model is always correct, or never picks the longest.
_PENALTY = 1e-2


@dataclass(frozen=True)
class PreferenceGiven:
    """For every cue: which way the model leans with it, and the two-sided p-value, other properties held fixed."""

    excess: Floats
    """How much more often, per instance with the cue, than the rest explains the label is predicted; per example of
    which some but not all choices have it, the choice picked."""
    log10_p: Floats
    """Base-10 log of the p-value; nan where nothing could differ."""


def labels_given(
    predicted_label: npt.ArrayLike, strata: npt.ArrayLike, having: npt.ArrayLike
) -> PreferenceGiven:
    """Whether a label is predicted more often with a cue within strata, by an exact test for every cue.

    Args:
        predicted_label: instances × cues, whether the usual label of the cue is predicted.
        strata: code of every instance's stratum, such as gold label × length.
        having: instances × cues, whether the instance has the cue.

    Within a stratum the predictions are exchangeable if the cue does not matter, so a model that is merely better at
    one label, or follows the length, is in the null.

    >>> result = labels_given([[1], [1], [1], [0], [0], [0]], [0] * 6, [[1], [1], [1], [0], [0], [0]])
    >>> round(float(10 ** result.log10_p[0]), 3), float(result.excess[0])
    (0.1, 0.5)
    """
    hit, has = np.asarray(predicted_label, dtype=np.int64), np.asarray(having, dtype=np.int64)
    codes = np.unique(np.asarray(strata), return_inverse=True)[1]
    if hit.shape != has.shape or hit.ndim != 2 or len(codes) != len(hit):
        raise ValueError(
            "predicted_label and having must be instances × cues, and strata one code per instance."
        )
    number = int(codes.max(initial=-1)) + 1

    def per_stratum(values: Ints) -> Ints:
        table = np.zeros((number, values.shape[1]), dtype=np.int64)
        np.add.at(table, codes, values)
        return table.T

    size = np.broadcast_to(np.bincount(codes, minlength=number), (hit.shape[1], number)).astype(np.int64)
    drawn, marked, both = per_stratum(has), per_stratum(hit), per_stratum(hit * has)
    k = both.sum(axis=1)
    log_p = np.asarray(stratified_hypergeometric_log_p(k, drawn, marked, size)) / _LN10
    with np.errstate(invalid="ignore", divide="ignore"):
        expected = (drawn * marked / np.maximum(size, 1)).sum(axis=1)
        excess = (k - expected) / drawn.sum(axis=1)
    free = ((drawn > 0) & (drawn < size) & (marked > 0) & (marked < size)).any(axis=1)
    return PreferenceGiven(excess, np.where(free, np.minimum(log_p, 0.0), np.nan))


def choices_given(
    picked: npt.ArrayLike, examples: npt.ArrayLike, properties: npt.ArrayLike, having: Matrix
) -> PreferenceGiven:
    """Whether choices with a cue are picked more often than other properties explain (score test, conditional logit).

    Args:
        picked: whether each choice is the one picked; one per example.
        examples: code of every choice's example; the choices of an example are adjacent.
        properties: choices × properties held fixed, such as being right or the longest.
        having: choices × cues, whether the choice has the cue.

    Each example's pick is drawn with odds exp(properties · β), β by maximum likelihood; the test asks whether the picks
    have the cue more, or less, often than that.

    >>> result = choices_given([1, 0, 1, 0, 1, 0] * 4, np.repeat(np.arange(12), 2), np.zeros((24, 1)), [[1], [0]] * 12)
    >>> bool(10 ** result.log10_p[0] < 0.001), float(result.excess[0])
    (True, 0.5)
    """
    chosen = np.asarray(picked, dtype=np.float64)
    group = np.asarray(examples, dtype=np.int64)
    x, z = np.asarray(properties, dtype=np.float64), np.asarray(having, dtype=np.float64)
    if not len(chosen) == len(group) == len(x) == len(z) or x.ndim != 2 or z.ndim != 2:
        raise ValueError("picked, examples, properties and having must have one row per choice.")
    starts = np.flatnonzero(np.diff(group, prepend=group[0] - 1 if len(group) else 0))
    index = np.cumsum(np.diff(group, prepend=group[0] if len(group) else 0) != 0)

    def centred(values: Floats, weight: Floats) -> Floats:
        return np.asarray(values - np.add.reduceat(weight[:, None] * values, starts, axis=0)[index])

    def probabilities(beta: Floats) -> Floats:
        odds = np.exp(x @ beta - np.maximum.reduceat(x @ beta, starts)[index])
        return np.asarray(odds / np.add.reduceat(odds, starts)[index])

    beta = np.zeros(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = probabilities(beta)
        inner = centred(x, p)
        slope = x.T @ (chosen - p) - _PENALTY * beta
        curvature = (inner * p[:, None]).T @ inner + _PENALTY * np.eye(x.shape[1])
        step = np.linalg.solve(curvature, slope)
        largest = float(np.abs(step).max(initial=0.0))
        beta = beta + step / max(1.0, largest)
        if largest < 1e-8:
            break
    p = probabilities(beta)
    inner, tested = centred(x, p), centred(z, p)
    curvature = (inner * p[:, None]).T @ inner + _PENALTY * np.eye(x.shape[1])
    cross = (inner * p[:, None]).T @ tested
    score = z.T @ (chosen - p)
    information = (p[:, None] * tested**2).sum(axis=0) - (cross * np.linalg.solve(curvature, cross)).sum(
        axis=0
    )
    spread = (p[:, None] * tested**2).sum(axis=0)
    # What the properties determine exactly leaves nothing to test.
    free = information > 1e-9 * np.maximum(spread, 1e-12)
    statistic = np.where(free, np.abs(score) / np.sqrt(np.where(free, information, 1.0)), np.nan)
    # Few examples leave little to estimate the properties' odds by, so tails are Student's: as normal ones in the log
    # (Wallace 1959), where they never underflow.
    estimated = int((np.abs(inner) > 1e-12).any(axis=0).sum())
    freedom = max(len(starts) - estimated - 1, 1)
    if estimated:
        statistic = (
            np.sqrt(freedom * np.log1p(statistic**2 / freedom)) * (8 * freedom + 1) / (8 * freedom + 3)
        )
    log_p = np.minimum((np.log(2.0) + log_ndtr(-statistic)) / _LN10, 0.0)
    differing = (np.maximum.reduceat(z, starts, axis=0) > np.minimum.reduceat(z, starts, axis=0)).sum(axis=0)
    return PreferenceGiven(score / np.maximum(differing, 1), np.where(free, log_p, np.nan))
