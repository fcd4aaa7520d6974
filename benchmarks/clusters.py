"""The cluster audit's score with 200 permutations against one scikit-learn KMeans fit with the same restarts.

`--calibration` instead simulates the null: p-values and raw scores of shuffled labels over n and k.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.measure import Ratio, Seconds, record, seconds, write_json

POINTS, DIMENSIONS, K, PERMUTATIONS, RESTARTS = 10_000, 384, 50, 200, 10


def sentence_like(rows: int, dimensions: int, seed: int = 0) -> npt.NDArray[np.float32]:
    """Return vectors whose spectrum falls like that of sentence encoders, on 80 overlapping topics."""
    rng = np.random.default_rng(seed)
    spectrum = np.arange(1, dimensions + 1) ** -0.5
    topics = rng.normal(size=(80, dimensions)) * spectrum
    noise = rng.normal(size=(rows, dimensions)) * spectrum
    return (topics[rng.integers(0, 80, rows)] + noise).astype(np.float32)


def speed() -> dict[str, Any]:
    """Return the seconds of our calibrated score and of scikit-learn's clustering alone."""
    from cuecard.audits.clusters.clustering import clusterings, principal_components
    from cuecard.audits.clusters.scores import Labelled, over_starts
    from cuecard.stats.clusters.peco import SampleDesign

    vectors = sentence_like(POINTS, DIMENSIONS)
    weights = np.ones(POINTS, dtype=np.int64)
    labels = np.random.default_rng(0).integers(0, 3, POINTS).astype(np.int32)

    def ours(components: int) -> None:
        points = principal_components(vectors, weights, components)
        found = clusterings(points, weights, K, starts=RESTARTS, seed=0)
        over_starts(Labelled(labels, SampleDesign(), PERMUTATIONS, 0), found)

    ours(50)
    rival = _fastest_k_means(vectors)
    reduced, full = seconds(lambda: ours(50), repeats=3), seconds(lambda: ours(0), repeats=3)
    return {
        "kmeans_seconds": rival,
        "ours_seconds": reduced,
        "ours_without_pca_seconds": full,
        "ratio": reduced / rival,
        "ratio_without_pca": full / rival,
    }


def _fastest_k_means(vectors: npt.NDArray[np.float32]) -> float:
    """Return the seconds of scikit-learn's fit, with all threads or with one, whichever is less."""
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    def fit() -> None:
        KMeans(K, n_init=RESTARTS, random_state=0).fit(vectors)

    with threadpool_limits(limits=1):
        alone = seconds(fit, repeats=2)
    return min(alone, seconds(fit, repeats=2))


def calibration(repeats: int) -> list[dict[str, Any]]:
    """Return for each n and k what shuffled labels score, and how often they are called significant."""
    from cuecard.audits.clusters.clustering import clusterings, principal_components
    from cuecard.stats import peco_starts

    rows = []
    for n in (500, 1_000, 2_000, 5_000, 10_000):
        weights = np.ones(n, dtype=np.int64)
        points = principal_components(sentence_like(n, DIMENSIONS, seed=n), weights, 50)
        for k in (10, 25, 50, 100):
            rng = np.random.default_rng(n + k)
            starts = [c.clusters for c in clusterings(points, weights, k, starts=RESTARTS, seed=0)]
            found = [
                # Two draws: the interval is not looked at here.
                peco_starts(rng.permutation(np.arange(n) % 3), starts, permutations=199, draws=2, seed=i)[0]
                for i in range(repeats)
            ]
            p = np.array([result.p_value for result in found])
            rows.append(
                {
                    "n": n,
                    "k": k,
                    "raw_score": float(np.mean([result.score for result in found])),
                    "excess": float(np.mean([result.excess for result in found])),
                    "mean_p": float(p.mean()),
                    "rejected_at_5_percent": float((p <= 0.05).mean()),
                    "any_start_at_5_percent": float(
                        np.mean([result.p_values.min() <= 0.05 for result in found])
                    ),
                    "uniform_p": float(_uniformity(p)),
                }
            )
    return rows


def draw(rows: list[dict[str, Any]], path: str) -> None:
    """Write a chart: raw scores of label-free sets depend on n and k, the excess does not."""
    import altair as alt

    from cuecard.report.charts.drawing import inline, themed

    panels = []
    ends = [min(-0.5, *(row["excess"] for row in rows)), 1.05 * max(row["raw_score"] for row in rows)]
    for column, title in (("raw_score", "PECO of shuffled labels"), ("excess", "excess over the null mean")):
        base = alt.Chart(inline(row | {"clusters": str(row["k"])} for row in rows)).encode(
            x=alt.X(
                "n:Q",
                title="sentences",
                scale=alt.Scale(type="log", domain=[450, 11_000], nice=False),
                axis=alt.Axis(values=[500, 1_000, 2_000, 5_000, 10_000]),
            ),
            y=alt.Y(f"{column}:Q", title=title, scale=alt.Scale(domain=ends, nice=False)),
            color=alt.Color("clusters:N", sort=["10", "25", "50", "100"], title="clusters"),
        )
        panels.append(
            (base.mark_line(strokeWidth=2) + base.mark_circle(size=45)).properties(width=300, height=220)
        )
    themed(alt.hconcat(*panels)).save(path)


def _uniformity(p: npt.NDArray[np.float64]) -> float:
    """Return the p-value of a Kolmogorov–Smirnov test that p is uniform."""
    from scipy.stats import kstest

    return float(kstest(p, "uniform").pvalue)


def main(argv: list[str]) -> None:
    """Print the ratio, or the calibration table, and write it as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.clusters")
    parser.add_argument("--calibration", action="store_true", help="simulate the null instead")
    parser.add_argument("--repeats", type=int, default=200, help="shuffled sets per cell of the calibration")
    parser.add_argument("--chart", help="also draw the calibration into this file (.svg, .png)")
    arguments = parser.parse_args(argv)
    if arguments.calibration:
        rows = calibration(arguments.repeats)
        print("     n    k  raw score  excess  mean p  p ≤ .05  best start ≤ .05  uniform")
        for row in rows:
            print(
                f"{row['n']:6} {row['k']:4} {row['raw_score']:10.2f} {row['excess']:7.2f} "
                f"{row['mean_p']:7.3f} {row['rejected_at_5_percent']:8.3f} "
                f"{row['any_start_at_5_percent']:17.3f} {row['uniform_p']:8.3f}"
            )
        print(f"written to {write_json('clusters_calibration', {'rows': rows})}")
        if arguments.chart:
            draw(rows, arguments.chart)
        return
    figures = speed()
    ours, theirs = (
        Seconds(figures[f"{name}_seconds"], figures[f"{name}_seconds"]) for name in ("ours", "kmeans")
    )
    record(Ratio("the calibrated score of 10,000 vectors", "`KMeans(50, n_init=10)`", ours, theirs, 2.0))
    print(f"scikit-learn KMeans, {POINTS:,} × {DIMENSIONS}, k = {K}: {figures['kmeans_seconds']:.2f} s")
    print(
        f"ours with PCA, 4 scores × {PERMUTATIONS} permutations and intervals: {figures['ours_seconds']:.2f} s, "
        f"{figures['ratio']:.2f}× of it; without PCA {figures['ratio_without_pca']:.2f}×"
    )
    print(f"written to {write_json('clusters', figures)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
