"""How numbers are said to people; files keep them unrounded."""

from __future__ import annotations

import math
from collections.abc import Iterable

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
}


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


def listed(items: list[str], conjunction: str = "and") -> str:
    """Return "a", "a and b" or "a, b and c"."""
    if len(items) <= 1:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def only_applies_to(tasks: Iterable[str], task: str) -> str:
    """Return why an analysis cannot be run on a dataset of another task."""
    applies_to = [words for name, words in _HOLDS.items() if name in tasks]
    return f"only applies to {listed(applies_to)}; this dataset holds {_HOLDS[task]}"
