"""Parts of a dataset summarised on this machine's cores, their summaries merged in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, Self, TypeVar

from cuecard.errors import InputError


class Mergeable(Protocol):
    """A small summary of a part of the data."""

    def merge(self, other: Self) -> Self:
        """Return the summary of both parts together."""
        ...


Part = TypeVar("Part")
Summary = TypeVar("Summary", bound=Mergeable)


def map_reduce(
    parts: Iterable[Part], summarise: Callable[[Part], Summary], *, workers: int | None = None
) -> Summary:
    """Return the merged summary of all parts; the result does not depend on the number of workers.

    At most `workers` + 1 parts are held at a time, so the memory needed does not grow with their number.
    """
    workers = workers or os.cpu_count() or 1
    merged: Summary | None = None
    pending: deque[Future[Summary]] = deque()
    with ThreadPoolExecutor(workers) as pool:
        for part in parts:
            pending.append(pool.submit(summarise, part))
            del part  # only the workers hold it from here
            if len(pending) > workers:
                merged = _joined(merged, pending.popleft().result())
        while pending:
            merged = _joined(merged, pending.popleft().result())
    if merged is None:
        raise InputError("The data has no rows.")
    return merged


def _joined(first: Summary | None, second: Summary) -> Summary:
    return second if first is None else first.merge(second)
