"""The smallest effect a test would have seen: what "no leak found" leaves open."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, ndtri

from cuecard.stats._arrays import level_of

#: How often the smallest detectable effect is detected.
POWER = 0.8


def detectable_accuracy(n: int, chance: float, *, alpha: float = 0.05) -> float:
    """Smallest true accuracy that the exact two-sided test of n hits against `chance` finds with power 0.8.

    1.0 where even a perfect score would not be significant.

    >>> round(detectable_accuracy(400, 0.5), 3)
    0.572
    """
    level_of(alpha)
    if n < 1 or chance**n > alpha / 2:  # P(X ≥ n)
        return 1.0
    too_few, fewest = 0, n  # P(X ≥ fewest) ≤ alpha / 2 < P(X ≥ too_few)
    while fewest - too_few > 1:
        hits = (too_few + fewest) // 2
        too_few, fewest = (too_few, hits) if bdtrc(hits - 1, n, chance) <= alpha / 2 else (hits, fewest)
    low, high = chance, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if bdtrc(fewest - 1, n, middle) >= POWER else (middle, high)
    return float(high)


def detectable_auc(counts: npt.ArrayLike, *, alpha: float = 0.05) -> float:
    """Smallest mean area of one label against the rest that a two-sided test of n ranked examples finds.

    From the null variance (n + 1) / (12 n₁ n₀) of an area; `counts` are examples per label, effective ones where
    examples have weights or copies.

    >>> round(detectable_auc([200, 200]), 3)
    0.581
    """
    examples = np.asarray(counts, np.float64)
    n = float(examples.sum())
    rest = n - examples
    ranked = (examples > 0) & (rest > 0)
    if not ranked.any():
        return 1.0
    sd = float(np.sqrt((n + 1) / (12 * examples[ranked] * rest[ranked])).mean())
    return _above_half(sd, alpha)


def detectable_choice_auc(sizes: npt.ArrayLike, *, share: float = 1.0, alpha: float = 0.05) -> float:
    """Smallest chance of the right choice to rank above a wrong one that a two-sided test finds.

    The rank of one of k choices is uniform by chance, so the share it beats has variance (k + 1) / (12 (k − 1)).
    `share` is that of effective examples among all.

    >>> round(detectable_choice_auc([4] * 400), 3)
    0.552
    """
    k = np.asarray(sizes, np.float64)
    k = k[k > 1]
    if not len(k):
        return 1.0
    sd = float(np.sqrt(((k + 1) / (12 * (k - 1))).sum() / share)) / len(k)
    return _above_half(sd, alpha)


def _above_half(sd: float, alpha: float) -> float:
    return float(min(0.5 + (ndtri(1 - level_of(alpha) / 2) + ndtri(POWER)) * sd, 1.0))
