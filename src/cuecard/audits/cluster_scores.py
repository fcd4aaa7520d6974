"""PECO of a clustering, calibrated: scores, the curve with what shuffled labels give, and the sweep."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.audits.clustering import FloatMatrix, k_means, principal_components
from cuecard.stats.peco import (
    Divergence,
    Mode,
    cluster_divergence,
    excess_interval,
    peco_null,
    shuffled_divergences,
)

SCORES: tuple[tuple[Divergence, Mode], ...] = (
    ("l2", "exact"),
    ("l2", "released"),
    ("kl", "exact"),
    ("kl", "released"),
)
CURVE_POINTS = 101
#: Other starts of k-means whose scores are told beside the main one.
STARTS = 5
SWEEP_K = (10, 25, 50, 100)
SWEEP_COMPONENTS = (0, 10, 50, 100)
#: Beyond it a clustering of the sweep is left out: its clusters would hold too few sentences to say anything.
LEAST_PER_CLUSTER = 10


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labels of the sentences, which of them may change places when labels are shuffled, and what each weighs."""

    labels: npt.NDArray[np.int32]
    groups: npt.NDArray[np.int64] | None
    permutations: int
    seed: int
    weights: npt.NDArray[np.float64] | None = None


def score_rows(data: Labelled, clusters: npt.NDArray[np.int64]) -> list[dict[str, Any]]:
    """Return every score with its null mean, excess, p-value and the interval of the excess."""
    rows = []
    for divergence, mode in SCORES:
        null = peco_null(
            data.labels,
            clusters,
            divergence=divergence,
            mode=mode,
            groups=data.groups,
            weights=data.weights,
            permutations=data.permutations,
            seed=data.seed,
        )
        low, high = excess_interval(
            data.labels,
            clusters,
            null.null_mean,
            divergence=divergence,
            mode=mode,
            groups=data.groups,
            weights=data.weights,
            seed=data.seed,
        )
        rows.append(
            {
                "divergence": divergence,
                "mode": mode,
                "score": null.score,
                "null_mean": null.null_mean,
                "null_low": float(np.quantile(null.null, 0.05)),
                "null_high": float(np.quantile(null.null, 0.95)),
                "excess": null.excess,
                "low": low,
                "high": high,
                "p_value": null.p_value,
            }
        )
    return rows


def excess_by_start(
    data: Labelled,
    points: FloatMatrix,
    weights: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    k: int,
) -> list[float]:
    """Return the excess that single starts of k-means give: how much the score owes to one clustering."""
    found = []
    for start in range(1, STARTS + 1):
        clusters = k_means(points, weights, k, restarts=1, seed=data.seed + start).clusters[codes]
        null = peco_null(
            data.labels,
            clusters,
            groups=data.groups,
            weights=data.weights,
            permutations=data.permutations,
            seed=data.seed,
        )
        found.append(null.excess)
    return found


def curve_table(data: Labelled, clusters: npt.NDArray[np.int64]) -> pl.DataFrame:
    """Return the share of clusters above each divergence, with the mean and 95 % band of shuffled labels."""
    seen = cluster_divergence(data.labels, clusters, weights=data.weights).divergence
    null = shuffled_divergences(
        data.labels,
        clusters,
        groups=data.groups,
        weights=data.weights,
        permutations=data.permutations,
        seed=data.seed,
    )
    top = max(float(seen.max()), float(null.max()), 1e-9)
    thresholds = np.linspace(0, 1.05 * top, CURVE_POINTS)
    share = (seen[:, None] > thresholds).mean(axis=0)
    shuffled = (null[:, :, None] > thresholds).mean(axis=1)
    low, high = np.quantile(shuffled, [0.025, 0.975], axis=0)
    return pl.DataFrame(
        {
            "threshold": thresholds,
            "share_above": share,
            "null_mean": shuffled.mean(axis=0),
            "null_low": low,
            "null_high": high,
        }
    )


def sweep_table(
    data: Labelled,
    vectors: FloatMatrix,
    weights: npt.NDArray[np.int64],
    codes: npt.NDArray[np.int64],
    *,
    k: Iterable[int],
    components: Iterable[int],
) -> pl.DataFrame:
    """Return scores for other numbers of clusters and components, one k-means start each.

    `k` is what was asked for and `clusters` what is left of it after small clusters were merged. More components
    than the embedding has are as many as it has.
    """
    rows = []
    wanted = [n for n in sorted(set(k)) if n <= min(len(vectors), len(codes) // LEAST_PER_CLUSTER)]
    for dimensions in sorted({min(c, vectors.shape[1]) for c in components}):
        points = principal_components(vectors, weights, dimensions)
        for n in wanted:
            found = k_means(points, weights, n, restarts=1, seed=data.seed).clusters[codes]
            null = peco_null(
                data.labels,
                found,
                groups=data.groups,
                weights=data.weights,
                permutations=data.permutations,
                seed=data.seed,
            )
            rows.append(
                {
                    "k": n,
                    "clusters": len(np.unique(found)),
                    "components": dimensions,
                    "peco_exact_l2": null.score,
                    "null_mean": null.null_mean,
                    "excess": null.excess,
                    "p_value": null.p_value,
                }
            )
    return pl.DataFrame(
        rows,
        schema={
            "k": pl.Int64,
            "clusters": pl.Int64,
            "components": pl.Int64,
            "peco_exact_l2": pl.Float64,
            "null_mean": pl.Float64,
            "excess": pl.Float64,
            "p_value": pl.Float64,
        },
    )
