"""What a sample can show: limits of accuracies, detectable effects and changes."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, ndtri

from cuecard.stats.arrays import Floats, level_of


def change_of_share(
    shared_before: npt.ArrayLike,
    shared_after: npt.ArrayLike,
    only_before: npt.ArrayLike = (),
    only_after: npt.ArrayLike = (),
) -> tuple[float, float]:
    """Return the mean after minus the mean before, and its standard error.

    An example of both versions adds a_i / n_after − b_i / n_before to the difference, one of a single version only its
    own part; contributions of separate examples are independent, and those of one kind scatter around their mean. With
    no shared example this is the standard error of two independent means, with shared ones alone that of paired
    differences.

    >>> change, error = change_of_share([1, 0, 1, 0], [1, 1, 1, 0])
    >>> change, round(error, 4)
    (0.25, 0.25)
    """
    before, after = (np.asarray(part, dtype=np.float64) for part in (shared_before, shared_after))
    old, new = (np.asarray(part, dtype=np.float64) for part in (only_before, only_after))
    n_before, n_after = len(before) + len(old), len(after) + len(new)
    if not n_before or not n_after:
        raise ValueError("both versions need at least one example")
    parts: list[Floats] = [after / n_after - before / n_before, new / n_after, -old / n_before]
    change = float(sum(part.sum() for part in parts))
    variance = sum(len(part) * float(part.var(ddof=1)) for part in parts if len(part) > 1)
    return change, math.sqrt(variance)


#: How often the smallest detectable effect is detected.


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


Verdict = Literal["pass", "fail", "undecided"]
Operator = Literal["<=", "<", ">=", ">", "=="]

#: Level of the intervals on a card, and the probability with which `examples_to_settle` settles.
LEVEL, POWER = 0.95, 0.8
#: Ends that differ by less from the limit are equal to it: 0.1 + 0.2 is not above 0.3.
ROUNDING = 1e-12


def judge(low: float, high: float, operator: Operator, limit: float) -> Verdict:
    """Return whether all values from `low` to `high` satisfy the limit, all violate it, or some do.

    >>> judge(0.01, 0.04, "<=", 0.05), judge(0.06, 0.09, "<=", 0.05), judge(0.04, 0.06, "<=", 0.05)
    ('pass', 'fail', 'undecided')
    """
    satisfied = [_satisfies(end, operator, limit) for end in (low, high)]
    if operator == "==" and low < limit < high:
        return "undecided"
    return "pass" if all(satisfied) else "undecided" if any(satisfied) else "fail"


def _satisfies(value: float, operator: Operator, limit: float) -> bool:
    if abs(value - limit) <= ROUNDING:
        return operator in ("<=", ">=", "==")
    return value < limit if operator in ("<=", "<") else value > limit if operator in (">=", ">") else False


def examples_to_settle(value: float, end: float, limit: float, n: int, power: float = POWER) -> int | None:
    """Return how many examples would move the interval off the limit, if the value stayed where it is.

    An interval shrinks with the square root of the number of examples. `end` is the end of the interval on the other
    side of the limit, at `n` examples. The value itself varies too, so that an interval that just touched the limit
    would settle in half of the cases: the number is such that it does with probability `power`. None where the value
    is the limit itself, which no number of examples settles.

    >>> examples_to_settle(0.059, 0.0132, 0.05, 500)
    26457
    """
    margin = abs(value - limit)
    if margin <= ROUNDING:
        return None
    z = float(ndtri((1 + LEVEL) / 2))
    return math.ceil(n * (abs(end - value) / margin * (z + float(ndtri(power))) / z) ** 2)


def difference_interval(
    before: tuple[float, float, float], after: tuple[float, float, float]
) -> tuple[float, float]:
    """Return an interval of after minus before, two independent estimates, each as (value, low, high).

    The distances to the ends are combined in squares, as in Newcombe's interval for two shares.

    >>> low, high = difference_interval((0.50, 0.45, 0.55), (0.60, 0.55, 0.65))
    >>> round(low, 3), round(high, 3)
    (0.029, 0.171)
    """
    (old, old_low, old_high), (new, new_low, new_high) = before, after
    difference = new - old
    return (
        difference - math.hypot(new - new_low, old_high - old),
        difference + math.hypot(new_high - new, old - old_low),
    )
