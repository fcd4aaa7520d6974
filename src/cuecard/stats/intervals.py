"""Confidence intervals, and tests of proportions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaincinv, ndtri, stdtrit

from cuecard.stats import _native
from cuecard.stats.arrays import (
    Alternative,
    Floats,
    Ints,
    chosen_tail,
    level_of,
    probabilities,
    successes_of,
    whole_counts,
)
from cuecard.stats.clusters.divergence import as_distributions
from cuecard.stats.cues.association import binomial_log_p, share

DRAWN_AT_ONCE = 4_000_000  # resampled values held in memory, about 32 MB


def wilson(k: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Low and high end of Wilson's score interval for a share k / n; (0, 1) where n is 0.

    The priors that `artifact_z` does not reject:  (p̂ + z²/2n ± z sqrt(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n).

    >>> low, high = wilson(8, 10)
    >>> float(low.round(4)), float(high.round(4))
    (0.4902, 0.9433)
    """
    return _wilson(k, n, np.asarray(ndtri((1 + level_of(level)) / 2)))


def _wilson(k: npt.ArrayLike, n: npt.ArrayLike, z: Floats) -> tuple[Floats, Floats]:
    successes, trials = successes_of(k, n)
    size = np.maximum(trials, 1.0)
    p = successes / size
    middle = p + z**2 / (2 * size)
    half = z * np.sqrt(p * (1 - p) / size + (z / (2 * size)) ** 2)
    scale = 1 + z**2 / size
    # The ends are exactly 0 and 1 where nothing or everything succeeded; rounding would leave 1e-17.
    low = np.where(successes == 0, 0.0, (middle - half) / scale)
    high = np.where(successes == trials, 1.0, (middle + half) / scale)
    return low, high


def clopper_pearson(k: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95) -> tuple[Floats, Floats]:
    """Low and high end of the exact interval for a share k / n; it covers at least `level`; (0, 1) at n = 0.

    The priors that the two-sided exact binomial test does not reject.

    >>> low, high = clopper_pearson(8, 10)
    >>> float(low.round(4)), float(high.round(4))
    (0.4439, 0.9748)
    """
    tail = (1 - level_of(level)) / 2
    successes, trials = successes_of(k, n)
    failures = trials - successes
    low = np.where(successes == 0, 0.0, betaincinv(np.maximum(successes, 1), failures + 1, tail))
    high = np.where(failures == 0, 1.0, betaincinv(successes + 1, np.maximum(failures, 1), 1 - tail))
    return low, high


def poisson_interval(count: int) -> tuple[float, float]:
    """Low and high end of Garwood's exact 95 % interval for the mean of a Poisson count.

    >>> low, high = poisson_interval(10)
    >>> round(low, 2), round(high, 2)
    (4.8, 18.39)
    """
    low = float(gammaincinv(count, 0.025)) if count else 0.0
    return low, float(gammaincinv(count + 1, 0.975))


