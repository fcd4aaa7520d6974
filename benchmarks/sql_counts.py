"""Counts of words by label: ours against the same counts by DuckDB's SQL, Daft's expressions and Ray Data.

Rivals that are not installed are left out (`pip install duckdb daft`, `pip install 'cuecard[ray]'`). They only count;
our audits also test, compare copies and find redundancy. Counts are compared: all must be the same. Ray Data has no
expression that makes rows of the words of a text: a function of Python counts its batches, and `groupby` adds them up.

python -m benchmarks.sql_counts 110000        # pairs
python -m benchmarks.sql_counts 110000 5      # five times, and the medians of the ratios
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cues import COMPARED, corpus

_SPENT = """
def spent(pids):
    total = 0
    for pid in pids:
        of_process = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        total += int(of_process[11]) + int(of_process[12])
    return total / os.sysconf("SC_CLK_TCK")
"""
_BEFORE = """
before = time.process_time()
"""
_USED = """
took = time.process_time() - before
"""
_SAID = """
lines = sorted(f"{word} {label} {n}" for word, label, n in counts if n)
digest = hashlib.sha256("\\n".join(lines).encode()).hexdigest()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps({"cpu": took, "memory": memory, "rows": len(lines), "digest": digest}))
"""
_IMPORTS = "import hashlib, json, os, resource, sys, tempfile, time"
_OURS = f"""
{_IMPORTS}
import cuecard as cc
from cuecard.data.demo import demo_corpus
cc.audit(cc.load(demo_corpus(2_000, seed=1)), only="cues", features="word")
{_BEFORE}
card = cc.audit(sys.argv[1], only="cues", features="word", scope="both", min_count=1, memory=sys.argv[2], cache=False)
{_USED}
counts = []
{_SAID}
"""
_COUNTS = f"""
{_IMPORTS}
import cuecard as cc
import polars as pl
from cuecard.data.demo import demo_corpus
from cuecard.features import Words, count_cues
from cuecard.text import encode
def counted(data):
    return count_cues(encode(data, tokens="default", language="en", scope="both"), [Words()], copies=False)
with tempfile.TemporaryDirectory() as place:  # what is imported at the first file is no part of DuckDB's time either
    demo_corpus(2_000, seed=1).write_parquet(place + "/pairs.parquet")
    counted(cc.load(place))
{_BEFORE}
table = counted(cc.load(sys.argv[1])).features
{_USED}
words = table.filter(pl.col("feature").str.contains(r"^\\w+$"))
others = ("train_texts", "train_squares")
by_label = [name for name in words.columns if name.startswith("train_") and name not in others]
counts = [
    (word, name.removeprefix("train_"), n) for name in by_label for word, n in words.select("feature", name).iter_rows()
]
{_SAID}
"""
_DUCKDB = f"""
{_IMPORTS}
import duckdb
{_BEFORE}
duckdb.sql("set threads to 1")
counts = duckdb.sql(f'''
    with words as (
        select label, unnest(list_distinct(regexp_extract_all(lower(premise || ' ' || hypothesis), '\\\\w+'))) as word
        from '{{sys.argv[1]}}/*.parquet'
    )
    select word, label, count(*) from words group by word, label
''').fetchall()
{_USED}
{_SAID}
"""

_DAFT = f"""
{_IMPORTS}
import daft
from daft import col
from daft.functions import list_distinct, lower, regexp_extract_all
{_BEFORE}
text = lower(col("premise") + " " + col("hypothesis"))
words = list_distinct(regexp_extract_all(text, r"\\w+")).alias("word")
table = daft.read_parquet(sys.argv[1] + "/*.parquet").select("label", words).explode("word")
table = table.groupby("word", "label").agg(col("word").count().alias("n")).to_pydict()
{_USED}
counts = zip(table["word"], table["label"], table["n"])
{_SAID}
"""
# One processor, as the others have one thread. Its workers have read a small set before anything is timed; processor
# seconds are those of this process and of the workers, without the servers of Ray.
_RAY_DATA = f"""
{_IMPORTS}
import re
from collections import Counter
from pathlib import Path
import pyarrow as pa
import ray
from cuecard.data.demo import demo_corpus
{_SPENT}
def workers():
    there = {{}}
    for place in Path("/proc").iterdir():
        try:
            if place.name.isdigit() and (place / "cmdline").read_bytes().startswith(b"ray::"):
                if os.environ["RIVAL"].encode() in (place / "environ").read_bytes():
                    there[place.name] = spent([place.name])
        except OSError:  # it has ended
            continue
    return there
