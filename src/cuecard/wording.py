"""How numbers are said to people; files keep them unrounded."""

from __future__ import annotations


def percent(fraction: float) -> str:
    """Return a share as people read it: 0.3 %, 4.7 %, 63 %, 99.6 %."""
    value = 100 * fraction
    if value == 0 or value == 100:
        return f"{value:.0f} %"
    if value < 10 or value > 99:
        return f"{value:.1f} %" if value >= 0.1 else f"{value:.1g} %"
    return f"{value:.0f} %"


def count(n: int, singular: str, plural: str | None = None) -> str:
    """Return a number with its noun: "1 word", "1,204 words"."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def listed(items: list[str], conjunction: str = "and") -> str:
    """Return "a", "a and b" or "a, b and c"."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"
