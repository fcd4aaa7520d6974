"""Read damaged and odd files in processes of their own, and count how reading ends.

    python scripts/fuzz.py [--cases N] [--seed N] [--only NAME]

Reading may succeed or be refused with a sentence. Anything else is a crash: a traceback, a panic, or a process
that dies. Each case is made from its seed, so a crash that is printed can be made again.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow as pa

#: Seconds that reading a small file may take.
LIMIT = 60

READER = """
import sys
from pathlib import Path
from cuecard.data import load, scan
from cuecard.errors import CueCardError
for line in sys.stdin:
    how, path = line.rstrip("\\n").split("\\t")
    try:
        if how == "scan":
            for part in scan(path, rows=7):
                part.fingerprint
        else:
            load(path, on_error=how, max_skipped=10**9).fingerprint
        end = "read"
    except CueCardError as error:
        end = "refused" if "\\n" not in str(error) and len(str(error)) < 8000 else "long message"
    except BaseException as error:
        end = f"{type(error).__name__}: {str(error).splitlines()[:1]}"
    print(end, flush=True)
"""


class Reader:
    """A process that reads one path after another; a new one is started when it dies."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def ends(self, how: str, path: Path) -> str:
        """Return how reading a path ends."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, "-c", READER],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                env={**os.environ, "POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"},
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{how}\t{path}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        return answer or f"process died ({self.process.wait(LIMIT)})"

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()


def table(rng: random.Random) -> pa.Table:
    """Return rows with texts, nulls, numbers, lists and structs."""
    n = rng.randrange(20, 60)
    labels = pa.array([str(i % 3) for i in range(n)])
    return pa.table(
        {
            "premise": [f"premise {i} é" for i in range(n)],
            "hypothesis": [None if i % 7 == 0 else "word " * rng.randrange(5) for i in range(n)],
            "label": labels.dictionary_encode() if rng.random() < 0.3 else labels,
            "tags": [["a", "b"][: i % 3] for i in range(n)],
            "about": [{"x": i, "y": "z"} for i in range(n)],
        }
    )


def flipped(data: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to five bits flipped."""
    damaged = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


def arrow(folder: Path, rng: random.Random) -> Path:
    """Write a saved Hugging Face dataset with flipped bits in its Arrow file."""
    rows = table(rng)
    opened = pa.ipc.new_stream if rng.random() < 0.5 else pa.ipc.new_file
    buffer = io.BytesIO()
    with opened(buffer, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=15)
    (folder / "data.arrow").write_bytes(flipped(buffer.getvalue(), rng))
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data.arrow"}]}))
    return folder


def parquet(folder: Path, rng: random.Random) -> Path:
    """Write a parquet file with flipped bits."""
    buffer = io.BytesIO()
    compression = rng.choice(["uncompressed", "zstd", "snappy", "gzip"])
    frame = pl.DataFrame(table(rng))
    frame.write_parquet(buffer, compression=compression, row_group_size=rng.choice([10, 100]))
    path = folder / "x.parquet"
    path.write_bytes(flipped(buffer.getvalue(), rng))
    return path


def text(folder: Path, rng: random.Random) -> Path:
    """Write a csv, tsv, jsonl or json file with flipped bits, cut short, or with pieces put elsewhere."""
    rows = [{"premise": f"p {i}", "hypothesis": f'h "{i}", é', "label": str(i % 2)} for i in range(20)]
    kind = rng.choice(["csv", "tsv", "jsonl", "json", "txt"])
    if kind in ("csv", "tsv", "txt"):
        whole = pl.DataFrame(rows).write_csv(separator="," if kind == "csv" else "\t")
    else:
        whole = json.dumps(rows) if kind == "json" else "\n".join(map(json.dumps, rows))
    data = whole.encode()
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data))
        change = rng.choice(["flip", "cut", "copy", "insert"])
        if change == "flip":
            data = flipped(data, rng)
        elif change == "cut":
            data = data[:at] or b"x"
        elif change == "copy":
            data = data[:at] + data[rng.randrange(len(data)) :][:50] + data[at:]
        else:
            piece = rng.choice(
                [b"\0", b"\xff", b'"', b"\\ud800", b"{", b"[" * 2000, b"9" * 5000, b"\r", b"null", b"\n\n"]
            )
            data = data[:at] + piece + data[at:]
    path = folder / f"x.{kind}"
    path.write_bytes(data)
    return path


