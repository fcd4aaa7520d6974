"""Read damaged and odd files in processes of their own, and print a table of how reading ends.

    python scripts/fuzz.py [--cases N] [--seed N] [--only NAME]

Reading may succeed or be refused with a sentence. Anything else is a crash: a traceback, a panic or what it prints, a
process that dies or does not end. Each case is made from its seed, so a crash that is printed can be made again.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "tests")]

from fuzzing import documents, files, gate, table, verdicts  # noqa: E402

#: Seconds of a processor that reading a small file may take, those in which a process starts, and how many times as
#: long both may take on a clock.
LIMIT, START, PATIENCE = 20, 60, 10
CASES = {**files.CASES, **documents.CASES, **gate.CASES, **verdicts.CASES}
WAYS = {**dict.fromkeys(files.CASES, files.WAYS), **documents.WAYS, **gate.WAYS, **verdicts.WAYS}


class Reader:
    """A process that reads one path after another; a new one is started when it dies."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None
        self.errors = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115 (ends with this process)

    def ends(self, way: str, path: Path) -> str:
        """Return how reading a path ends."""
        limit = LIMIT
        if self.process is None or self.process.poll() is not None:
            limit += START
            self.process = subprocess.Popen(
                [sys.executable, ROOT / "scripts" / "fuzzing" / "reader.py"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                env={**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{way}\t{path}\n")
        self.process.stdin.flush()
        used, start = self._processor_time(), time.monotonic()
        while not select.select([self.process.stdout], [], [], 1)[0]:
            # Other work on the machine is not the reader's fault: what counts is its own time, as far as that is known.
            if self._processor_time() - used > limit or time.monotonic() - start > PATIENCE * limit:
                self.close()
                return f"not ended after {limit} s"
        answer = self.process.stdout.readline().strip()
        if printed := self._printed():
            return f"prints {printed.splitlines()[0][:200]!r}"
        return answer or f"process died ({self.process.wait(LIMIT)})"

    def _printed(self) -> str:
        """Return what libraries printed since the last time: a panic that is refused with a sentence prints its own."""
        self.errors.seek(0)
        printed = self.errors.read().strip()
        self.errors.seek(0)
        self.errors.truncate()
        return printed

    def _processor_time(self) -> float:
        """Return the seconds that the process has used a processor; where the system does not say, the clock."""
        assert self.process is not None
        try:
            fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return time.monotonic()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def tried(name: str, seed: str, reader: Reader) -> tuple[str, str]:
    """Return in which way a case was read and how that ended."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = CASES[name](Path(folder), rng)
        way = rng.choice(WAYS[name])
        return way, reader.ends(way, path)


def main() -> int:
    """Print how reading ended for every kind of case; the exit code is 1 if anything crashed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=2000, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(CASES))
    options = parser.parse_args()
    crashes = 0
    reader = Reader()
    print(table.HEAD, flush=True)
    for name in [options.only] if options.only else list(CASES):
        ends: Counter[str] = Counter()
        for case in range(options.cases):
            seed = f"{options.seed}/{name}/{case}"
            way, end = tried(name, seed, reader)
            ends[end if end in ("read", "refused") else "crashes"] += 1
            if end not in ("read", "refused"):
                print(f"  seed {seed!r} ({way}): {end}", flush=True)
        crashes += ends["crashes"]
        print(table.row(name, ends), flush=True)
    reader.close()
    return int(crashes > 0)


if __name__ == "__main__":
    raise SystemExit(main())
