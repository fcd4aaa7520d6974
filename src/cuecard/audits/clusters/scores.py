"""PECO of a clustering, calibrated: scores, the curve with what shuffled labels give, and the sweep."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Summary
from cuecard.audits.clusters.clustering import (
    LEAST_SENTENCES,
    SWEEP_FITTED,
    Clustering,
    clusterings,
    principal_components,
)
from cuecard.stats.arrays import Ints, Singles
from cuecard.stats.clusters.divergence import cluster_information
from cuecard.stats.clusters.peco import (
    Divergence,
    Mode,
    SampleDesign,
    cluster_divergence,
    peco,
    shuffled_divergences,
)
from cuecard.stats.clusters.peco_starts import PecoMean, PecoStarts, peco_means, peco_starts

SCORES: tuple[tuple[Divergence, Mode], ...] = (
    ("l2", "exact"),
    ("l2", "released"),
    ("kl", "exact"),
    ("kl", "released"),
)
#: The form of equation 11 as printed, for clusters that somebody else made.
PRINTED: tuple[Divergence, Mode] = ("l2_mean", "exact")
CURVE_POINTS = 101
#: Shuffles and draws behind the bits: their mean and spread need fewer than a p-value.
INFORMATION_SHUFFLES = 100
DRAWS = 400
#: Starts of k-means per setting of the sweep, which has up to fifteen of them.
SWEEP_STARTS = 2
SWEEP_K = (10, 25, 50, 100)
#: Beyond it a clustering of the sweep is left out: its clusters would hold too few sentences to say anything.
LEAST_PER_CLUSTER = 10
SWEEP_SCHEMA = {
    "k": pl.Int64,
    "clusters": pl.Int64,
    "components": pl.Int64,
    "starts": pl.Int64,
    "peco_exact_l2": pl.Float64,
    "null_mean": pl.Float64,
    "excess": pl.Float64,
    "p_value": pl.Float64,
    "peco_released_l2": pl.Float64,
    "peco_released_kl": pl.Float64,
    "headline": pl.Boolean,
}


@dataclass(frozen=True, eq=False)
class Labelled:
    """The labels of the sentences, and how they are shuffled."""

    labels: npt.NDArray[np.int32]
    design: SampleDesign
    permutations: int
    seed: int


def over_starts(
    data: Labelled,
    starts: Sequence[Clustering],
    *,
    wanted: Sequence[tuple[Divergence, Mode]] = SCORES,
) -> list[PecoStarts]:
    """Return the scores as means over clusterings, in the order of `wanted`, with one null for all of them."""
    return peco_starts(
        data.labels,
        [clustering.clusters for clustering in starts],
        wanted=wanted,
        design=data.design,
        permutations=data.permutations,
        draws=DRAWS,
        seed=data.seed,
    )


def information(data: Labelled, clusterings: Sequence[Clustering]) -> dict[str, float]:
    """Return the bits that the clusters hold about the label, beyond chance, with their interval."""
    bits = cluster_information(
        data.labels,
        [clustering.clusters for clustering in clusterings],
        design=data.design,
        permutations=min(data.permutations, INFORMATION_SHUFFLES),
        draws=INFORMATION_SHUFFLES,
        seed=data.seed,
    )
    return {"information": bits.bits, "information_low": bits.low, "information_high": bits.high}


def score_table(scores: Iterable[PecoStarts]) -> pl.DataFrame:
    """Return every score with its null mean, excess, p-value and the interval of the excess."""
    columns = (
        "divergence", "mode", "score", "null_mean", "null_low", "null_high", "excess", "low", "high", "p_value",
    )  # fmt: skip
    return pl.DataFrame([{name: getattr(score, name) for name in columns} for score in scores])


def start_table(starts: Sequence[Clustering], exact: PecoStarts) -> pl.DataFrame:
    """Return what each clustering gives by itself, the one that is shown first."""
    sizes = [np.bincount(clustering.clusters) for clustering in starts]
    return pl.DataFrame(
        {
            "start": np.arange(1, len(starts) + 1),
            "clusters": [len(size) for size in sizes],
            "largest_share": [size.max() / size.sum() for size in sizes],
            "spread": [clustering.spread for clustering in starts],
            "peco_exact_l2": exact.scores,
            "null_mean": exact.scores - exact.excesses,
            "excess": exact.excesses,
            "p_value": exact.p_values,
        }
    )


def start_summary(starts: pl.DataFrame, alpha: float) -> Summary:
    """Return how far the clusterings agree, and how much of the set the largest cluster holds."""
    return {
        "starts": starts.height,
        "starts_significant": int((starts["p_value"] <= alpha).sum()),
        "excess_by_start": starts["excess"].to_list(),
        "largest_cluster": float(starts["largest_share"][0]),
    }


def curve_table(data: Labelled, clusters: Ints) -> pl.DataFrame:
    """Return the share of clusters above each divergence, with the mean and 95 % band of shuffled labels."""
    seen = cluster_divergence(data.labels, clusters, weights=data.design.weights).divergence
    null = shuffled_divergences(
        data.labels,
        clusters,
        design=data.design,
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
    vectors: Singles,
    weights: Ints,
    codes: Ints,
    *,
    k: Iterable[int],
    components: Iterable[int],
    smallest: int = LEAST_SENTENCES,
    headline: Summary | None = None,
) -> pl.DataFrame:
    """Return scores for other numbers of clusters and components, each the mean of a few k-means starts.

    `k` is what was asked for and `clusters` what is left of it after small clusters were merged, over all starts the
    fewest. More components than the embedding has are as many as it has. `headline` is the row of the audit itself,
    which replaces its setting, so that one setting never has two numbers.
    """
    rows: list[Summary] = []
    settings: list[tuple[int, int, list[Clustering]]] = []
    wanted = [n for n in sorted(set(k)) if n <= min(len(vectors), len(codes) // LEAST_PER_CLUSTER)]
    for dimensions in sorted({min(c, vectors.shape[1]) for c in components}):
        points = principal_components(vectors, weights, dimensions)
        for n in wanted:
            if headline and (n, dimensions) == (headline["k"], headline["components"]):
                rows.append({**headline, "headline": True})
                continue
            starts = [
                clustering.of_instances(codes)
                for clustering in clusterings(
                    points,
                    weights,
                    n,
                    starts=SWEEP_STARTS,
                    seed=data.seed,
                    most_fitted=SWEEP_FITTED,
                    smallest=smallest,
                )
            ]
            settings.append((n, dimensions, starts))
    if settings:
        means = peco_means(
            data.labels,
            [[clustering.clusters for clustering in starts] for _, _, starts in settings],
            design=data.design,
            permutations=data.permutations,
            seed=data.seed,
        )
        rows += [sweep_row(data, *setting, mean) for setting, mean in zip(settings, means, strict=True)]
    return pl.DataFrame(rows, schema=SWEEP_SCHEMA).sort("components", "k")


def sweep_row(
    data: Labelled, k: int, components: int, starts: Sequence[Clustering], exact: PecoStarts | PecoMean
) -> Summary:
    """Return one setting's score as a row of the sweep, with the scores as PECO's Table 5 has them."""
    released: dict[Divergence, float] = {
        divergence: float(
            np.mean(
                [
                    peco(
                        data.labels,
                        one.clusters,
                        divergence=divergence,
                        mode="released",
                        weights=data.design.weights,
                    )
                    for one in starts
                ]
            )
        )
        for divergence in ("l2", "kl")
    }
    return {
        "k": k,
        "clusters": min(int(clustering.clusters.max()) + 1 for clustering in starts),
        "components": components,
        "starts": len(starts),
        "peco_exact_l2": exact.score,
        "null_mean": exact.null_mean,
        "excess": exact.excess,
        "p_value": exact.p_value,
        "peco_released_l2": released["l2"],
        "peco_released_kl": released["kl"],
        "headline": False,
    }
