"""Time and memory of audits by the number of pairs.

python -m benchmarks.growth 55000 550000 5500000
python -m benchmarks.growth --only=slices,pair_graph 55000 550000
python -m benchmarks.growth --only=overview+cues --folder=pairs 5500000 55000000    # both in one process
python -m benchmarks.growth --only=weights 550000 5500000    # `cuecard debias FOLDER --out NEW`
python -m benchmarks.growth --as=55000000 2200000    # arrays are files that would be among 55 million pairs
python -m benchmarks.growth --whole 1000000    # every section, as `cuecard audit FOLDER` runs them
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.cues import SIZES, corpus
from cuecard.data import space

#: Sections that are read in parts; the others rest on a sample of bounded size.
SECTIONS = ("overview", "cues", "partial_input", "slices", "pair_graph")
MEMORY = "4GiB"
#: Too little memory for any set, and enough for sets that are read at once for comparison.
SMALL, WHOLE = "1KB", "1TB"
#: Sets of more pairs are read in parts with half of `MEMORY`, and of more than that with all of it.
MIDDLE, LARGE = 100_000, 1_000_000
HALF = "2GB"

#: Words that hint at a label, and how many of them do so most of the time.
HINTS, STRONG_HINTS = 600, 60

_RUN = """
import json, resource, sys, tempfile, threading
import time
from pathlib import Path
import cuecard as cc
from cuecard.data import space
from cuecard.run.debiasing import debias_file
space.LARGE = int(sys.argv[5])
own = [0]
def watch():
    while True:
        lines = open("/proc/self/status").read().splitlines()
        own[0] = max(own[0], *(int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon:")))
        time.sleep(0.05)
if sys.platform == "linux":
    threading.Thread(target=watch, daemon=True).start()
start = time.perf_counter()
only = sys.argv[2].split(",") if sys.argv[2] else None
if only == ["weights"]:
    with tempfile.TemporaryDirectory() as place:
        card = debias_file(sys.argv[1], Path(place) / "weighted", memory=sys.argv[3] or None).card
else:
    card = cc.audit(sys.argv[1], only=only, memory=sys.argv[3] or None, cache=False, engine=sys.argv[4])
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({
    "cpu": used.ru_utime + used.ru_stime, "clock": time.perf_counter() - start, "rss": used.ru_maxrss * 1024,
    "own": own[0], "engine": card.provenance.engine, "sections": card.provenance.seconds,
    "status": {name: section.status for name, section in card.sections.items()},
}))
"""


@dataclass(frozen=True)
class Run:
    """Seconds and peak memory in GB of one audit, and seconds and status by section.

    `own` is the memory without pages of files, which the system takes back where another program needs it; 0 where the
    system does not tell them apart.
    """

    pairs: int
    cpu: float
    clock: float
    memory: float
    own: float
    engine: str
    sections: dict[str, float]
    status: dict[str, str]


def measured(
    folder: Path, pairs: int, sections: str, memory: str, engine: str = "local", large: int = space.LARGE
) -> Run:
    """Return what an audit takes, in a process of its own; arrays of `large` bytes are files where texts are."""
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, str(folder), sections.replace("+", ","), memory, engine, str(large)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    said = json.loads(ran.stdout.splitlines()[-1])
    peaks = {name: said.pop(key) / 1e9 for name, key in (("memory", "rss"), ("own", "own"))}
    return Run(pairs, **peaks, **said)


def with_leaks(folder: Path) -> Path:
    """Give the pairs of a folder two words each that hint at the label, and an extra column; return the folder.

    What there is to find is part of the work: the rows of the strongest cues, which leave the groups, and whether they
    hold in both halves.
    """
    for number, file in enumerate(sorted(folder.iterdir())):
        pairs, rng = pl.read_parquet(file), np.random.default_rng([1, number])
        label = pairs["label"].to_physical().to_numpy()
        names = pl.Series([f"hint{i}" for i in range(HINTS)] + [""])
        hints = []
        for _ in range(2):
            word = rng.integers(0, HINTS, pairs.height)
            kept = np.where(word < STRONG_HINTS, 0.35, 0.7)
            there = (word % 3 == label) | (rng.random(pairs.height) < kept)
            hints.append(names.gather(np.where(there, word, HINTS)))
        text = pl.concat_str("hypothesis", *hints, separator=" ").str.strip_chars_end()
        source = pl.int_range(pl.len()) % 5
        pairs.with_columns(hypothesis=text, source=source).write_parquet(file)
    return folder


def _print_whole(run: Run) -> None:
    """Print what a whole audit takes, in all and by section."""
    total = f"{run.clock:.0f} s ({run.cpu:.0f} s of a processor), peak {run.memory:.2f} GB"
    print(f"whole audit of {run.pairs:,} pairs: {total} {run.engine}".rstrip(), flush=True)
    for name, spent in sorted(run.sections.items(), key=lambda item: -item[1]):
        print(f"  {name:16}{spent:8.1f} s  {run.status.get(name, '')}".rstrip(), flush=True)


def _print(sections: str, run: Run) -> None:
    where = run.engine or "in memory"
    memory = f"{run.memory:6.2f} GB, {run.own:.2f} of them no pages of files"
    print(f"{sections:13} {run.pairs:>11,} pairs {run.cpu:8.1f} s {memory}  {where}", flush=True)


def main(argv: list[str]) -> None:
    """Print processor time, memory and the exponent of growth for every section and number of pairs.

    Args:
        argv: numbers of pairs, those of `SIZES` by default; with `--whole`, of whole audits, and with `--only=NAMES`,
            of these sections alone ("a,b" one after another, "a+b" in one process) or of "weights"; `--folder=PLACE`
            keeps the pairs there for the next time, and `--as=PAIRS` makes files of the arrays that would be large
            among so many pairs.
    """
    sizes = [int(text) for text in argv if not text.startswith("--")] or list(SIZES)
    only = [text.removeprefix("--only=").split(",") for text in argv if text.startswith("--only=")]
    as_many = [int(text.removeprefix("--as=")) for text in argv if text.startswith("--as=")]
    kept = [text.removeprefix("--folder=") for text in argv if text.startswith("--folder=")]
    with nullcontext(kept[0]) if kept else tempfile.TemporaryDirectory() as place:
        folders = {
            n: made if (made := Path(place) / str(n)).is_dir() else with_leaks(corpus(Path(place), n))
            for n in sizes
        }
        if "--whole" in argv:
            for n, folder in folders.items():
                _print_whole(measured(folder, n, "", ""))
            return
        for sections in only[0] if only else SECTIONS:
            runs = []
            for n, folder in folders.items():
                # Small sets are read in parts as well, so that the exponent is that of one way.
                memory = MEMORY if n >= LARGE else HALF if n >= MIDDLE else SMALL
                large = space.LARGE * n // as_many[0] if as_many else space.LARGE
                runs.append(measured(folder, n, sections, memory, large=large))
                _print(sections, runs[-1])
                if n < LARGE:
                    _print(sections, measured(folder, n, sections, WHOLE))
            for one, two in pairwise(runs):
                exponent = math.log(two.cpu / one.cpu) / math.log(two.pairs / one.pairs)
                print(f"{sections:13} exponent {one.pairs:,} → {two.pairs:,}: {exponent:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
