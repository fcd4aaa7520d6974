"""Lexical weights on SNLI and MNLI against the paper's objective, and on 550,000 generated pairs.

Every figure is held against its goal. What is timed of ours at scale is everything from the parquet file to the
weights; of CountVectorizer, only `fit_transform` on texts that are already Python strings in memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.measure import in_fresh_process, seconds, write_json

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
ROWS, FEATURES = 550_000, 4_000
#: Name, dataset, options, largest Err and smallest effective sample size to reach.
CASES: tuple[tuple[str, str, dict[str, Any], float, float], ...] = (
    ("SNLI words, min count 100", "snli", {}, 1e-5, 0.71),
    ("SNLI words, min count 17", "snli", {"min_count": 17}, 1e-4, 0.61),
    ("SNLI words + bigrams, min count 50", "snli", {"ngrams": 2, "min_count": 50}, 1e-4, 0.55),
    ("MNLI words, min count 100", "mnli", {}, 1e-4, 0.0),
)


def on_real_data(data: Path) -> dict[str, Any]:
    """Solve every case and print Err, effective sample size and time from instances to weights."""
    from cuecard.data import load
    from cuecard.remedies import LexicalWeights

    figures = {}
    for name, dataset, options, err_goal, ess_goal in CASES:
        remedy = LexicalWeights(ridge="exact", **options)
        train = load(data / dataset / "train_partial.parquet").train
        remedy.balance(train)  # compiles the kernels
        started = time.perf_counter()
        solved = remedy.balance(train).solution
        took = time.perf_counter() - started
        reached = solved.err_after <= err_goal and solved.ess >= ess_goal and solved.converged
        print(
            f"{name:<35} {len(solved.residuals):>5,} features  Err {solved.err_before:.4f} -> "  # type: ignore[union-attr]
            f"{solved.err_after:.1e} (goal {err_goal:.0e})  ESS {solved.ess:.3f} (goal {ess_goal:.2f})  "
            f"largest weight {solved.weights.max():.1f}  {took:.2f} s  {_said(reached)}",
            flush=True,
        )
        figures[name] = {
            "err_before": solved.err_before,
            "err_after": solved.err_after,
            "ess": solved.ess,
            "seconds": took,
            "reached": reached,
        }
    return figures


def against_the_paper(data: Path, wanted: float) -> dict[str, Any]:
    """Both methods on the same matrix, each stopped as soon as its Err is low enough."""
    from cuecard.data import load
    from cuecard.remedies import LexicalWeights
    from cuecard.stats.entropy_balancing import entropy_balance, softmax_weights

    problem = (
        LexicalWeights(ridge="exact").balance(load(data / "snli" / "train_partial.parquet").train).problem
    )
    found: dict[str, Any] = {}

    def timed(name: str, solve: Callable[[], Any]) -> tuple[float, float]:
        wall, work = time.perf_counter(), time.process_time()
        found[name] = solve()
        return time.perf_counter() - wall, time.process_time() - work

    theirs = timed(
        "paper", lambda: softmax_weights(problem.matrix, problem.labels, stop_at_err=wanted, max_iter=5000)
    )
    ours = timed("ours", lambda: entropy_balance(problem.matrix, problem.labels, stop_at_err=wanted))
    speedup, less_work = theirs[0] / ours[0], theirs[1] / ours[1]
    reached = speedup >= 10 and found["ours"].ess > found["paper"].ess
    print(
        f"to Err {wanted:.0e}: paper's objective {theirs[0]:.2f} s (ESS {found['paper'].ess:.3f}), "
        f"entropy balancing {ours[0]:.2f} s (ESS {found['ours'].ess:.3f}): {speedup:.1f}x faster (goal 10x), "
        f"{less_work:.1f}x less processor time  {_said(reached)}",
        flush=True,
    )
    return {
        "paper_seconds": theirs[0],
        "paper_ess": found["paper"].ess,
        "seconds": ours[0],
        "ess": found["ours"].ess,
        "speedup": speedup,
        "reached": reached,
    }


def generated(data: Path, rows: int) -> pl.DataFrame:
    """Return SNLI pairs drawn with replacement, one word in ten swapped for a word of another text."""
    snli = pl.read_parquet(
        data / "snli" / "train_partial.parquet", columns=["premise", "hypothesis", "label"]
    )
    rng = np.random.default_rng(0)
    drawn = snli[rng.integers(0, snli.height, rows)].with_row_index("row")
    long = drawn.unpivot(["premise", "hypothesis"], index="row").with_columns(pl.col("value").str.split(" "))
    words = long.explode("value")
    swap = rng.random(words.height) < 0.1
    other = words["value"].gather(rng.permutation(words.height))
    words = words.with_columns(value=pl.when(pl.Series(swap)).then(other).otherwise("value"))
    joined = words.group_by("row", "variable", maintain_order=True).agg(pl.col("value").str.join(" "))
    wide = joined.pivot("variable", index="row", values="value").sort("row")
    return wide.select("premise", "hypothesis").with_columns(label=drawn["label"])


def ours_at_scale(path: str, features: int) -> dict[str, Any]:
    """Return what it takes from the file to weights over that many features, kernels compiled beforehand."""
    from cuecard.data import load
    from cuecard.features import Words
    from cuecard.remedies import LexicalWeights

    small = load(path, limit=5_000).train
    LexicalWeights(min_count=50, ridge="exact").balance(small)
    encoded = LexicalWeights().encode(load(path).train)
    codes = encoded.instances.label_codes
    counts = Words().counts(encoded, codes, len(encoded.instances.labels)).counts
    usable = np.sort(counts.sum(axis=1)[np.all(counts > 0, axis=1)])[::-1]
    remedy = LexicalWeights(min_count=int(usable[min(features, len(usable)) - 1]), ridge="exact")
    del encoded
    started = time.perf_counter()
    solved = remedy.balance(load(path).train).solution
    return {
        "seconds": time.perf_counter() - started,
        "err_before": solved.err_before,
        "err_after": solved.err_after,
        "ess": solved.ess,
        "features": int(np.sum(solved.constrained)),  # type: ignore[union-attr]
        "min_count": remedy.min_count,
    }


def count_vectorizer(path: str) -> float:
    """Return the seconds of one pass of CountVectorizer over premise and hypothesis joined."""
    from sklearn.feature_extraction.text import CountVectorizer

    joined = pl.concat_str("premise", "hypothesis", separator=" ")
    texts = pl.read_parquet(path).select(joined).to_series().to_list()
    return seconds(lambda: CountVectorizer(binary=True).fit_transform(texts))


def at_scale(data: Path, rows: int) -> dict[str, Any]:
    """Generate pairs and compare in fresh processes, whose peak memory is theirs alone."""
    with tempfile.TemporaryDirectory() as temporary:
        path = str(Path(temporary) / "train.parquet")
        generated(data, rows).write_parquet(path)
        ours, peak = in_fresh_process(ours_at_scale, path, FEATURES)
        rival, _ = in_fresh_process(count_vectorizer, path)
    ratio = ours["seconds"] / rival
    reached = ratio <= 15 and peak < 4
    print(
        f"generated, {rows:,} pairs x {ours['features']:,} features: Err {ours['err_before']:.4f} -> "
        f"{ours['err_after']:.1e}, ESS {ours['ess']:.3f}; {ours['seconds']:.1f} s from file to weights, one pass of "
        f"CountVectorizer {rival:.1f} s: {ratio:.2f}x (goal 15x); peak {peak:.2f} GiB (goal 4)  {_said(reached)}"
    )
    return {**ours, "count_vectorizer_seconds": rival, "ratio": ratio, "peak_gib": peak, "reached": reached}


def _said(reached: bool) -> str:
    return "reached" if reached else "NOT reached"


def main(argv: Sequence[str] | None = None) -> None:
    """Print every figure with its goal, and write them as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.lexical_weights", description=__doc__)
    parser.add_argument(
        "--data", type=Path, default=DATA, help="folder that holds snli/train_partial.parquet"
    )
    parser.add_argument("--rows", type=int, default=ROWS, help="generated pairs")
    options = parser.parse_args(argv)
    if not (options.data / "snli").exists():
        print(f"The real data is not at {options.data}: give its place with --data FOLDER.")
        return
    figures: dict[str, Any] = {"real": on_real_data(options.data)}
    figures["against_the_paper"] = {
        str(wanted): against_the_paper(options.data, wanted) for wanted in (1e-4, 1e-5)
    }
    figures["at_scale"] = at_scale(options.data, options.rows)
    print(f"written to {write_json('lexical_weights', figures)}")


if __name__ == "__main__":
    main()
