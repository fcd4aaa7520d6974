"""How long things may take where a machine is slow or busy: what must be quick, and what is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

T = TypeVar("T")

#: Seconds of a processor that `_fixed_work` takes on an idle machine of 2023.
USUAL = 0.02
#: Seconds after which something that others do in their own time is taken not to happen at all.
PATIENCE = 600.0


def _fixed_work() -> float:
    """Return the seconds of a processor that a piece of work takes which is always the same."""
    numbers = np.random.default_rng(0).random(300_000)
    start = time.process_time()
    np.sort(numbers)
    sum(i * i for i in range(300_000))
    return time.process_time() - start


def quick(work: Callable[[], T], seconds: float) -> T:
    """Return what work returns, after checking that it takes at most so many seconds of an idle processor.

    Other work on a machine takes caches and half of each core away, so that its processor time is longer, too: it is
    measured against that of a fixed piece of work just before and after, and the best of three runs counts.
    """
    taken = []
    for _ in range(3):
        before, start = _fixed_work(), time.process_time()
        result = work()
        used = time.process_time() - start
        taken.append(used / max(1.0, (before + _fixed_work()) / 2 / USUAL))
        if taken[-1] < seconds:
            return result
    raise AssertionError(f"it takes {min(taken):.2f} s, and may take {seconds:g} s")


def wait_until(condition: Callable[[], bool]) -> None:
    """Return once a condition holds; fail if it does not for minutes."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it did not happen in time"
        time.sleep(0.05)
