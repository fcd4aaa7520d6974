"""Overlap with a corpus: time against the number of texts that share a template, and memory against the corpus.

`python -m benchmarks overlap --megabytes 1000` writes a corpus of that size in a temporary folder and searches it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from benchmarks.measure import in_fresh_process, timed, write_json

WORDS = 50_000
TEMPLATE = " ".join(f"shared{i}" for i in range(60))


def texts(n: int, rng: np.random.Generator) -> list[str]:
    """Return texts that begin with one template of 60 words and end with 20 random ones."""
    ends = rng.integers(0, WORDS, (n, 20))
    return [f"{TEMPLATE} {' '.join(f'w{word}' for word in row)}" for row in ends]


def write_corpus(path: Path, size: int, known: list[str], rng: np.random.Generator) -> int:
    """Write random words with the template every 100 words and one whole text every megabyte; return how many texts."""
    written = planted = 0
    blocks = []
    for _ in range(20):
        lines = rng.integers(0, WORDS, (900, 100))
        blocks.append(f" {TEMPLATE}\n".join(" ".join(f"w{word}" for word in row) for row in lines))
    with path.open("w") as file:
        while written < size:
            written += file.write(f"{blocks[planted % 20]}\n{known[planted % len(known)]}\n")
            planted += 1
    return min(planted, len(known))


def growth(sizes: tuple[int, ...]) -> list[tuple[int, float]]:
    """Return processor seconds of the search for more and more texts that share a template, in one corpus."""
    from cuecard.audits.overlap.corpus import NgramIndex

    rng = np.random.default_rng(0)
    corpus = f"{TEMPLATE} and other words. " * 500
    every = texts(max(sizes), rng)
    rows = []
    for n in sizes:

        def search(n: int = n) -> None:
            index = NgramIndex(every[:n])
            assert sum(1 for _ in index.hits(corpus.encode())) == 20 * n
            assert (index.occurrences() == 500).all()

        rows.append((n, timed(search, repeats=2).processor))
    return rows


def searched(path: Path, known: list[str]) -> tuple[float, float, float]:
    """Return clock and processor seconds of the search of a corpus, and the share of texts it has whole."""
    import cuecard as cc

    data = pl.DataFrame({"text": known, "label": [f"{i % 2}" for i in range(len(known))]})
    cards = []
    took = timed(lambda: cards.append(cc.overlap(data, path)))
    return took.clock, took.processor, cards[0].measure("overlap.whole").value or 0.0


def main(arguments: list[str]) -> None:
    """Print the time by number of texts, and time and peak memory of a small and a large corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1_000)
    parser.add_argument("--texts", type=int, default=20_000)
    options = parser.parse_args(arguments)
    growth((10,))  # compiles the loops
    rows = growth(tuple(options.texts // k for k in (16, 8, 4, 2, 1)))
    for n, seconds in rows:
        print(
            f"{n:,} texts that share a template of 60 words, which the corpus has 500 times: {seconds:.2f} s"
        )
    slope = float(np.polyfit(np.log([n for n, _ in rows]), np.log([s for _, s in rows]), 1)[0])
    print(f"growth exponent {slope:.2f}")
    figures = {}
    for megabytes in (options.megabytes // 10, options.megabytes):
        rng = np.random.default_rng(1)
        known = texts(2_000, rng)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "corpus.txt"
            planted = write_corpus(path, megabytes * 1_000_000, known, rng)
            (clock, processor, whole), peak = in_fresh_process(searched, path, known)
        assert round(whole * len(known)) == planted
        print(f"{megabytes:,} MB: {clock:.1f} s, processor {processor:.1f} s ", end="")
        print(f"({megabytes / processor:.0f} MB/s), peak {peak:.2f} GiB; {planted:,} texts found whole")
        figures[megabytes] = {"clock": clock, "processor": processor, "peak_gib": peak}
    write_json("overlap", {"growth": rows, "exponent": slope, "corpora": figures})


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
