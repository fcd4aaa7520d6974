"""Numbers rounded for people."""

from __future__ import annotations

import math
from typing import Any

from cuecard.analysis import Unit
from cuecard.stats.p_values import SUPERSCRIPTS, format_p
from cuecard.wording import MISSING, left_out, percent, plural, points

__all__ = [
    "MISSING", "count", "decimal", "fine", "fine_percent", "in_unit", "is_number", "left_out", "number", "percent",
    "plural", "points", "power_of_ten", "probability",
]  # fmt: skip


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number (a truth value is none)."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def count(value: float | None) -> str:
    """Return a whole number with thousands separated: 12,345."""
    if value is None or not math.isfinite(value):
        return MISSING
    return f"{round(value):,}"


def fine_percent(value: float | None) -> str:
    """Return a percentage with two decimals, for numbers that are compared with published ones: 55.53 %."""
    return percent(value, 2)


def number(value: float | None) -> str:
    """Return a number with three significant digits, whole numbers whole: 2.74, 0.0312, 1,234."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == round(value) or abs(value) >= 1000:
        return f"{round(value):,}"
    if abs(value) < 1e-4:
        return power_of_ten(math.log10(abs(value)), negative=value < 0)
    return f"{value:.3g}"


def decimal(value: float | None) -> str:
    """Return a number with two decimals, so that a column of them lines up: 1.70, 13.95."""
    return MISSING if value is None or not math.isfinite(value) else f"{value:z,.2f}"


def fine(value: float | None) -> str:
    """Return a number with three decimals, for values far below 1: 0.004, 0.193."""
    return MISSING if value is None or not math.isfinite(value) else f"{value:z,.3f}"


def probability(value: float | None, log10: float | None = None) -> str:
    """Return a p- or q-value; its logarithm tells values that a float cannot hold: 0.012, 3.1×10⁻³²¹."""
    if log10 is None:
        if value is None or not math.isfinite(value):
            return MISSING
        if value <= 0:
            return "<10⁻³⁰⁰"
        log10 = math.log10(value)
    if not math.isfinite(log10):
        return MISSING
    return format_p(min(log10, 0.0))


def power_of_ten(log10: float, *, negative: bool = False) -> str:
    """Return a number given by its logarithm in scientific notation: 4×10⁻³²."""
    exponent = math.floor(log10)
    digit = round(10 ** (log10 - exponent))
    if digit == 10:
        digit, exponent = 1, exponent + 1
    return f"{'-' if negative else ''}{digit}×10{str(exponent).translate(SUPERSCRIPTS)}"


def in_unit(value: float | None, unit: Unit) -> str:
    """Return the value of a measure or a finding as people read its unit: 64.6 %, +30.3, 12,345, 4×10⁻³²."""
    if value is None or not math.isfinite(value):
        return MISSING
    if unit == "p":
        return probability(None, value)
    if unit == "share":
        return percent(value)
    if unit == "points":
        return points(value)
    return count(value) if unit == "count" else number(value)
