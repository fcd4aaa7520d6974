"""Paired differences between many models, and the smallest difference that a set of examples can resolve."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import deflated_log10_p, design_effects, mcnemar_log_p
from cuecard.stats.multiple_testing import holm

__all__ = ["PairedDifferences", "paired_differences", "smallest_difference"]

_Z = float(ndtri(0.975))
_LN10 = float(np.log(10.0))


@dataclass(frozen=True, eq=False)
class PairedDifferences:
    """Accuracy of a first model minus that of a second one for every pair of models; arrays follow the pairs."""

    first: Ints
    second: Ints
    only_first: Ints
    only_second: Ints
    difference: Floats
    low: Floats
    high: Floats
    effect: Floats
    """Design effects of examples that are not independent; 1 where they are."""
    log10_p: Floats
    p_adjusted: Floats
    """Exact McNemar p-values with the design effect, adjusted over all pairs (Holm)."""


def paired_differences(correct: npt.ArrayLike, kinds: Sequence[npt.ArrayLike] = ()) -> PairedDifferences:
    """Compare every pair of models on the same examples: McNemar's exact test and the interval of Agresti and Min.

    Args:
        correct: examples × models, whether a model is right.
        kinds: codes of the units that examples share, one array per kind, such as questions of one passage.

    >>> a, b = [1] * 60 + [0] * 40, [1] * 45 + [0] * 55
    >>> pairs = paired_differences(np.transpose([a, b]))
    >>> pairs.difference.round(2).tolist(), (pairs.low > 0).tolist(), (pairs.p_adjusted < 0.001).tolist()
    ([0.15], [True], [True])
    """
    right = np.asarray(correct, dtype=np.float64)
    n, models = right.shape
    first, second = (side.astype(np.int64) for side in np.triu_indices(models, 1))
    both = right.T @ right
    totals = right.sum(axis=0)
    only_first = np.rint(totals[first] - both[first, second]).astype(np.int64)
    only_second = np.rint(totals[second] - both[first, second]).astype(np.int64)
    effect = np.ones(len(first))
    for i, (a, b) in enumerate(zip(first, second, strict=True) if kinds else ()):
        gained = right[:, a] - right[:, b]
        effect[i] = design_effects(gained - gained.mean(), np.ones((n, 1)), kinds)[0]
    exact = np.array([mcnemar_log_p(int(a), int(b)) for a, b in zip(only_first, only_second, strict=True)])
    log10_p = deflated_log10_p(exact / _LN10, effect)
    # Half an example more of each of the four kinds (Agresti and Min 2005).
    gain, loss, size = only_first + 0.5, only_second + 0.5, n + 2.0
    middle = (gain - loss) / size
    error = np.sqrt((gain + loss - (gain - loss) ** 2 / size) * effect) / size
    return PairedDifferences(
        first,
        second,
        only_first,
        only_second,
        (only_first - only_second) / n,
        np.maximum(middle - _Z * error, -1.0),
        np.minimum(middle + _Z * error, 1.0),
        effect,
        log10_p,
        holm(10.0**log10_p) if len(first) else np.empty(0),
    )


def smallest_difference(discordance: float, n: float, *, alpha: float = 0.05, power: float = 0.8) -> float:
    """The smallest difference in accuracy that a two-sided McNemar test finds with this power.

    Args:
        discordance: share of the examples on which exactly one of two models is right.
        n: number of examples, divided by the design effect.
        alpha: level of the test, divided by the number of tests where there are several (Bonferroni).
        power: probability to find the difference.

    >>> round(smallest_difference(0.2, 1000), 3)
    0.04
    """
    level, found = float(ndtri(1 - alpha / 2)), float(ndtri(power))

    def lacking(difference: float) -> float:
        share = max(discordance, difference)
        needed = level * math.sqrt(share) + found * math.sqrt(max(share - difference**2, 0.0))
        return difference * math.sqrt(n) - needed

    low, high = 0.0, 1.0
    if lacking(high) < 0:
        return 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if lacking(middle) < 0 else (low, middle)
    return high


def tied_with_best(pairs: PairedDifferences, accuracy: Floats, alpha: float) -> Bools:
    """Return which models are not less accurate than the most accurate one in this sample, by the adjusted tests."""
    best = int(np.argmax(accuracy))
    worse = np.zeros(len(accuracy), dtype=np.bool_)
    involved = (pairs.first == best) | (pairs.second == best)
    other = np.where(pairs.first == best, pairs.second, pairs.first)
    worse[other[involved & (pairs.p_adjusted <= alpha)]] = True
    return np.asarray(~worse)
