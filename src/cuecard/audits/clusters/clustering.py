"""Sentence vectors become clusters: principal components, then seeded k-means."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from cuecard.stats.arrays import Singles
from cuecard.stats.clusters.k_means import k_means_centres, nearest_centres

#: As in the paper, where SNLI's 10,000 test sentences make 50 clusters.
MOST_CLUSTERS = 50
#: With fewer sentences in a cluster its label shares are mostly noise: 100 give them an error of ± 5 points.
SENTENCES_PER_CLUSTER = 100
#: A cluster of fewer sentences says nothing about labels, yet counts as much in the score as any other: one
#: with two sentences of one label would drown the rest. Its sentences go to the nearest larger cluster.
LEAST_SENTENCES = 10
#: The centres are found on at most this many distinct texts; all texts are then assigned.
MOST_FITTED = 20_000
#: The same for a setting of the sweep, which nobody looks at by itself.
SWEEP_FITTED = 4_000


@dataclass(frozen=True, eq=False)
class Clustering:
    """Which cluster each point is in, largest first, and how far it lies from the centre."""

    clusters: npt.NDArray[np.int64]
    distances: npt.NDArray[np.float32]
    spread: float
    """Sum of the squared distances of all sentences: what k-means makes small."""

    def of_instances(self, codes: npt.NDArray[np.int64]) -> Clustering:
        """Return the clustering of instances from that of their distinct texts."""
        return Clustering(self.clusters[codes], self.distances[codes], self.spread)


def default_k(n: int) -> tuple[int, str]:
    """Return the number of clusters for n sentences and the reason in words."""
    if n >= MOST_CLUSTERS * SENTENCES_PER_CLUSTER:
        return MOST_CLUSTERS, f"{MOST_CLUSTERS}, as in the paper"
    k = max(2, n // SENTENCES_PER_CLUSTER)
    return k, f"{k}, one per {SENTENCES_PER_CLUSTER} of {n:,} sentences (the paper uses {MOST_CLUSTERS})"


def principal_components(vectors: Singles, weights: npt.NDArray[np.int64], components: int) -> Singles:
    """Return the vectors on their first principal components; all of them, centred, for 0 components."""
    share = weights / weights.sum()
    centred: Singles = vectors - (share @ vectors).astype(np.float32)
    if components == 0 or components >= vectors.shape[1]:
        return centred
    with threadpool_limits(limits=1):  # the number of threads must not change the last digit
        covariance = (centred * share[:, None].astype(np.float32)).T @ centred
        _, axes = np.linalg.eigh(covariance.astype(np.float64))
        axes = axes[:, ::-1][:, :components]
        # An axis and its opposite serve alike: the one whose largest entry is positive is taken.
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(components)])
        return np.ascontiguousarray(centred @ axes.astype(np.float32))


def k_means(
    points: Singles, weights: npt.NDArray[np.int64], k: int, *, seed: int, most_fitted: int = MOST_FITTED
) -> Clustering:
    """Return at most k clusters of points that stand for `weights` sentences each, none very small; one start."""
    rng = np.random.default_rng(seed)
    fitted = np.arange(len(points))
    if len(points) > most_fitted:
        fitted = np.sort(rng.choice(len(points), most_fitted, replace=False))
    with threadpool_limits(limits=1):
        centres = k_means_centres(points[fitted], weights[fitted].astype(np.float32), k, seed=seed)
        while True:
            assigned, distances = nearest_centres(points, centres)
            sizes = np.bincount(assigned, weights=weights, minlength=len(centres))
            if sizes.min() >= LEAST_SENTENCES or len(centres) <= 2:
                break
            centres = np.delete(centres, sizes.argmin(), axis=0)
    rank = np.full(len(centres), -1, dtype=np.int64)
    used = np.argsort(-sizes, kind="stable")[: int((sizes > 0).sum())]
    rank[used] = np.arange(len(used))
    spread = float(weights @ distances.astype(np.float64) ** 2)
    return Clustering(rank[assigned], distances, spread)


def clusterings(
    points: Singles,
    weights: npt.NDArray[np.int64],
    k: int,
    *,
    starts: int,
    seed: int,
    most_fitted: int = MOST_FITTED,
) -> list[Clustering]:
    """Return what seeded starts of k-means find, the tightest clustering first.

    Neighbouring seeds have no start in common, so another seed is another look. The starts run side by side on all
    cores; each does its sums in one thread, so that their number changes no digit.
    """
    seeds = [(1000 * seed + i) % 2**32 for i in range(starts)]
    with threadpool_limits(limits=1), ThreadPoolExecutor(min(starts, os.cpu_count() or 1)) as pool:
        of_starts = pool.map(
            lambda start: k_means(points, weights, k, seed=start, most_fitted=most_fitted), seeds
        )
        return sorted(of_starts, key=lambda clustering: clustering.spread)
