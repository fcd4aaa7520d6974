"""Number and text formatting for people; files keep numbers unrounded."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from typing import TypeGuard

#: What the title of a step has where an interrupted run continues.
RESUMES = "(resumes after"
#: How the reason begins under which a file is counted that cannot be opened.
DAMAGED_FILE = "damaged file"
#: What stands where a number is missing.
MISSING = "–"
#: Where cues come from, unless a benchmark has one file only.
TRAINING_SET = "the training set"
#: What tests say of a model and a cue, the worst first.
RELIANCE = {
    "relies": "relies",
    "signs": "signs",
    "avoids": "avoids",
    "length": "explained by length",
    "none": "no sign",
    "unknown": "too few",
}
#: What a dataset of each task holds.
_HOLDS = {
    "pair": "pairs",
    "choice": "multiple choice",
    "preference": "preferences",
    "text": "single texts",
    "open": "open answers",
}


# Control characters would reach the terminal, and direction marks would reorder the sentence around the text:
# both are shown by name instead.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]"
)
_SPACE = re.compile(r"[^\S\u00a0]+")


def percent(fraction: float | None, digits: int = 1) -> str:
    """Return a fraction as a percentage: 0.8135 is 81.4 %; a tiny one is "<0.1 %", not 0."""
    if fraction is None or not math.isfinite(fraction):
        return MISSING
    if fraction in (0, 1):
        return f"{fraction * 100:z.0f}\N{NO-BREAK SPACE}%"
    smallest = 10.0 ** -(digits + 2)
    if 0 < fraction < smallest:
        return f"<{smallest * 100:.{digits}f}\N{NO-BREAK SPACE}%"
    if 1 - smallest / 2 < fraction < 1:
        return f">{(1 - smallest) * 100:.{digits}f}\N{NO-BREAK SPACE}%"
    return f"{fraction * 100:z.{digits}f}\N{NO-BREAK SPACE}%"


def points(difference: float | None) -> str:
    """Return a difference of two shares in points, with its sign unless it rounds to nothing: +6.5, −12.0, 0.0."""
    if difference is None or not math.isfinite(difference):
        return MISSING
    rounded = round(100 * difference, 1)
    return f"{rounded:+z.1f}".replace("-", "−") if rounded else "0.0"


def ends(low: float | None, high: float | None, write: Callable[[float | None], str] = percent) -> str:
    """Return an interval: "60.1 % to 65.3 %"."""
    return f"{write(low)} to {write(high)}"


def ci(low: float | None, high: float | None, write: Callable[[float | None], str] = percent) -> str:
    """Return a confidence interval: "95 % CI 60.1 % to 65.3 %"."""
    return f"95 % CI {ends(low, high, write)}"


def is_number(value: object) -> TypeGuard[float]:
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
    from cuecard.stats.multiple_testing import format_p  # numpy is loaded where a p-value is written

    return format_p(min(log10, 0.0))


def brief_probability(value: float | None, log10: float | None = None) -> str:
    """Return a p- or q-value as a table shows it: of small ones that they are small, 0.012 or <10⁻⁹.

    >>> brief_probability(0.012), brief_probability(3e-12), brief_probability(0.0), brief_probability(None, -400.0)
    ('0.012', '<10⁻⁹', '<10⁻⁹', '<10⁻⁹')
    """
    small = log10 < -9 if log10 is not None else is_number(value) and value < 1e-9
    return "<10⁻⁹" if small else probability(value, log10)


def power_of_ten(log10: float, *, negative: bool = False) -> str:
    """Return a number given by its logarithm in scientific notation: 4×10⁻³²."""
    from cuecard.stats.multiple_testing import SUPERSCRIPTS

    exponent = math.floor(log10)
    digit = round(10 ** (log10 - exponent))
    if digit == 10:
        digit, exponent = 1, exponent + 1
    return f"{'-' if negative else ''}{digit}×10{str(exponent).translate(SUPERSCRIPTS)}"


def in_unit(value: float | None, unit: str) -> str:
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


def interval_in_unit(low: float | None, high: float | None, unit: str) -> str:
    """Return an interval in the unit of its measure or finding, or nothing where it has none.

    >>> interval_in_unit(0.6, 0.65, "share"), interval_in_unit(0.6, None, "share")
    ('60.0\N{NO-BREAK SPACE}% to 65.0\N{NO-BREAK SPACE}%', '')
    """
    return "" if low is None or high is None else f"{in_unit(low, unit)} to {in_unit(high, unit)}"


def display_text(text: object, limit: int = 600) -> str:
    """Return a text on one line, invisible characters named, cut after `limit` characters."""
    one_line = _SPACE.sub(" ", str(text).encode("utf-8", "replace").decode("utf-8")).strip()
    visible = _INVISIBLE.sub(lambda m: f"⟨U+{ord(m[0]):04X}⟩", one_line)
    return visible if len(visible) <= limit else visible[: limit - 1].rstrip() + "…"


def of_responses(words: str, task: str) -> str:
    """Return words about the answers of a question, as words about responses where the data holds preferences.

    >>> of_responses("the longest answer", "preference"), of_responses("the longest answer", "choice")
    ('the longest response', 'the longest answer')
    """
    return words.replace("answer", "response") if task == "preference" else words


def plural(n: int, one: str, many: str | None = None) -> str:
    """Return a number with its noun: "1 word", "1,204 words"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def left_out(reason: str, n: int) -> str:
    """Return what was left out of a dataset, and why; how many rows a file has that cannot be opened, nobody knows.

    >>> left_out("no label", 2), left_out("damaged file a.parquet", 1)
    ('2 rows (no label)', 'all rows of the damaged file a.parquet')
    """
    if not reason.startswith(DAMAGED_FILE):
        return f"{plural(n, 'row')} ({reason})"
    name = reason.removeprefix(DAMAGED_FILE)
    return f"all rows of {'the' if n == 1 else f'{n:,}'} damaged {'file' if n == 1 else 'files'}{name}"


def file_size(n: int) -> str:
    """Return a number of bytes for people.

    >>> file_size(812), file_size(3_300), file_size(1_204_000_000)
    ('812 bytes', '3.3 kB', '1.2 GB')
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n >= size:
            return f"{n / size:,.1f} {unit}"
    return plural(n, "byte")


#: How the examples of a split are called.
SPLIT_NAMES = {"train": "training", "dev": "validation"}


def listed(items: list[str], conjunction: str = "and") -> str:
    """Return "a", "a and b" or "a, b and c"."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def only_applies_to(tasks: Iterable[str], task: str) -> str:
    """Return why an analysis cannot be run on a dataset of another task."""
    applies_to = [words for name, words in _HOLDS.items() if name in tasks]
    return f"only applies to {listed(applies_to)}; this dataset holds {_HOLDS[task]}"
