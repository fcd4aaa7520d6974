"""Cue discovery against scikit-learn's CountVectorizer and a plain Counter loop on generated SNLI-shaped pairs.

What is timed of ours is everything from the parquet file to the tables of statistics; of CountVectorizer, only
`fit_transform` on texts that are already Python strings in memory.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.measure import growth_exponent, in_fresh_process, seconds, write_json

SIZES = (55_000, 550_000, 5_500_000)
COMPARED = 550_000


def corpus(folder: Path, rows: int) -> Path:
    """Write a generated corpus of that many pairs, one parquet file per chunk, and return its folder."""
    from cuecard.data.demo import demo_corpus_chunks

    target = folder / str(rows)
    target.mkdir()
    for i, chunk in enumerate(demo_corpus_chunks(rows, seed=0)):
        chunk.write_parquet(target / f"part-{i:03}.parquet")
    return target


def our_word_cues(folder: str, repeats: int) -> float:
    """Return the seconds from files to word-cue tables, kernels compiled beforehand."""
    return _ours(folder, ("word",), repeats)


def all_families(folder: str, repeats: int) -> float:
    """Return the seconds from files to cue tables of every built-in family."""
    from cuecard.features import FAMILIES

    return _ours(folder, tuple(FAMILIES.names()), repeats)


def _ours(folder: str, features: tuple[str, ...], repeats: int) -> float:
    from cuecard.audits import Cues
    from cuecard.data import load, scan
    from cuecard.data.demo import demo_corpus

    audit = Cues(features=features, scope="both")
    audit.run(load(demo_corpus(2_000, seed=1)))
    streamed = len(list(Path(folder).iterdir())) > 1
    return seconds(
        lambda: audit.run_parts(scan(folder)) if streamed else audit.run(load(folder)), repeats=repeats
    )


def count_vectorizer(folder: str) -> float:
    """Return the seconds of CountVectorizer's fit_transform on premise and hypothesis joined."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts = _joined(folder)["text"].to_list()
    return seconds(lambda: CountVectorizer(binary=True).fit_transform(texts))


def counter_loop(folder: str) -> float:
    """Return the seconds of the loop most people would write: a Counter per label."""
    table = _joined(folder)
    texts, labels = table["text"].to_list(), table["label"].to_list()
    word = re.compile(r"\w+")

    def loop() -> dict[str, Counter[str]]:
        counts: dict[str, Counter[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            counts.setdefault(label, Counter()).update(set(word.findall(text.lower())))
        return counts

    return seconds(loop)


def _joined(folder: str) -> pl.DataFrame:
    return pl.read_parquet(f"{folder}/*.parquet").select(
        "label", text=pl.concat_str("premise", "hypothesis", separator=" ")
    )


def main(argv: list[str]) -> None:
    """Print ratios, peak memory and the growth exponent, and write them as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.cues")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave larger sizes out")
    arguments = parser.parse_args(argv)
    sizes = [size for size in SIZES if size <= arguments.largest]
    figures: dict[str, Any] = {"sizes": sizes, "seconds": {}, "peak_gib": {}}
    with tempfile.TemporaryDirectory() as temporary:
        folders = {size: corpus(Path(temporary), size) for size in sizes}
        for size, folder in folders.items():
            took, peak = in_fresh_process(our_word_cues, str(folder), 3 if size <= COMPARED else 1)
            figures["seconds"][size], figures["peak_gib"][size] = took, peak
            print(f"word cues, {size:>9,} pairs: {took:7.2f} s, peak {peak:.2f} GiB", flush=True)
        figures["growth_exponent"] = growth_exponent(sizes, list(figures["seconds"].values()))
        print(f"growth exponent: {figures['growth_exponent']:.3f}")
        if COMPARED in folders:
            compared = str(folders[COMPARED])
            rival, _ = in_fresh_process(count_vectorizer, compared)
            loop, _ = in_fresh_process(counter_loop, compared)
            families, peak = in_fresh_process(all_families, compared, 2)
            ours = figures["seconds"][COMPARED]
            figures |= {
                "count_vectorizer_seconds": rival,
                "counter_loop_seconds": loop,
                "all_families_seconds": families,
                "all_families_peak_gib": peak,
                "speedup_over_count_vectorizer": rival / ours,
                "speedup_over_counter_loop": loop / ours,
                "all_families_against_count_vectorizer": families / rival,
            }
            print(f"CountVectorizer.fit_transform: {rival:.2f} s; ours is {rival / ours:.1f}× faster")
            print(f"Counter loop: {loop:.2f} s; ours is {loop / ours:.1f}× faster")
            print(f"all families: {families:.2f} s, {families / rival:.2f} of CountVectorizer's time")
    print(f"written to {write_json('cues', figures)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