VALUES = [
    None, True, 0, -1, 2, 1.5, 10**30, "", "-", "text", "\u202e", [], ["a", "b"], [["a"]], [1, "a"], {}, {"text": "a"},
    {"text": ["a"], "label": ["A"]}, [{"role": "user", "content": "x"}], [{"a": 1}, 3], "x" * 1000,
]  # fmt: skip
ROLES = [
    ["premise", "hypothesis", "label"], ["question", "choices", "answer"], ["prompt", "chosen", "rejected"],
    ["prompt", "response_a", "response_b", "winner"], ["text", "label"], ["id", "text", "label"],
    ["sentence", "option1", "option2", "answer"],
]  # fmt: skip


def values(folder: Path, rng: random.Random) -> Path:
    """Write rows whose fields are replaced by null, lists, objects, huge numbers, or are missing."""
    names = rng.choice(ROLES)
    rows = []
    for i in range(rng.randrange(1, 8)):
        row = {name: ["a", "b"] if name == "choices" else f"{name} {i % 2}" for name in names}
        for _ in range(rng.randrange(3)):
            row[rng.choice(names)] = rng.choice(VALUES)
        if rng.random() < 0.1:
            del row[rng.choice(list(row))]
        rows.append(row)
    lines = rng.random() < 0.7
    path = folder / ("x.jsonl" if lines else "x.json")
    path.write_text("\n".join(map(json.dumps, rows)) if lines else json.dumps(rows))
    return path


def documents(folder: Path, rng: random.Random) -> Path:
    """Write a JSON document of any shape."""

    def value(depth: int) -> object:
        kind = rng.randrange(4) if depth else 3
        if kind == 0:
            return [value(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 1:
            keys = rng.sample(
                ["text", "label", "data", "question", "choices", "answer", "id", "0", "1"], rng.randrange(5)
            )
            return {key: value(depth - 1) for key in keys}
        return rng.choice(VALUES)

    path = folder / "x.json"
    path.write_text(json.dumps(value(rng.randrange(1, 5))))
    return path


CASES: dict[str, Callable[[Path, random.Random], Path]] = {
    "arrow": arrow,
    "parquet": parquet,
    "text": text,
    "values": values,
    "documents": documents,
}


def main() -> int:
    """Print how reading ended for every kind of case; the exit code is 1 if anything crashed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cases", type=int, default=2000, help="cases of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=list(CASES))
    options = parser.parse_args()
    crashes = 0
    reader = Reader()
    for name in [options.only] if options.only else list(CASES):
        ends: Counter[str] = Counter()
        for case in range(options.cases):
            seed = f"{options.seed}/{name}/{case}"
            rng = random.Random(seed)
            with tempfile.TemporaryDirectory() as folder:
                path = CASES[name](Path(folder), rng)
                how = rng.choice(["stop", "skip", "scan"])
                end = reader.ends(how, path)
            ends[end if end in ("read", "refused") else "crashed"] += 1
            if end not in ("read", "refused"):
                print(f"{name} seed {seed!r} ({how}): {end}")
        crashes += ends["crashed"]
        counts = f"read {ends['read']:,}, refused {ends['refused']:,}, crashes {ends['crashed']:,}"
        print(f"{name}: {options.cases:,} cases, {counts}", flush=True)
    reader.close()
    return int(crashes > 0)


if __name__ == "__main__":
    raise SystemExit(main())
