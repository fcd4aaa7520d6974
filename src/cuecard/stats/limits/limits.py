"""An interval against a limit: satisfied, violated or undecided, and how many examples would settle it."""

from __future__ import annotations

import math
from typing import Literal

from scipy.special import ndtri

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
