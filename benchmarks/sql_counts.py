"""Counts of words by label: ours against the same counts by DuckDB's SQL and Daft's expressions.

Rivals that are not installed are left out (`pip install duckdb daft`). They only count; our audits also test, compare
copies and find redundancy. Ray Data is none of them: it has no expression that makes rows of the words of a text.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from benchmarks.cues import COMPARED, corpus

_USED = """
used = resource.getrusage(resource.RUSAGE_SELF)
print(json.dumps({"cpu": used.ru_utime + used.ru_stime - before, "memory": used.ru_maxrss / 1e6, "rows": rows}))
"""
_BEFORE = """
used = resource.getrusage(resource.RUSAGE_SELF)
before = used.ru_utime + used.ru_stime
"""
_OURS = f"""
import json, resource, sys
import cuecard as cc
from cuecard.data.demo import demo_corpus
cc.audit(cc.load(demo_corpus(2_000, seed=1)), only="cues", features="word")
{_BEFORE}
card = cc.audit(sys.argv[1], only="cues", features="word", scope="both", min_count=1, memory=sys.argv[2], cache=False)
rows = card["cues"].table.height
{_USED}
"""
_COUNTS = f"""
import json, resource, sys, tempfile
import cuecard as cc
from cuecard.data.demo import demo_corpus
from cuecard.features import Words, count_cues
from cuecard.text import encode
def counts(data):
    return count_cues(encode(data, tokens="default", language="en", scope="both"), [Words()], copies=False)
with tempfile.TemporaryDirectory() as place:  # what is imported at the first file is no part of DuckDB's time either
    demo_corpus(2_000, seed=1).write_parquet(place + "/pairs.parquet")
    counts(cc.load(place))
{_BEFORE}
rows = counts(cc.load(sys.argv[1])).features.height
{_USED}
"""
_DUCKDB = f"""
import json, resource, sys
import duckdb
{_BEFORE}
duckdb.sql("set threads to 1")
rows = len(duckdb.sql(f'''
    with words as (
        select label, unnest(list_distinct(regexp_extract_all(lower(premise || ' ' || hypothesis), '\\\\w+'))) as word
        from '{{sys.argv[1]}}/*.parquet'
    )
    select word, label, count(*) from words group by word, label
''').fetchall())
{_USED}
"""

_DAFT = f"""
import json, resource, sys
import daft
from daft import col
from daft.functions import list_distinct, lower, regexp_extract_all
{_BEFORE}
text = lower(col("premise") + " " + col("hypothesis"))
words = list_distinct(regexp_extract_all(text, r"\\w+")).alias("word")
table = daft.read_parquet(sys.argv[1] + "/*.parquet").select("label", words).explode("word")
rows = len(table.groupby("word", "label").agg(col("word").count().alias("n")).to_pydict()["word"])
{_USED}
"""
RIVALS = {"DuckDB": ("duckdb", _DUCKDB), "Daft": ("daft", _DAFT)}


def main(argv: list[str]) -> None:
    """Print processor time and memory of all, and the ratios.

    Args:
        argv: the number of pairs.
    """
    n = int(argv[0]) if argv else COMPARED
    with tempfile.TemporaryDirectory() as place:
        folder = corpus(Path(place), n)
        ours = {
            "counts alone": _run(_COUNTS, folder, ""),
            "audit in memory": _run(_OURS, folder, "1TB"),
            "audit in parts": _run(_OURS, folder, "100MB"),
        }
        for kind, one in ours.items():
            print(f"{kind:16} {n:,} pairs {one['cpu']:7.2f} s {one['memory']:5.2f} GB", flush=True)
        for name, (package, code) in RIVALS.items():
            if find_spec(package) is None:
                print(f"{name} is not installed: pip install {package}")
                continue
            theirs = _run(code, folder, "")
            print(f"{name:16} {n:,} pairs {theirs['cpu']:7.2f} s {theirs['memory']:5.2f} GB")
            for kind, one in ours.items():
                print(f"{name} / {kind}: {theirs['cpu'] / one['cpu']:.2f}", flush=True)


def _run(code: str, folder: Path, memory: str) -> dict[str, float]:
    ran = subprocess.run(
        [sys.executable, "-c", code, str(folder), memory],
        check=True,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "POLARS_MAX_THREADS": "1",
            "DO_NOT_TRACK": "1",
        },  # DuckDB has one thread, too
    )
    said: dict[str, float] = json.loads(ran.stdout.splitlines()[-1])
    return said


if __name__ == "__main__":
    main(sys.argv[1:])
