"""How long every step took the last time, so that a long one can say how much time is left."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cuecard._cache_folder import cache_folder

if TYPE_CHECKING:
    from rich.progress import ProgressColumn

#: Examples of the dataset that was read last.
examples = 0
#: A step that takes fewer seconds ends before anybody asks.
LONG = 10.0


def expected_seconds(title: str) -> float | None:
    """Return how long a step should take by its last run, in proportion to the examples; None if it never ran."""
    rate = _rates().get(_step(title))
    return rate * examples if rate is not None and examples else None


@contextmanager
def timed(title: str) -> Iterator[None]:
    """Remember how long the body takes, unless it fails."""
    started = time.monotonic()
    yield
    if examples:
        rates = _rates() | {_step(title): (time.monotonic() - started) / examples}
        from cuecard.cache import keep_file

        keep_file(_file(), lambda staged: staged.write_text(json.dumps(rates), encoding="utf-8"))


def time_left() -> ProgressColumn:
    """Return a column for progress bars: the time left, empty where the step is short or ran never before."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            expected = expected_seconds(task.description)
            if expected is None or expected < LONG or task.elapsed is None:
                return Text("")
            left = expected - task.elapsed
            return Text(f"about {_minutes(left)} left" if left >= 1 else "longer than last time")

    return Left()


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _step(title: str) -> str:
    """Return the title of a step without its number."""
    return title.partition(": ")[2] if title.startswith("Step ") else title


def _file() -> Path:
    return cache_folder() / "timings.json"


def _rates() -> dict[str, float]:
    """Return seconds per example of every step that ran; a file that cannot be read counts as none."""
    try:
        kept = json.loads(_file().read_text(encoding="utf-8"))
        pairs = kept.items() if isinstance(kept, dict) else ()
        return {str(step): float(rate) for step, rate in pairs if isinstance(rate, int | float)}
    except (OSError, ValueError, RecursionError, OverflowError):
        return {}
