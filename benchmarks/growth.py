"""Time and memory of audits by the number of pairs: `python -m benchmarks.growth 55000 550000 5500000`."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from benchmarks.cues import SIZES, corpus

#: Sections that are read in parts; the others rest on a sample of bounded size.
SECTIONS = ("overview", "cues")
MEMORY = "4GiB"
LARGE = 1_000_000

_RUN = """
import json, resource, sys
import cuecard as cc
card = cc.audit(sys.argv[1], only=sys.argv[2].split(","), memory=sys.argv[3] or None, cache=False, engine=sys.argv[4])
used = resource.getrusage(resource.RUSAGE_SELF)
said = {"cpu": used.ru_utime + used.ru_stime, "rss": used.ru_maxrss * 1024, "engine": card.provenance.engine}
print(json.dumps(said))
"""


@dataclass(frozen=True)
class Run:
    """Processor seconds and peak memory of one audit."""

    pairs: int
    cpu: float
    memory: float
    engine: str


def measured(folder: Path, pairs: int, sections: str, memory: str, engine: str = "local") -> Run:
    """Return what an audit takes, in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-c", _RUN, str(folder), sections, memory, engine],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    said = json.loads(ran.stdout.splitlines()[-1])
    return Run(pairs, said["cpu"], said["rss"] / 1e9, said["engine"])


def main(argv: list[str]) -> None:
    """Print processor time, memory and the exponent of growth for every section and number of pairs.

    Args:
        argv: numbers of pairs; those of `SIZES` by default.
    """
    sizes = [int(text) for text in argv] or list(SIZES)
    with tempfile.TemporaryDirectory() as place:
        folders = {n: corpus(Path(place), n) for n in sizes}
        for sections in SECTIONS:
            runs = []
            for n, folder in folders.items():
                # Small sets are read in parts as well, so that the exponent is that of one way.
                runs.append(measured(folder, n, sections, "1GB" if n < LARGE else MEMORY))
                last = runs[-1]
                print(
                    f"{sections:9} {n:>11,} pairs {last.cpu:8.1f} s {last.memory:6.2f} GB  {last.engine}",
                    flush=True,
                )
            for one, two in pairwise(runs):
                exponent = math.log(two.cpu / one.cpu) / math.log(two.pairs / one.pairs)
                print(f"{sections:9} exponent {one.pairs:,} → {two.pairs:,}: {exponent:.2f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
