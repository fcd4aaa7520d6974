"""Analyses that may run at the same time do, on threads; their compiled loops and matrix products run in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import polars as pl

from cuecard.analysis import Analysis

T = TypeVar("T")

#: Each analysis has threads of its own where it computes most: more of them at once would only need more memory.
MOST_AT_ONCE = 2


def side_by_side(analyses: Sequence[Analysis], run: Callable[[Analysis], T]) -> list[T]:
    """Return what `run` returns for each analysis, in their order.

    Analyses that declare `parallel` come first, as many at once as polars has threads (POLARS_MAX_THREADS) and at most
    `MOST_AT_ONCE`; the others follow one by one. What an analysis returns does not depend on this.
    """
    parallel = [i for i, one in enumerate(analyses) if getattr(one, "parallel", False)]
    threads = min(MOST_AT_ONCE, pl.thread_pool_size(), len(parallel))
    results: dict[int, T] = {}
    if parallel:
        with same_digits():
            results = dict(
                zip(parallel, _on_threads([analyses[i] for i in parallel], run, threads), strict=True)
            )
    return [results[i] if i in results else run(one) for i, one in enumerate(analyses)]


@contextmanager
def same_digits() -> Iterator[None]:
    """Have sums of matrix products done in one thread each: their number must not change the last digit.

    All analyses that declare `parallel` run so, alone or beside others, in memory or in pieces.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        yield


def _on_threads(analyses: Sequence[Analysis], run: Callable[[Analysis], T], threads: int) -> list[T]:
    if threads < 2:
        return [run(one) for one in analyses]
    pool = ThreadPoolExecutor(threads)
    try:
        promises = [pool.submit(run, one) for one in analyses]
        results = [promise.result() for promise in promises]
    except BaseException:  # an error or an interrupt does not wait for the others
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return results
