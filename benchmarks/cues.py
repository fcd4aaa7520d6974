"""Cue discovery against scikit-learn's CountVectorizer and a plain Counter loop on SNLI-shaped pairs with cues to find.

What is timed of ours is everything from the parquet file to the tables of statistics; of CountVectorizer, only
`fit_transform` on texts that are already Python strings in memory.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.measure import (
    Ratio,
    Seconds,
    growth_exponent,
    halves,
    in_fresh_process,
    record,
    timed,
    write_json,
)

SIZES = (55_000, 550_000, 5_500_000)
COMPARED = 550_000
ROWS_OF_FILE = 90_000


def corpus(folder: Path, rows: int) -> Path:
    """Write a generated corpus of that many pairs, one parquet file per chunk, and return its folder."""
    from cuecard.data.demo import demo_corpus_chunks

    return _written(folder / str(rows), demo_corpus_chunks(rows, seed=0))


def pairs_with_cues(folder: Path, rows: int) -> Path:
    """Write that many SNLI-shaped pairs that have cues, one parquet file per chunk, and return their folder."""
    starts = range(0, rows, ROWS_OF_FILE)
    chunks = (halves(min(ROWS_OF_FILE, rows - start), seed=i) for i, start in enumerate(starts))
    return _written(folder / str(rows), chunks)


def _written(target: Path, chunks: Iterable[pl.DataFrame]) -> Path:
    target.mkdir()
    for i, chunk in enumerate(chunks):
        chunk.write_parquet(target / f"part-{i:03}.parquet")
    return target


def our_word_cues(folder: str, repeats: int) -> Seconds:
    """Return the seconds from files to word-cue tables, kernels compiled beforehand."""
    return _ours(folder, ("word",), repeats)


def all_families(folder: str, repeats: int) -> Seconds:
    """Return the seconds from files to cue tables of every built-in family."""
    from cuecard.features import FAMILIES, ON_REQUEST

    return _ours(folder, tuple(name for name in FAMILIES.names() if name not in ON_REQUEST), repeats)


def _ours(folder: str, features: tuple[str, ...], repeats: int) -> Seconds:
    from cuecard.audits import Cues
    from cuecard.data import load
    from cuecard.data.demo import demo_corpus

    audit = Cues(features=features, scope="both")
    audit.run(load(demo_corpus(2_000, seed=1)))
    return timed(lambda: audit.run(load(folder)), repeats=repeats)


def count_vectorizer(folder: str) -> Seconds:
    """Return the seconds of CountVectorizer's fit_transform on premise and hypothesis joined."""
    from sklearn.feature_extraction.text import CountVectorizer

    texts = _joined(folder)["text"].to_list()
    return timed(lambda: CountVectorizer(binary=True).fit_transform(texts))


def counter_loop(folder: str) -> Seconds:
    """Return the seconds of the loop most people would write: a Counter per label."""
    table = _joined(folder)
    texts, labels = table["text"].to_list(), table["label"].to_list()
    word = re.compile(r"\w+")

    def loop() -> dict[str, Counter[str]]:
        counts: dict[str, Counter[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            counts.setdefault(label, Counter()).update(set(word.findall(text.lower())))
        return counts

    return timed(loop)


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
    figures: dict[str, Any] = {"word_cues": {}}
    with tempfile.TemporaryDirectory() as temporary:
        folders = {size: pairs_with_cues(Path(temporary), size) for size in sizes}
        for size, folder in folders.items():
            took, peak = in_fresh_process(our_word_cues, str(folder), 3 if size <= COMPARED else 1)
            figures["word_cues"][size] = {**took._asdict(), "peak_gib": peak}
            print(f"word cues, {size:>9,} pairs: {_said(took)}, peak {peak:.2f} GiB", flush=True)
        times = [figures["word_cues"][size] for size in sizes]
        figures["growth_exponent"] = {
            kind: growth_exponent(sizes, [took[kind] for took in times]) for kind in ("clock", "processor")
        }
        print(
            "growth exponent: {clock:.3f} on the clock, {processor:.3f} in processor time".format(
                **figures["growth_exponent"]
            )
        )
        if COMPARED in folders:
            _compare(str(folders[COMPARED]), figures)
    print(f"written to {write_json('cues', figures)}")


def _compare(folder: str, figures: dict[str, Any]) -> None:
    ours = Seconds(*(figures["word_cues"][COMPARED][kind] for kind in ("clock", "processor")))
    families, peak = in_fresh_process(all_families, folder, 2)
    figures["all_families"] = {**families._asdict(), "peak_gib": peak}
    print(f"all families: {_said(families)}, peak {peak:.2f} GiB")
    rivals = {"Counter loop": counter_loop, "CountVectorizer.fit_transform": count_vectorizer}
    for name, work in rivals.items():
        rival, _ = in_fresh_process(work, folder)
        clock, processor = rival.clock / ours.clock, rival.processor / ours.processor
        all_clock, all_processor = families.clock / rival.clock, families.processor / rival.processor
        figures[name] = {
            **rival._asdict(),
            "word_cues_speedup": {"clock": clock, "processor": processor},
            "all_families_share": {"clock": all_clock, "processor": all_processor},
        }
        record(
            Ratio(f"word cues of {COMPARED:,} pairs, from file to tables", f"`{name}`", ours, rival),
            Ratio(f"cues of all families, {COMPARED:,} pairs", f"`{name}`", families, rival),
        )
        print(
            f"{name}: {_said(rival)}; word cues are {clock:.1f}× faster ({processor:.1f}× in processor time), "
            f"all families take {all_clock:.2f} of it ({all_processor:.2f})",
            flush=True,
        )


def _said(took: Seconds) -> str:
    return f"{took.clock:.2f} s ({took.processor:.2f} s of processor time)"


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
