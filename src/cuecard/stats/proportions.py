"""Whether an accuracy differs from chance, and whether answers follow their position."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats._arrays import Alternative, FloatArray, IntArray, whole_counts
from cuecard.stats._kernels import log_gamma_tails
from cuecard.stats.association import binomial_log_p
from cuecard.stats.divergence import as_distributions


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """Pearson's chi-square of each row: statistic, degrees of freedom and natural log of the p-value."""

    statistic: FloatArray
    degrees: IntArray
    log_p: FloatArray


def accuracy_log_p(
    correct: npt.ArrayLike,
    n: npt.ArrayLike,
    chance: npt.ArrayLike,
    alternative: Alternative = "two-sided",
) -> FloatArray:
    """Natural log of the exact p-value of `correct` answers out of n where guessing is right with `chance`.

    Two-sided by default: a score clearly below chance is a leak as well, only turned round.

    >>> np.exp(accuracy_log_p([250, 300], 1000, 0.25)).round(4)
    array([1.e+00, 4.e-04])
    """
    return binomial_log_p(correct, n, chance, alternative)


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
    log_gamma_tails(degrees.ravel() / 2, statistic.ravel() / 2, log_p)
    return GoodnessOfFit(statistic, degrees, log_p.reshape(statistic.shape))