def words_of(batch):
    counted = Counter()
    columns = (batch[name].to_pylist() for name in ("label", "premise", "hypothesis"))
    for label, premise, hypothesis in zip(*columns):
        for word in set(re.findall(r"\\w+", f"{{premise}} {{hypothesis}}".lower())):
            counted[word, label] += 1
    return pa.table({{
        "word": [word for word, _ in counted], "label": [label for _, label in counted], "n": list(counted.values())
    }})
def counted(folder):
    rows = ray.data.read_parquet(folder, columns=["label", "premise", "hypothesis"])
    counts = rows.map_batches(words_of, batch_format="pyarrow", batch_size=None)
    # Not 200 parts, as by default: one is quicker on one processor.
    return counts.groupby(["word", "label"], num_partitions=1).sum("n")
ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
with tempfile.TemporaryDirectory() as place:
    demo_corpus(2_000, seed=1).write_parquet(place + "/pairs.parquet")
    counted(place).take_all()
there = workers()
{_BEFORE}
rows = counted(sys.argv[1]).take_all()
{_USED}
took += sum(seconds - there.get(pid, 0) for pid, seconds in workers().items())
counts = [(row["word"], row["label"], row["sum(n)"]) for row in rows]
{_SAID}
ray.shutdown()
"""
# A virtual machine takes 30 times as long for memory that it had given back to its host: ask for 1 GB before each run.
_WARM = "import numpy; numpy.ones(125_000_000)"
RIVALS = {
    "DuckDB": ("duckdb", _DUCKDB),
    "Daft": ("daft", _DAFT),
    "Ray Data": ("ray", _RAY_DATA),
}


def main(argv: list[str]) -> None:
    """Print processor time and memory of all, and the ratios.

    Args:
        argv: the number of pairs, and how many times all are run in turn.
    """
    n = int(argv[0]) if argv else COMPARED
    repeats = int(argv[1]) if len(argv) > 1 else 1
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = corpus(Path(place), n)
        for _ in range(repeats):
            for name, ratio in _compare(folder, n).items():
                ratios.setdefault(name, []).append(ratio)
    if repeats > 1:
        for name, own in ratios.items():
            print(f"{name}: median {median(own):.2f} of {repeats}, from {min(own):.2f} to {max(own):.2f}")


def _compare(folder: Path, n: int) -> dict[str, float]:
    """Print processor time and memory of all; return how many times as long as ours each rival takes."""
    ours = {
        "counts alone": _run(_COUNTS, folder, ""),
        "audit in memory": _run(_OURS, folder, "1TB"),
        "audit in parts": _run(_OURS, folder, "100MB"),
    }
    for kind, one in ours.items():
        print(f"{kind:16} {n:,} pairs {one['cpu']:7.2f} s {one['memory']:5.2f} GB", flush=True)
    ratios: dict[str, float] = {}
    for name, (package, code) in RIVALS.items():
        if find_spec(package) is None:
            print(f"{name} is not installed: pip install {package}")
            continue
        theirs = _run(code, folder, "")
        if theirs["digest"] != ours["counts alone"]["digest"]:
            raise SystemExit(f"{name} has other counts: {theirs['rows']:,} rows.")
        print(f"{name:16} {n:,} pairs {theirs['cpu']:7.2f} s {theirs['memory']:5.2f} GB, the same counts")
        for kind, one in ours.items():
            ratios[f"{name} / {kind}"] = theirs["cpu"] / one["cpu"]
            print(f"{name} / {kind}: {ratios[f'{name} / {kind}']:.2f}", flush=True)
    return ratios


def _run(code: str, folder: Path, memory: str) -> dict[str, Any]:
    # One thread each, and nothing is sent anywhere.
    single = {"OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "DO_NOT_TRACK": "1"}
    ray = {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        # Workers stay until their seconds are read.
        "RAY_kill_idle_workers_interval_ms": "0",
        "RIVAL": f"rival-{os.getpid()}",
    }
    subprocess.run([sys.executable, "-c", _WARM], check=True)
    ran = subprocess.run(
        [sys.executable, "-c", code, str(folder), memory],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **single, **ray},
    )
    said: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return said


if __name__ == "__main__":
    main(sys.argv[1:])
