"""Progressive evaluation of cluster outliers (PECO): how far clusters of sentences lean to one label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Array, Floats, Ints

__all__ = [
    "ClusterDivergence",
    "PecoCurve",
    "cluster_divergence",
    "cluster_table",
    "divergences",
    "peco",
    "peco_curve",
    "peco_interval",
    "score_of",
]

Divergence: TypeAlias = Literal["l2", "kl", "l2_mean"]
Mode: TypeAlias = Literal["exact", "released"]

# A thousandth of an instance, spread like the whole set, is added to each cluster before KL: enough to make
# an absent label finite, little enough to reproduce the authors' printed 9.8 on their SNLI clusters.
_PSEUDO_COUNT = 1e-3
# The authors count outliers at 0, 0.05, …, 0.95 for L2 and at five times those values for KL.
_THRESHOLDS: Floats = np.arange(20) / 20
_KL_STRETCH = 5.0


@dataclass(frozen=True)
class ClusterDivergence:
    """How far each cluster's labels are from the whole."""

    clusters: Array
    """Cluster ids in ascending order; the other arrays follow it."""
    labels: Array
    counts: Ints | Floats
    """Instances, or their weight, by cluster and label."""
    divergence: Floats


@dataclass(frozen=True)
class PecoCurve:
    """Share of clusters whose divergence exceeds each threshold; the exact score is the area under it."""

    thresholds: Floats
    share_above: Floats
    score: float


def cluster_divergence(
    labels: npt.ArrayLike,
    clusters: npt.ArrayLike,
    divergence: Divergence = "l2",
    *,
    weights: npt.ArrayLike | None = None,
) -> ClusterDivergence:
    """Divergence of every cluster's label distribution from the whole set's.

    ``l2`` is Σ_l (p_G(l) − p_i(l))²; ``l2_mean`` divides it by the number of labels, as equation 11 is printed for
    three; ``kl`` is KL(p_G ‖ p_i) in bits, lightly smoothed. With `weights`, one per instance, distributions are of
    weight.
    """
    cluster_ids, label_ids, counts = cluster_table(labels, clusters, weights)
    return ClusterDivergence(cluster_ids, label_ids, counts, divergences(counts, divergence))


def peco(
    labels: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    divergence: Divergence = "l2",
    mode: Mode = "exact",
    weights: npt.ArrayLike | None = None,
) -> float:
    """PECO score in percent.

    ``exact`` is 100 × the area under the share of clusters above a threshold, from the smallest to the
    largest divergence, which equals 100 · (mean − minimum). ``released`` is what the authors computed
    and printed: 100 × the mean of that share over fixed thresholds, so 5.0 is its floor.

    >>> peco([0, 0, 1, 1], [0, 0, 1, 1], mode="released")
    50.0
    """
    return float(
        score_of(divergences(cluster_table(labels, clusters, weights)[2], divergence), divergence, mode)
    )


def peco_curve(labels: npt.ArrayLike, clusters: npt.ArrayLike, *, divergence: Divergence = "l2") -> PecoCurve:
    """Share of clusters above each observed divergence, as a step curve from the smallest to the largest."""
    values = np.sort(divergences(cluster_table(labels, clusters)[2], divergence))
    thresholds = np.unique(values)
    above = 1.0 - np.searchsorted(values, thresholds, side="right") / len(values)
    return PecoCurve(thresholds, above, 100.0 * float(np.sum(np.diff(thresholds) * above[:-1])))


def peco_interval(
    labels: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    divergence: Divergence = "l2",
    mode: Mode = "exact",
    confidence: float = 0.95,
    draws: int = 1000,
    seed: int = 0,
) -> tuple[float, float]:
    """Confidence interval of the score with the clusters given, by redrawing the labels inside each cluster.

    Counting noise inflates a divergence, and a redrawn table inflates it once more; the reflected (basic)
    bootstrap takes that inflation off again, where quantiles of the redrawn scores would double it.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, got {confidence}.")
    counts = cluster_table(labels, clusters)[2]
    sizes = counts.sum(axis=1)
    redrawn = np.random.default_rng(seed).multinomial(
        sizes, counts / sizes[:, None], size=(draws, len(sizes))
    )
    scores = np.asarray(score_of(divergences(redrawn, divergence), divergence, mode))
    score = float(score_of(divergences(counts, divergence), divergence, mode))
    low, high = np.quantile(scores, [(1 - confidence) / 2, (1 + confidence) / 2])
    floor = 0.0 if mode == "exact" else 100.0 / len(_THRESHOLDS)
    return max(floor, 2 * score - float(high)), max(floor, 2 * score - float(low))


def cluster_table(
    labels: npt.ArrayLike, clusters: npt.ArrayLike, weights: npt.ArrayLike | None = None
) -> tuple[Any, Any, Any]:
    """Cluster ids, label ids and the table of their counts, or of summed weights."""
    given_labels, given_clusters = np.asarray(labels), np.asarray(clusters)
    if given_labels.ndim != 1 or given_labels.shape != given_clusters.shape or not len(given_labels):
        raise ValueError(
            f"labels and clusters must be two vectors of one length, got {given_labels.shape} and "
            f"{given_clusters.shape}."
        )
    label_ids, label_codes = np.unique(given_labels, return_inverse=True)
    cluster_ids, cluster_codes = np.unique(given_clusters, return_inverse=True)
    if weights is not None:
        weights = check_weights(weights, len(given_labels))
    cells = np.bincount(
        cluster_codes * len(label_ids) + label_codes, weights, minlength=len(label_ids) * len(cluster_ids)
    )
    return cluster_ids, label_ids, cells.reshape(len(cluster_ids), len(label_ids))


def divergences(counts: Array, divergence: Divergence) -> Floats:
    """Divergence of each cluster; leading axes of counts (… × clusters × labels) are repeats."""
    whole = counts.sum(axis=-2, keepdims=True)
    overall = whole / whole.sum(axis=-1, keepdims=True)
    sizes = counts.sum(axis=-1, keepdims=True)
    if divergence in ("l2", "l2_mean"):
        squares = (overall - counts / sizes) ** 2
        return np.asarray(squares.sum(axis=-1) if divergence == "l2" else squares.mean(axis=-1))
    if divergence == "kl":
        smoothed = (counts + _PSEUDO_COUNT * overall) / (sizes + _PSEUDO_COUNT)
        # A label that the whole (redrawn) set lacks adds nothing: 0 · log 0 = 0.
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(overall > 0, overall * np.log2(overall / smoothed), 0.0)
        return np.asarray(terms.sum(axis=-1))
    raise ValueError(f"divergence must be 'l2', 'l2_mean' or 'kl', not {divergence!r}.")


def score_of(divergences: Floats, divergence: Divergence, mode: Mode) -> Any:
    """Score of the divergences on the last axis; leading axes are repeats."""
    if mode == "exact":
        return 100.0 * (divergences.mean(axis=-1) - divergences.min(axis=-1))
    if mode == "released":
        thresholds = _THRESHOLDS * (_KL_STRETCH if divergence == "kl" else 1.0)
        return 100.0 * (divergences[..., None] > thresholds).mean(axis=(-1, -2))
    raise ValueError(f"mode must be 'exact' or 'released', not {mode!r}.")


def check_weights(weights: npt.ArrayLike, n: int) -> Floats:
    """Return the weights as numbers, or raise if there are not as many as labels or some are not positive."""
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (n,):
        raise ValueError(f"weights must be as long as labels, got {values.shape} and {(n,)}.")
    if not (np.isfinite(values) & (values > 0)).all():
        raise ValueError("weights must be positive and finite; leave out instances of weight 0.")
    return values