def newcombe_difference(
    k1: npt.ArrayLike, n1: npt.ArrayLike, k2: npt.ArrayLike, n2: npt.ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Low and high end of an interval for k1/n1 − k2/n2, shares of two separate sets (acc(S_f) − acc(S_¬f)).

    Newcombe's hybrid score method: the two Wilson intervals combined in squares, so it stays within −1 and
    1 and works with shares of 0 or 1. nan where a set is empty.

    >>> low, high = newcombe_difference(56, 70, 48, 80)
    >>> float(low.round(4)), float(high.round(4))
    (0.0524, 0.3339)
    """
    low1, high1 = wilson(k1, n1, level)
    low2, high2 = wilson(k2, n2, level)
    p1, p2 = share(k1, n1), share(k2, n2)
    difference = p1 - p2
    low = difference - np.hypot(p1 - low1, high2 - p2)
    high = difference + np.hypot(high1 - p1, p2 - low2)
    return np.asarray(low), np.asarray(high)


def combined_shares(
    scale: npt.ArrayLike, k: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Low and high end of an interval for Σ scale · k / n, shares of separate sets along the first axis.

    The distances to the Wilson ends of the shares combined in squares, as in Newcombe's method: it does not collapse
    where all or none succeed, as resampling does. The quantile is Student's with Satterthwaite's degrees of freedom,
    from shares with a success and a failure added: the smallest set decides how well the variance is known. nan where a
    set is empty.

    >>> low, high = combined_shares([0.5, 0.5], [20, 0], [20, 30])
    >>> float(low.round(3)), float(high.round(3))
    (0.415, 0.56)
    """
    factor = np.asarray(scale, dtype=np.float64)
    p = share(k, n)
    factor = factor.reshape(factor.shape + (1,) * (p.ndim - factor.ndim))
    successes, trials = successes_of(k, n)
    smooth = (successes + 1) / (trials + 2)
    variance = factor**2 * smooth * (1 - smooth) / np.maximum(trials, 1)
    uncertainty = np.maximum((variance**2 / np.maximum(trials - 1, 1)).sum(axis=0), 1e-300)
    low, high = _wilson(k, n, stdtrit(variance.sum(axis=0) ** 2 / uncertainty, (1 + level_of(level)) / 2))
    total = (factor * p).sum(axis=0)
    down = np.where(factor >= 0, p - low, high - p)
    up = np.where(factor >= 0, high - p, p - low)
    return (
        np.asarray(total - np.sqrt(((factor * down) ** 2).sum(axis=0))),
        np.asarray(total + np.sqrt(((factor * up) ** 2).sum(axis=0))),
    )


def overlapping_difference(
    right: npt.ArrayLike, first: npt.ArrayLike, second: npt.ArrayLike, level: float = 0.95
) -> tuple[float, float]:
    """Low and high end of an interval for share(first) − share(second), two sets that may have members in common.

    One truth value per instance: whether it is right, in the first and in the second set. Newcombe's method with
    the correlation ρ of the two shares, which common members bring about:
    low = d − sqrt(a² − 2ρab + b²), a and b the distances to the Wilson ends. Nil for two equal sets.

    >>> low, high = overlapping_difference([1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1])
    >>> round(low, 4), round(high, 4)  # as newcombe_difference(2, 2, 0, 2)
    (0.07, 1.0)
    """
    correct, one, two = (np.asarray(values, dtype=np.bool_) for values in (right, first, second))
    n1, n2 = int(one.sum()), int(two.sum())
    k1, k2 = int((correct & one).sum()), int((correct & two).sum())
    low1, high1 = wilson(k1, n1, level)
    low2, high2 = wilson(k2, n2, level)
    p1, p2 = (float(share(k, n)) for k, n in ((k1, n1), (k2, n2)))
    both = one & two
    common = float(((correct[both] - p1) * (correct[both] - p2)).sum())
    spread = np.sqrt(n1 * p1 * (1 - p1) * n2 * p2 * (1 - p2))
    # Where all or none are right nothing varies, and how much of the two sets is the same decides.
    rho = common / spread if spread else float(both.sum()) / np.sqrt(n1 * n2) if n1 and n2 else 0.0
    ends = []
    for a, b in ((p1 - low1, high2 - p2), (high1 - p1, p2 - low2)):
        ends.append(np.sqrt(max(0.0, float(a**2 - 2 * rho * a * b + b**2))))
    return float(p1 - p2 - ends[0]), float(p1 - p2 + ends[1])


def percentile_bootstrap(
    values: npt.ArrayLike,
    statistic: Callable[[Floats], npt.ArrayLike],
    *,
    level: float = 0.95,
    draws: int = 2000,
    seed: int = 0,
) -> tuple[Floats, Floats]:
    """Low and high percentile of a statistic over seeded resamples of the rows of `values`.

    `values` has one row per unit that was sampled (for multiple choice: per example, never per choice).
    `statistic` gets an array of shape (some draws, rows, …) and gives one result, or a row of results, per
    draw.

    >>> low, high = percentile_bootstrap([0, 1] * 200, lambda drawn: drawn.mean(axis=1))
    >>> bool(0.44 < low < 0.46 and 0.54 < high < 0.56)
    True
    """
    rows = np.asarray(values, dtype=np.float64)
    tail = (1 - level_of(level)) / 2
    if rows.ndim == 0 or len(rows) == 0:
        raise ValueError("values must have at least one row to resample")
    if draws < 1:
        raise ValueError(f"draws must be at least 1, and is {draws}")
    generator = np.random.default_rng(seed)
    step = max(1, DRAWN_AT_ONCE // rows.size)
    results = []
    for start in range(0, draws, step):
        drawn = generator.integers(len(rows), size=(min(step, draws - start), len(rows)))
        results.append(np.asarray(statistic(rows[drawn]), dtype=np.float64))
    low, high = np.quantile(np.concatenate(results), [tail, 1 - tail], axis=0)
    return np.asarray(low), np.asarray(high)


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """Pearson's chi-square of each row: statistic, degrees of freedom and natural log of the p-value."""

    statistic: Floats
    degrees: Ints
    log_p: Floats


def accuracy_log_p(
    correct: npt.ArrayLike,
    n: npt.ArrayLike,
    chance: npt.ArrayLike,
    alternative: Alternative = "two-sided",
) -> Floats:
    """Natural log of the exact p-value of `correct` answers out of n where guessing is right with `chance`.

    Two-sided by default: a score clearly below chance is an inverted leak.

    >>> np.exp(accuracy_log_p([250, 300], 1000, 0.25)).round(4)
    array([1.e+00, 4.e-04])
    """
    return binomial_log_p(correct, n, chance, alternative)


def mixed_chance_log_p(
    correct: int,
    n: npt.ArrayLike,
    chance: npt.ArrayLike,
    alternative: Alternative = "two-sided",
) -> float:
    """Natural log of the exact p-value of `correct` right answers where the chance differs between examples.

    At chance, n[g] examples are correct with probability chance[g]: 1/4 with four options, 1/2 with two; t/k for a rule
    that picks t tied options of k, counted as correct if the answer is one of them. The number of right answers
    is then Poisson-binomial. An average chance in a plain binomial test would overstate the spread.

    >>> float(np.exp(mixed_chance_log_p(12, [10, 10], [0.25, 0.5])).round(4))
    0.0587
    """
    examples, chances = np.broadcast_arrays(whole_counts("n", n), probabilities("chance", chance))
    total = int(examples.sum())
    if not 0 <= correct <= total or correct != int(correct):
        raise ValueError(f"correct must be a whole number between 0 and {total}, the number of examples")
    by_luck = (chances > 0) & (chances < 1)
    certain, open_ended = int(examples[chances == 1].sum()), int(examples[by_luck].sum())
    if not certain <= correct <= certain + open_ended:
        impossible = np.array(-np.inf), np.array(0.0)
        tails = impossible if correct < certain else impossible[::-1]
    else:
        less, greater, log_odds = np.empty(1), np.empty(1), np.empty(1)
        lucky = examples[by_luck].astype(np.int64)
        _native.poisson_binomial_log_tails(
            np.array([int(correct) - certain]),
            np.array([0, len(lucky)]),
            lucky,
            chances[by_luck],
            less,
            greater,
            log_odds,
        )
        tails = less[0], greater[0]
    return float(chosen_tail(alternative, *tails))


def goodness_of_fit(observed: npt.ArrayLike, reference: npt.ArrayLike) -> GoodnessOfFit:
    """Chi-square test of counts (a column per position) against a fixed distribution such as the key's.

        X² = Σ (o − e)² / e,   e = n · reference / Σ reference

    `reference` may be counts or probabilities. Positions that can occur in neither are not counted as a
    degree of freedom; an answer at a position the reference never has gives X² = inf and p = 0. The p-value
    is the chi-square approximation, good where the expected counts are about 5 or more.

    >>> test = goodness_of_fit([30, 30, 40], [1, 1, 1])
    >>> float(test.statistic.round(6)), int(test.degrees), float(np.exp(test.log_p).round(4))
    (2.0, 2, 0.3679)
    """
    counts = whole_counts("observed", observed)
    shares = as_distributions("reference", reference)
    if counts.ndim == 0 or counts.shape[-1] != shares.shape[-1]:
        raise ValueError("observed and reference must have the same positions as columns")
    counts, shares = np.broadcast_arrays(counts, shares)
    expected = counts.sum(axis=-1, keepdims=True) * shares
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(counts == expected, 0.0, (counts - expected) ** 2 / expected)
    statistic = np.asarray(terms.sum(axis=-1))
    degrees = np.asarray(((shares > 0) | (counts > 0)).sum(axis=-1) - 1)
    log_p = np.empty(statistic.size)
    _native.log_gamma_tails(degrees.ravel() / 2, statistic.ravel() / 2, log_p)
    return GoodnessOfFit(statistic, degrees, log_p.reshape(statistic.shape))
