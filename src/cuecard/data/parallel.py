"""Threads: work that is done side by side, and values that are made once however many ask."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import pairwise
from threading import Lock, RLock
from typing import TypeVar, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.stats.arrays import Threads

T = TypeVar("T")


def parts_of_rows(
    offsets: npt.NDArray[np.int64], threads: int | None, at_least: int
) -> list[tuple[int, int]]:
    """Return first and last row of parts with about the same content, each of `at_least` units or more.

    `threads` defaults to the number polars uses, so that one setting limits both.
    """
    total = int(offsets[-1] - offsets[0])
    n_parts = max(1, min(threads or pl.thread_pool_size(), total // at_least))
    goals = offsets[0] + total * np.arange(1, n_parts) // n_parts
    bounds = [0, *np.searchsorted(offsets, goals).tolist(), len(offsets) - 1]
    return list(pairwise(bounds))


def on_threads(function: Callable[[int], T], n_parts: int, threads: int | None = None) -> list[T]:
    """Return the function's results for parts 0, 1, …, computed side by side on as many threads as polars has.

    `threads` is how many there are at most.
    """
    threads = min(n_parts, threads or pl.thread_pool_size())
    if threads <= 1:
        return [function(part) for part in range(n_parts)]
    with Threads(threads) as pool:
        return list(pool.map(function, range(n_parts)))


def started(function: Callable[[], T]) -> Callable[[], T]:
    """Begin to compute on a thread of its own, and return a function that waits for the result.

    Where polars has one thread only (POLARS_MAX_THREADS), nothing begins before the result is asked for.
    """
    if pl.thread_pool_size() == 1:
        return function
    pool = Threads(1)
    promise = pool.submit(function)
    pool.shutdown(wait=False)
    return promise.result


def running_total(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return offsets from counts: 0, then the running total."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


class Memo:
    """Values by key, each made once, however many threads ask; beyond `most`, the one unused for longest is dropped.

    Values of different keys may be made at the same time.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._values: OrderedDict[Hashable, object] = OrderedDict()
        self._lock = Lock()
        self._being_made: dict[Hashable, RLock] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key, made now if it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return cast(T, self._values[key])
            own_lock = self._being_made.setdefault(key, RLock())
        with own_lock:
            with self._lock:
                if key in self._values:
                    return cast(T, self._values[key])
            value = make()
            with self._lock:
                self._values[key] = value
                self._being_made.pop(key, None)
                while len(self._values) > self.most:
                    self._values.popitem(last=False)
            return value
