"""The short form: a few ratios of processor time, alone in this process, beside those that were written down.

It warns where a ratio is less than half as good as `short_baseline.json` says; `--write` writes new ones there.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from benchmarks.measure import halves, timed

BASELINE = Path(__file__).parent / "short_baseline.json"
ROWS = 55_000
REPEATS = 3


def works(pairs: pl.DataFrame) -> dict[str, Callable[[], object]]:
    """Return what is timed of ours."""
    from cuecard.audits import Clusters, Cues, PartialInput
    from cuecard.data import load
    from cuecard.text import encode

    return {
        "word cues": lambda: Cues(features=("word",), scope="both").run(load(pairs)),
        "cues of all families": lambda: Cues().run(load(pairs)),
        "copies and near copies": lambda: load(pairs).units("hypothesis"),
        "tokens": lambda: encode(load(pairs)),
        "partial input": lambda: PartialInput(cache=False).run(load(pairs[: ROWS // 5])),
        "clusters": lambda: Clusters(map="none", sweep=False).run(load(pairs[: ROWS // 5])),
    }


def ratios() -> dict[str, float]:
    """Return the processor time of CountVectorizer on the same texts, over that of each work."""
    from sklearn.feature_extraction.text import CountVectorizer

    pairs = halves(ROWS)
    texts = pairs.select(pl.concat_str("premise", "hypothesis", separator=" ")).to_series().to_list()
    rival = timed(lambda: CountVectorizer(binary=True).fit_transform(texts), repeats=REPEATS).processor
    return {name: rival / timed(work, repeats=REPEATS).processor for name, work in works(pairs).items()}


def main(argv: list[str]) -> None:
    """Print every ratio beside the one that was written down, and warn of those that halved."""
    parser = argparse.ArgumentParser(prog="benchmarks.short")
    parser.add_argument("--write", action="store_true", help="write these ratios down")
    arguments = parser.parse_args(argv)
    found = ratios()
    if arguments.write:
        rounded = {name: round(ratio, 3) for name, ratio in found.items()}
        BASELINE.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")
    known: dict[str, float] = json.loads(BASELINE.read_text(encoding="utf-8"))
    print("CountVectorizer's processor time over ours")
    for name, ratio in found.items():
        halved = "  WARNING: it halved" if ratio < known.get(name, 0.0) / 2 else ""
        print(f"{name:<28}{ratio:>7.2f}, written down: {known.get(name, 0.0):.2f}{halved}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
