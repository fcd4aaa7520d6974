"""Entropy balancing on SNLI and MNLI against the paper's objective, and at 550,000 generated pairs.

Run ``python -m benchmarks.lexical_weights --data FOLDER``, where FOLDER/snli/train_partial.parquet is.
"""

from __future__ import annotations

import argparse
import resource
import string
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.feature_extraction.text import CountVectorizer

from cuecard.stats.entropy_balancing import entropy_balance, softmax_weights

_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _tokens(text: str) -> list[str]:
    return text.lower().translate(_DELETE_PUNCTUATION).split()


def _tokens_and_bigrams(text: str) -> list[str]:
    words = _tokens(text)
    return words + [f"{left} {right}" for left, right in pairwise(words)]


def _read(path: Path) -> tuple[list[str], Any]:
    frame = pl.read_parquet(path)
    texts = [f"{p} {h}" for p, h in zip(frame["premise"], frame["hypothesis"], strict=True)]
    return texts, np.unique(frame["label"].to_numpy(), return_inverse=True)[1]


def _matrix(texts: list[str], labels: Any, analyzer: Callable[[str], list[str]], min_count: int) -> Any:
    """Binary features with at least min_count instances that occur with every label."""
    features = CountVectorizer(
        analyzer=analyzer, binary=True, min_df=min_count, dtype=np.float64
    ).fit_transform(texts)
    everywhere = np.all([features[labels == c].getnnz(axis=0) > 0 for c in np.unique(labels)], axis=0)
    return features[:, everywhere]


def _report(name: str, features: Any, labels: Any) -> float:
    started = time.perf_counter()
    result = entropy_balance(features, labels)
    seconds = time.perf_counter() - started
    print(
        f"{name:<34} {features.shape[1]:>6,} features  "
        f"Err {result.err_before:.4f} -> {result.err_after:.7f}  "
        f"largest {result.largest_residual:.1e}  ESS {result.ess:.4f}  weight <= {result.max_weight:.1f}  "
        f"{result.iterations} steps  {seconds:.2f} s  converged {result.converged}  "
        f"unbalanced {len(result.unbalanced)}"
    )
    return seconds


def _against_the_paper(features: Any, labels: Any, wanted: float) -> None:
    """Both methods, each stopped as soon as its Err is low enough, in wall and in processor time."""
    started, worked = time.perf_counter(), time.process_time()
    paper = softmax_weights(features, labels, stop_at_err=wanted, max_iter=5000)
    paper_seconds, paper_work = time.perf_counter() - started, time.process_time() - worked
    started, worked = time.perf_counter(), time.process_time()
    ours = entropy_balance(features, labels, stop_at_err=wanted)
    seconds, work = time.perf_counter() - started, time.process_time() - worked
    print(
        f"to Err {wanted:.0e}: paper's objective {paper_seconds:.2f} s ({paper.iterations} steps, "
        f"ESS {paper.ess:.3f}), entropy balancing {seconds:.2f} s ({ours.iterations} steps, "
        f"ESS {ours.ess:.3f}): {paper_seconds / seconds:.1f}x faster, "
        f"{paper_work / work:.1f}x less processor time"
    )


def _generated(texts: list[str], labels: Any, rows: int, seed: int) -> tuple[list[str], Any]:
    """Rows drawn with replacement, one word in ten swapped for a word of another text."""
    rng = np.random.default_rng(seed)
    picked = rng.integers(0, len(texts), rows)
    pool = np.array([word for text in texts[:20_000] for word in _tokens(text)])
    made = []
    for i in picked:
        words = _tokens(texts[i])
        swap = np.flatnonzero(rng.random(len(words)) < 0.1)
        for position, word in zip(swap, rng.choice(pool, len(swap)), strict=True):
            words[position] = word
        made.append(" ".join(words))
    return made, labels[picked]


def _at_scale(texts: list[str], labels: Any, rows: int) -> None:
    made, made_labels = _generated(texts, labels, rows, seed=0)
    started = time.perf_counter()
    counted = CountVectorizer(binary=True, min_df=2, dtype=np.float64).fit_transform(made)
    count_seconds = time.perf_counter() - started
    present = counted.getnnz(axis=0)
    everywhere = np.all(
        [counted[made_labels == c].getnnz(axis=0) > 0 for c in np.unique(made_labels)], axis=0
    )
    chosen = np.argsort(np.where(everywhere, -present, 0), kind="stable")[:4000]
    seconds = _report(f"generated, {rows:,} pairs", counted[:, np.sort(chosen)], made_labels)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"one CountVectorizer pass {count_seconds:.1f} s; balancing takes {seconds / count_seconds:.2f}x; "
        f"peak memory {peak:.2f} GiB (text included)"
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=550_000)
    options = parser.parse_args(argv)
    texts, labels = _read(options.data / "snli" / "train_partial.parquet")
    words = _matrix(texts, labels, _tokens, 100)
    entropy_balance(words, labels, max_iter=1)  # compiles the kernels
    _report("SNLI words, min count 100", words, labels)
    _report("SNLI words, min count 17", _matrix(texts, labels, _tokens, 17), labels)
    _report("SNLI words + bigrams, min count 50", _matrix(texts, labels, _tokens_and_bigrams, 50), labels)
    mnli_texts, mnli_labels = _read(options.data / "mnli" / "train_partial.parquet")
    _report("MNLI words, min count 100", _matrix(mnli_texts, mnli_labels, _tokens, 100), mnli_labels)
    for wanted in (1e-4, 1e-5):
        _against_the_paper(words, labels, wanted)
    _at_scale(texts, labels, options.rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
