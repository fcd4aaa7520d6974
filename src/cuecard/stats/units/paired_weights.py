"""Does a feature go with a label where instances have weights? (label, weight) pairs are drawn together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from cuecard.stats import _native
from cuecard.stats.arrays import Alternative, Floats, Ints, chosen_tail, divided

#: Values of the null distribution kept exactly at either end; those between are joined to as many groups.
_KEPT = 32


@dataclass(frozen=True, eq=False)
class PairShuffleTest:
    """What each feature's weighted sum is against random (label, weight) pairs; features × labels in every array."""

    z: Floats
    log_p_less: Floats
    log_p_greater: Floats
    least_log_p: Floats
    """Log of the smallest two-sided p-value that the feature could have reached."""

    def log_p(self, alternative: Alternative = "two-sided") -> Floats:
        """Natural logs of the p-values; two-sided is twice the smaller tail, at most 1."""
        return chosen_tail(alternative, self.log_p_less, self.log_p_greater)


def pair_shuffle_test(
    sums: npt.ArrayLike,
    labels: npt.ArrayLike,
    weights: npt.ArrayLike,
    many: npt.ArrayLike,
    rows_squared: npt.ArrayLike,
    *,
    frequency: npt.ArrayLike | None = None,
) -> PairShuffleTest:
    """Test of each feature's weight per label against (label, weight) pairs that ignore who has the feature.

    Weights may reveal labels: inverse class frequencies do. Taken as fixed, they make a feature with few instances of
    the rare, heavy label look certain. So an instance with the feature draws its label and weight together from all
    instances. The statistic of a feature and label l is T = Σ w (1[label = l] − p_l) over its instances, where p_l is
    the label's share of all weight: its mean is 0. Rows of one unit draw the same pair, so a text that occurs m times
    adds m times one draw. Tails are saddle-point approximations (Barndorff-Nielsen's r*) of the sum of independent
    draws, which is never narrower than that of shuffling; they hold far below the smallest float.

    Args:
        sums: weight by feature and label.
        labels: label code of every instance.
        weights: weight of every instance.
        many: units of each feature by size, as `unit_counts` returns them.
        rows_squared: sum of squared sizes of those units.
        frequency: how often each instance is drawn; all alike by default, 1/m where every distinct text counts once.

    Ten instances of weight 1 that all have the label of half of a hundred: p = 2 · 0.5¹⁰.

    >>> test = pair_shuffle_test([[10.0, 0.0]], [0, 1] * 50, [1.0] * 100, [[10]], [[10.0]])
    >>> np.exp(test.log_p()).round(4)
    array([[0.002, 0.002]])
    """
    table, codes = np.asarray(sums, dtype=np.float64), np.asarray(labels, dtype=np.int64)
    mass = np.asarray(weights, dtype=np.float64)
    counts = np.asarray(many, dtype=np.int64)
    scales = np.sqrt(divided(rows_squared, counts))
    scales = np.ascontiguousarray(np.where(counts > 0, scales, 0.0))
    n_labels = table.shape[1]
    if len(mass) and not mass.sum() > 0:
        raise ValueError("weights must not all be 0")
    drawing = np.ones(len(mass)) if frequency is None else np.asarray(frequency, dtype=np.float64)
    drawing = drawing / drawing.sum()
    prior = np.bincount(codes, mass * drawing, minlength=n_labels) / (mass * drawing).sum()
    spread = (np.asarray(rows_squared, dtype=np.float64)).sum(axis=1)
    size = table.shape
    z, less, greater, least = np.zeros(size), np.zeros(size), np.zeros(size), np.zeros(size)
    for label in range(n_labels):
        drawn = mass * ((codes == label) - prior[label])
        values, shares = _support(drawn, drawing)
        statistic = table[:, label] - prior[label] * table.sum(axis=1)
        z[:, label] = np.nan_to_num(divided(statistic, np.sqrt(spread * ((drawn**2) @ drawing))))
        less[:, label], greater[:, label] = _log_tails(statistic, values, shares, scales, counts)
        draws = counts.sum(axis=1)
        smallest = np.minimum(draws * np.log(shares[0]), draws * np.log(shares[-1]))
        least[:, label] = np.minimum(np.log(2.0) + smallest, 0.0)
    return PairShuffleTest(z, less, greater, least)


def _support(drawn: Floats, drawing: Floats) -> tuple[Floats, Floats]:
    """Return the distinct values in rising order with their shares, those of the middle joined where they are many."""
    values, inverse = np.unique(drawn.round(12), return_inverse=True)
    shares = np.bincount(inverse.ravel(), drawing).astype(np.float64)
    if len(values) <= 4 * _KEPT:
        return values, shares
    inner = slice(_KEPT, len(values) - _KEPT)
    # Groups of equal share of the second moment: their means keep the mean, and nearly all of the variance.
    moment = np.cumsum(shares[inner] * values[inner] ** 2)
    group = np.minimum((moment / moment[-1] * 2 * _KEPT).astype(np.int64), 2 * _KEPT - 1)
    # A group of values of both signs would lose its variance.
    group = np.unique(2 * group + (values[inner] > 0), return_inverse=True)[1].ravel()
    joined = np.bincount(group, shares[inner])
    means = np.bincount(group, shares[inner] * values[inner]) / joined
    values = np.concatenate([values[:_KEPT], means, values[-_KEPT:]])
    shares = np.concatenate([shares[:_KEPT], joined, shares[-_KEPT:]])
    order = np.argsort(values, kind="stable")
    return values[order], shares[order]


def _log_tails(
    statistic: Floats, values: Floats, shares: Floats, scales: Floats, counts: Ints
) -> tuple[Floats, Floats]:
    """Return logs of P(sum ≤ statistic) and P(sum ≥ statistic)."""
    # Sums of few different values are discrete: the probability of the value itself belongs to the tail.
    step = float(np.diff(values).min(initial=np.inf)) if len(values) <= 4 else 0.0
    step = step if np.isfinite(step) else 0.0
    nearer = np.sign(statistic) * np.maximum(np.abs(statistic) - step / 2, 0.0)
    r, u = np.zeros(len(nearer)), np.zeros(len(nearer))
    _native.saddle_points(np.ascontiguousarray(nearer), values, shares, scales, counts, r, u)
    with np.errstate(divide="ignore", invalid="ignore"):
        adjusted = np.where(r == 0, 0.0, r + np.log(u / r) / r)
    # Near the mean r* is a ratio of two small numbers; there the tail is about a half in any case.
    adjusted = np.where(np.abs(r) < 0.05, r, adjusted)
    less, greater = np.asarray(log_ndtr(adjusted)), np.asarray(log_ndtr(-adjusted))
    # No sum lies beyond the one in which every draw is the largest (or smallest): that one is exact.
    draws, reach = counts.sum(axis=1), (counts * scales).sum(axis=1) * (1 - 1e-9)
    highest = np.isnan(r) & (nearer > 0) | (statistic >= reach * values[-1])
    lowest = np.isnan(r) & (nearer < 0) | (statistic <= reach * values[0])
    greater = np.where(highest, draws * np.log(shares[-1]), greater)
    less = np.where(lowest, draws * np.log(shares[0]), less)
    # The other tail holds all but the value itself.
    return np.where(nearer >= 0, 0.0, less), np.where(nearer <= 0, 0.0, greater)
