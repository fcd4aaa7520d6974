"""Time, peak memory and growth of a piece of work."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
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


def halves(rows: int, *, distinct: bool = True, seed: int = 0) -> pl.DataFrame:
    """Return pairs that are shaped like SNLI's and have its cues: there is something to find.

    Distinct ones join the first half of a hypothesis to the second half of another one, premises likewise, and have the
    label of the first; others are pairs of SNLI, drawn with replacement.
    """
    train, _ = snli_or_generated()
    rng = np.random.default_rng(seed)
    first, second = (rng.integers(0, train.height, rows) for _ in range(2))
    if not distinct:
        return train[first]
    joined = {}
    for name in ("premise", "hypothesis"):
        words = train[name].str.split(" ")
        half = (words.list.len() + 1) // 2
        frame = pl.DataFrame({"words": words, "half": half})
        begins = frame.select(pl.col("words").list.head("half").list.join(" ")).to_series()
        ends = frame.select(pl.col("words").list.slice("half").list.join(" ")).to_series()
        joined[name] = begins[first] + " " + ends[second]
    return pl.DataFrame(joined).with_columns(label=train["label"].cast(pl.String)[first])


class Ratio(NamedTuple):
    """A row of the table of `make bench`: what is timed, beside what, and what is promised of clock time.

    `goal` is the most that ours may take of the other's time; 1 / 1.5 says "1.5 times as fast".
    """

    name: str
    beside: str
    ours: Seconds
    theirs: Seconds
    goal: float | None = None

    @property
    def clock(self) -> float:
        """Our share of their time on the clock."""
        return self.ours.clock / self.theirs.clock

    @property
    def processor(self) -> float:
        """Our share of their processor time."""
        return self.ours.processor / self.theirs.processor


def record(*ratios: Ratio) -> None:
    """Add rows to the table of this run, in place of earlier ones of their names."""
    rows = [ratio for ratio in recorded() if ratio.name not in {new.name for new in ratios}]
    listed = [[*row[:2], *map(list, row[2:4]), row.goal] for row in (*rows, *ratios)]
    write_json(
        "ratios", {"rows": listed, "busy": was_busy() or os.getloadavg()[0] > 1.5 * (os.cpu_count() or 1)}
    )


def recorded() -> list[Ratio]:
    """Return the rows of the table that are there."""
    rows = _ratios().get("rows", [])
    return [Ratio(name, beside, Seconds(*o), Seconds(*t), goal) for name, beside, o, t, goal in rows]


def was_busy() -> bool:
    """Return whether the machine had other work while a row was measured."""
    return bool(_ratios().get("busy"))


def _ratios() -> dict[str, Any]:
    path = RESULTS / "ratios.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def table(ratios: Sequence[Ratio]) -> list[str]:
    """Return rows of a Markdown table: times on the clock, both ratios, and the goal."""
    lines = ["| what | beside | time | ratio | of CPU time | goal |", "|---|---|---:|---:|---:|---:|"]
    for row in ratios:
        times = f"{row.ours.clock:.2f} s / {row.theirs.clock:.2f} s"
        goal = "" if row.goal is None else f"at most {row.goal:.2f}"
        lines.append(
            f"| {row.name} | {row.beside} | {times} | {row.clock:.2f} | {row.processor:.2f} | {goal} |"
        )
    return lines


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
