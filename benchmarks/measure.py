"""Time, peak memory and growth of a piece of work."""

from __future__ import annotations

import json
import math
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

RESULTS = Path(__file__).parent / "results"
SNLI = Path(__file__).resolve().parents[2] / "shared" / "data" / "snli"
#: Pairs of the generated corpus where SNLI is absent, as many as its training file has.
PAIRS = 92_727


class Seconds(NamedTuple):
    """How long it took on the clock, and how much processor time it used on all cores.

    On a machine with other work the clock depends on who else is there; processor time hardly does.
    """

    clock: float
    processor: float


def timed(work: Callable[[], object], *, repeats: int = 1) -> Seconds:
    """Return the shortest of several runs: what the machine can do when it is left alone."""
    best = Seconds(math.inf, math.inf)
    for _ in range(repeats):
        clock, processor = time.perf_counter(), time.process_time()
        work()
        took = Seconds(time.perf_counter() - clock, time.process_time() - processor)
        best = Seconds(min(best.clock, took.clock), min(best.processor, took.processor))
    return best


def seconds(work: Callable[[], object], *, repeats: int = 1) -> float:
    """Return the shortest time of several runs on the clock."""
    return timed(work, repeats=repeats).clock


def snli_or_generated() -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return train and test pairs: SNLI's where they lie beside this checkout, else a corpus of the same shape."""
    columns = ("premise", "hypothesis", "label")
    if SNLI.exists():
        train, test = (pl.read_parquet(SNLI / f"{name}.parquet") for name in ("train_partial", "test"))
        return train.select(columns), test.select(columns)
    from cuecard.data.demo import demo_corpus

    return demo_corpus(PAIRS, seed=0), demo_corpus(10_000, seed=1)


def in_fresh_process(work: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return what the work returns and the peak memory in GiB of a fresh process that did it."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return pool.apply(_with_peak, (work, arguments))


def _with_peak(work: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, float]:
    answer = work(*arguments)
    return answer, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def growth_exponent(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Return the slope of log time against log size by least squares; 1 is linear."""
    x = [math.log(size) for size in sizes]
    y = [math.log(t) for t in times]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)


def write_json(name: str, figures: dict[str, Any]) -> Path:
    """Write the figures of a benchmark where `make bench` collects them."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return path
