"""Distribution test for multiple choice: how often choices with a cue are picked once they are right by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from cuecard.stats.arrays import Floats
from cuecard.stats.intervals import combined_shares

_LN10 = float(np.log(10.0))


@dataclass(frozen=True)
class FlattenedChoice:
    """How often a choice with the cue is picked where it is the right one as often as chance has it."""

    examples: int
    """Examples of which some but not all choices have the cue, in strata that can be flattened."""
    share: float
    """Share of the choices with the cue that are picked."""
    low: float
    high: float
    flat: float
    """The same for a model that the cue leaves cold, however good it is: the mean of 1 / choices."""
    log10_p: float
    """Base-10 log of the two-sided p-value of `share` = `flat`."""


def flattened_choice(
    picked_has: npt.ArrayLike,
    right_has: npt.ArrayLike,
    having: npt.ArrayLike,
    choices: npt.ArrayLike,
    *,
    confidence: float = 0.95,
) -> FlattenedChoice | None:
    """Share of choices with a cue that are picked, when the right one has the cue as often as chance has it.

    One entry per example: whether the picked and whether the right choice have the cue, how many choices have
    it (`having`), and how many there are. Among examples of k choices of which m have the cue, those whose right
    choice has it get weight m/k in all and the others 1 − m/k: then a model that errs evenly picks a choice
    with the cue m/k of the time, however often it is right. With two choices this is the flattening to equally
    many right and wrong instances. Strata in which one of the two kinds is missing are left out; None if no
    stratum is left.

    >>> test = flattened_choice([1, 1, 1, 0], [1, 0, 1, 0], [1, 1, 1, 1], [2, 2, 2, 2])
    >>> test.share, test.flat
    (0.75, 0.5)
    """
    picked, right = (np.asarray(values, dtype=np.bool_) for values in (picked_has, right_has))
    m, k = np.asarray(having, dtype=np.int64), np.asarray(choices, dtype=np.int64)
    if not picked.shape == right.shape == m.shape == k.shape:
        raise ValueError("picked_has, right_has, having and choices must have one entry per example")
    if ((m < 1) | (m >= k)).any():
        raise ValueError("some but not all choices of every example must have the cue")
    strata = []
    for size, some in sorted({(int(a), int(b)) for a, b in zip(k, m, strict=True)}):
        here = (k == size) & (m == some)
        groups = [here & right, here & ~right]
        if all(group.any() for group in groups):
            counts = [(int(picked[g].sum()), int(g.sum())) for g in groups]
            strata.append((int(here.sum()), some, size, counts))
    if not strata:
        return None
    total = sum(n * some for n, some, _, _ in strata)
    flat = sum(n * some / size for n, some, size, _ in strata) / total
    share, variance = 0.0, 0.0
    parts: list[tuple[float, int, int]] = []
    for n, some, size, counts in strata:
        for weight, (hits, of) in zip((some / size, 1 - some / size), counts, strict=True):
            scale = n / total * weight
            parts.append((scale, hits, of))
            share += scale * hits / of
            # A success and a failure added keep the variance above zero where all or none were picked.
            smooth = (hits + 1) / (of + 2)
            variance += scale**2 * smooth * (1 - smooth) / of
    scales, hits_of, sizes = zip(*parts, strict=True)
    low, high = combined_shares(scales, hits_of, sizes, confidence)
    z = abs(share - flat) / np.sqrt(variance)
    log_p = min(0.0, float(np.log(2.0) + log_ndtr(-z)))
    return FlattenedChoice(sum(n for n, *_ in strata), share, float(low), float(high), flat, log_p / _LN10)


def bits_from(shares: npt.ArrayLike, flat: npt.ArrayLike) -> Floats:
    """KL divergence in bits of distributions (last axis) from a flat one; how much a cue is amplified.

    >>> bits_from([[0.5, 0.5], [1.0, 0.0]], [0.5, 0.5])
    array([0., 1.])
    """
    p, q = np.asarray(shares, dtype=np.float64), np.asarray(flat, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log2(p / q), 0.0)
    return np.asarray(np.maximum(terms.sum(axis=-1), 0.0))
