"""Leakage-neutral weights for 400,000 generated pairs: distinct points against a forest per row.

Run ``python -m benchmarks.neutral_weights [--pairs 400000] [--folds 100] [--trees 1000]``. The forest per row is timed
on one fold with a few trees and multiplied up, which is said beside the figure.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks.measure import seconds, write_json
from cuecard.features.pair_graph import leakage_features, pair_graph
from cuecard.stats.arrays import Ints
from cuecard.stats.counted_forest import distinct_points
from cuecard.stats.neutral_weights import leakage_neutral_weights, with_products


def generated_pairs(n: int, seed: int = 0) -> tuple[Ints, Ints, Ints]:
    """Return first and second sentence and label of pairs made as Quora's seem to be.

    Questions fall into topics, a few of them asked very often. Duplicates are drawn within a topic; most negatives
    pair a question with a new one that occurs nowhere else, the others come from the same or a neighbouring topic.
    """
    rng = np.random.default_rng(seed)
    topics = max(n // 4, 1)
    sizes = np.minimum(rng.geometric(0.5, topics), 12)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    topic = np.minimum((topics * rng.random(n) ** 1.2).astype(np.int64), topics - 1)
    popular = rng.random(n) < 0.03
    topic = np.where(popular, (topics // 100 * rng.random(n) ** 1.2).astype(np.int64), topic)
    label = (rng.random(n) < 0.37).astype(np.int64)
    first = starts[topic] + rng.integers(0, sizes[topic])
    same = starts[topic] + rng.integers(0, sizes[topic])
    near = starts[np.minimum(topic + 1, topics - 1)]
    source = rng.random(n)
    new = starts[-1] + np.arange(n)
    negative = np.where(source < 0.6, new, np.where(source < 0.8, same, near))
    return first, np.where(label == 1, same, negative), label


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=400_000)
    parser.add_argument("--folds", type=int, default=100)
    parser.add_argument("--trees", type=int, default=1000)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--timed-trees", type=int, default=10, help="trees of the timed forest per row")
    options = parser.parse_args(argv)
    first, second, label = generated_pairs(options.pairs)
    leakage_neutral_weights(np.arange(100) % 2, np.zeros(100), folds=2, trees=1)  # compile first
    features = leakage_features(pair_graph(first, second))
    points = distinct_points(features)

    def ours() -> None:
        leakage_neutral_weights(
            label, features, folds=options.folds, trees=options.trees, depth=options.depth, max_weight=100
        )

    started = time.process_time()
    taken = seconds(ours)
    processor = time.process_time() - started
    print(
        f"{options.pairs:,} pairs, {len(points):,} distinct triples, largest frequency {features[:, :2].max()}"
    )
    work = f"{options.folds} folds × {options.trees:,} trees"
    print(f"distinct points: {work} in {taken:.1f} s ({processor:.1f} s of processor time)")
    rows = with_products(features.astype(np.float64))
    kept = np.arange(options.pairs) % options.folds != 0
    model = RandomForestClassifier(options.timed_trees, max_depth=options.depth, random_state=0, n_jobs=-1)

    def per_row() -> None:
        model.fit(rows[kept], label[kept])
        model.predict_proba(rows[~kept])

    sample = seconds(per_row)
    whole = sample * options.trees / options.timed_trees * options.folds
    print(
        f"a forest per row (scikit-learn, all cores): {options.timed_trees} trees of one fold in {sample:.1f} s, "
        f"extrapolated to {whole / 3600:.1f} h"
    )
    print(f"ratio {whole / taken:,.0f}×")
    figures = {
        "pairs": options.pairs, "distinct_triples": len(points), "folds": options.folds, "trees": options.trees,
        "depth": options.depth, "seconds": taken, "processor_seconds": processor,
        "per_row_seconds_timed": sample,
        "per_row_trees_timed": options.timed_trees, "per_row_seconds_extrapolated": whole, "ratio": whole / taken,
    }  # fmt: skip
    print(f"written to {write_json('neutral_weights', figures)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
