"""Whether an accuracy differs from chance, and whether answers follow their position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats import _native
from cuecard.stats._arrays import Alternative, chosen_tail, probabilities, whole_counts
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.clusters.divergence import as_distributions
from cuecard.stats.cues.association import binomial_log_p


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
