"""Contrasts of models on flattened choices."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.intervals import combined_shares

__all__ = [
    "FlattenedContrast",
    "flattened_contrast",
]


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


_HALVINGS = 80


@dataclass(frozen=True)
class FlattenedContrast:
    """How much more often a label is predicted with a cue than without it, both with flat gold labels."""

    share: float
    """Share of instances with the cue that are predicted the label, every gold label weighing the same."""
    share_without: float
    """The same of instances without the cue."""
    log10_p: float
    """Base-10 log of the two-sided p-value of "the cue does not raise or lower the share of the label"."""

    @property
    def difference(self) -> float:
        """Share with the cue minus share without."""
        return self.share - self.share_without


def flattened_contrast(
    predicted_label: npt.ArrayLike,
    gold: npt.ArrayLike,
    having: npt.ArrayLike,
    *,
    draws: int = 9999,
    seed: int = 0,
) -> FlattenedContrast | None:
    """Share of a label among predictions with a cue beside that without, and a simulated test of their difference.

    One entry per instance: whether the label is predicted, the gold label, and whether the instance has the cue.
    A model that merely prefers a label does so without the cue, too, so its difference is nil. So is that of a
    model which is merely better or worse with the cue. Both are in the null: predictions are drawn from the most likely
    rates per gold label, with and without the cue, whose flattened shares are equal; the differences are compared in
    standard errors. Shuffling who has the cue would test that it does not matter at all, and calls a model that
    is only worse with the cue leaning up to twice as often as it should where a gold label has five instances.
    None if some gold label has no instance with the cue or none without.

    >>> flattened_contrast([1, 1, 1, 1], [0, 0, 1, 1], [1, 0, 1, 0]).difference
    0.0
    """
    hit, truth, here = np.asarray(predicted_label, np.bool_), np.asarray(gold), np.asarray(having, np.bool_)
    if not hit.shape == truth.shape == here.shape or hit.ndim != 1:
        raise ValueError("predicted_label, gold and having must be vectors of one length.")
    strata = np.unique(truth, return_inverse=True)[1]
    many = int(strata.max(initial=-1)) + 1

    def counts(chosen: npt.NDArray[np.bool_]) -> Ints:
        return np.bincount(strata[chosen], minlength=many).astype(np.int64)

    inside, outside = counts(here), counts(~here)
    if not many or not inside.all() or not outside.all():
        return None
    hits, others = counts(hit & here), counts(hit & ~here)
    rng = np.random.default_rng(seed)
    rates, rates_without = _likeliest_equal_shares(hits, inside, others, outside)
    drawn = rng.binomial(inside, rates, size=(draws, many))
    drawn_without = rng.binomial(outside, rates_without, size=(draws, many))
    observed = abs(_studentised(hits, inside, others, outside))
    # Ties must count although sums of floats differ in the last digit.
    beyond = int((np.abs(_studentised(drawn, inside, drawn_without, outside)) >= observed - 1e-9).sum())
    return FlattenedContrast(
        float((hits / inside).mean()),
        float((others / outside).mean()),
        float(np.log10((1 + beyond) / (1 + draws))),
    )


def _studentised(hits: Ints, inside: Ints, others: Ints, outside: Ints) -> Floats:
    """Mean difference of the shares over strata (last axis) in standard errors."""
    difference = (hits / inside - others / outside).mean(axis=-1)
    variance = 0.0
    for part, of in ((hits, inside), (others, outside)):
        # A success and a failure added keep the variance above zero where all or none were predicted it.
        share = (part + 1) / (of + 2)
        variance = variance + (share * (1 - share) / of).sum(axis=-1)
    return np.asarray(difference / np.sqrt(variance) * hits.shape[-1])


def _likeliest_equal_shares(hits: Ints, inside: Ints, others: Ints, outside: Ints) -> tuple[Floats, Floats]:
    """Maximum-likelihood rates per stratum with and without the cue whose sums over strata are equal.

    With a multiplier λ for the constraint, k/p − (n − k)/(1 − p) = ±λ has one root in (0, 1), which falls as λ rises
    for the rates with the cue and rises for those without: halving an interval finds the λ at which the sums meet.
    Half a success and half a failure are added to every stratum, so that all rates are inside (0, 1).
    """

    def rates(k: Ints, n: Ints, multiplier: float) -> Floats:
        hits, all_ = k + 0.5, n + 1.0
        b = multiplier + all_
        # The stable form of the smaller root of λp² − (λ + n)p + k = 0.
        return np.asarray(2 * hits / (b + np.sqrt(np.maximum(b**2 - 4 * multiplier * hits, 0.0))))

    low, high = -1.0, 1.0

    def apart(multiplier: float) -> float:
        return float(rates(hits, inside, multiplier).sum() - rates(others, outside, -multiplier).sum())

    while apart(low) < 0:
        low *= 2
    while apart(high) > 0:
        high *= 2
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if apart(middle) > 0 else (low, middle)
    return rates(hits, inside, low), rates(others, outside, -low)
