"""PECO (progressive evaluation of cluster outliers): how far clusters lean to one label, and its null."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Array, Floats, Ints
from cuecard.stats.units import has_repeats, label_orders

__all__ = [
    "ClusterDivergence",
    "PecoCurve",
    "PecoNull",
    "SampleDesign",
    "cluster_divergence",
    "cluster_table",
    "divergences",
    "peco",
    "peco_curve",
    "peco_interval",
    "peco_null",
    "score_of",
    "shuffled_divergences",
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


@dataclass(frozen=True, eq=False)
class SampleDesign:
    """Which labels may change places when they are shuffled, which change places together, and what each weighs."""

    groups: npt.ArrayLike | None = None
    """The group of every instance, such as the question of a choice: labels are shuffled within groups only."""
    units: npt.ArrayLike | None = None
    """A code that copies of a text share, or of a choice of a repeated question: they change places together."""
    weights: npt.ArrayLike | None = None
    """How much every instance counts."""


#: Instances that are independent and count alike.
PLAIN = SampleDesign()


@dataclass(frozen=True)
class PecoNull:
    """A PECO score beside what shuffled labels give."""

    score: float
    null: Floats
    """Scores under shuffled labels, clusters kept."""
    null_mean: float
    excess: float
    """Score minus the null mean: 0 by chance for any size; above it, it grows with k and shrinks with the set."""
    p_value: float
    """Share of shuffles that score at least as high, the observed order counted as one of them."""


def peco_null(
    labels: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    divergence: Divergence = "l2",
    mode: Mode = "exact",
    design: SampleDesign = PLAIN,
    permutations: int = 200,
    seed: int = 0,
) -> PecoNull:
    """PECO score, its distribution when labels are shuffled over the instances, a p-value and the excess.

    Shuffling only changes the cluster × label counts, so the shuffled tables are drawn directly: one
    hypergeometric draw per cell instead of one permutation per instance. With groups in the `design` (the question
    each choice belongs to), labels are shuffled within groups only: one of the choices stays right. With units,
    copies change places together.

    With weights, labels count by weight. They take the part of the weight that goes with them
    along (see `label_factors`) and are shuffled among instances of which about the same weight is left (see
    `like_weights`), or within groups, where every weight stays where it is.
    """
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, got {permutations}.")
    score = peco(labels, clusters, divergence=divergence, mode=mode, weights=design.weights)
    shuffled = shuffled_divergences(
        labels, clusters, divergence, design=design, permutations=permutations, seed=seed
    )
    null = np.asarray(score_of(shuffled, divergence, mode))
    as_high = int(np.sum(null >= score - 1e-9 * max(1.0, abs(score))))
    mean = float(null.mean())
    return PecoNull(score, null, mean, score - mean, (1 + as_high) / (1 + permutations))


def shuffled_divergences(
    labels: npt.ArrayLike,
    clusters: npt.ArrayLike,
    divergence: Divergence = "l2",
    *,
    design: SampleDesign = PLAIN,
    permutations: int = 200,
    seed: int = 0,
) -> Floats:
    """Divergence of every cluster (columns) for each shuffle of the labels (rows), as `peco_null` draws them."""
    rng = np.random.default_rng(seed)
    tables: Array
    if design.units is not None and has_repeats(design.units, design.groups):
        tables = _shuffled_units(labels, clusters, design, permutations, rng)
    elif design.groups is None and design.weights is None:
        tables = _shuffled_tables(cluster_table(labels, clusters)[2], permutations, rng)
    else:
        tables = _shuffled_within(labels, clusters, design, permutations, rng)
    return divergences(tables, divergence)


def like_weights(weights: npt.ArrayLike | None) -> Ints:
    """Return a number for every instance that those of about the same weight share: at most 20, of 10 or more.

    Under weights, labels are shuffled among these. Over all instances, a heavy label could move to a cluster of light
    ones, and a cluster whose weights are uneven would look as even as any other; with each weight in its place, it
    does not.
    """
    values = np.asarray(weights, dtype=np.float64)
    inner = min(20, max(1, len(values) // 10)) - 1
    edges = np.unique(np.quantile(values, np.arange(1, inner + 1) / (inner + 1), method="higher"))
    return np.searchsorted(edges, values, side="right").astype(np.int64)


def label_factors(labels: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Floats, Floats]:
    """Return the part of the weights that goes with each label code, and what is left of every weight without it.

    A weight is taken for the product of the two; a label's part is the geometric mean of its weights. Inverse class
    frequencies are all label: nothing is left that would tell instances apart, and any two labels may change places,
    each with its part of the weight.

    >>> [part.tolist() for part in label_factors([0, 0, 1], [1.0, 1.0, 2.0])]
    [[1.0, 2.0], [1.0, 1.0, 1.0]]
    """
    codes, logs = np.asarray(labels), np.log(np.asarray(weights, dtype=np.float64))
    sums, counts = np.bincount(codes, logs), np.bincount(codes)
    factors: Floats = np.exp(np.where(counts > 0, sums / np.maximum(counts, 1), 0.0))
    rest: Floats = np.exp(logs - np.log(factors)[codes])
    return factors.round(12), rest.round(12)


def _shuffled_tables(counts: Ints, repeats: int, rng: np.random.Generator) -> Ints:
    """Tables with the margins of counts, distributed as if labels were shuffled over instances."""
    sizes, totals = counts.sum(axis=1), counts.sum(axis=0)
    tables = np.zeros((repeats, *counts.shape), dtype=np.int64)
    left = np.tile(totals, (repeats, 1))
    for i, size in enumerate(sizes):
        need = np.full(repeats, size)
        later = left.sum(axis=1)
        for label in range(len(totals) - 1):
            later = later - left[:, label]
            tables[:, i, label] = rng.hypergeometric(left[:, label], later, need)
            need = need - tables[:, i, label]
        tables[:, i, -1] = need
        left = left - tables[:, i]
    return tables


def _shuffled_units(
    labels: npt.ArrayLike,
    clusters: npt.ArrayLike,
    design: SampleDesign,
    repeats: int,
    rng: np.random.Generator,
) -> Ints | Floats:
    """Tables of counts, or of weights, after shuffling labels so that copies change places together."""
    label_codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    cluster_codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    shape = (int(cluster_codes.max()) + 1, int(label_codes.max()) + 1)
    parts = _weight_parts(label_codes, design)
    strata = like_weights(parts[1]) if parts is not None and design.groups is None else None
    orders = label_orders(
        len(label_codes), repeats, rng, groups=design.groups, units=design.units, strata=strata
    )
    cells = cluster_codes * shape[1]
    tables = []
    for order in orders:
        moved = label_codes[order]
        mass = None if parts is None else parts[0][moved] * parts[1]
        tables.append(np.bincount(cells + moved, mass, minlength=shape[0] * shape[1]).reshape(shape))
    return np.stack(tables)


def _weight_parts(labels: Ints, design: SampleDesign) -> tuple[Floats, Floats] | None:
    """Return the part of the weights that moves with the labels, and the part that stays; all of it within groups."""
    if design.weights is None:
        return None
    if design.groups is not None:
        return np.ones(int(labels.max()) + 1), np.asarray(design.weights, dtype=np.float64)
    return label_factors(labels, design.weights)


def _shuffled_within(
    labels: npt.ArrayLike,
    clusters: npt.ArrayLike,
    design: SampleDesign,
    repeats: int,
    rng: np.random.Generator,
) -> Ints | Floats:
    """Tables of counts, or of weights, after shuffling labels within each group, or among instances of like weight."""
    label_codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    cluster_codes = np.unique(np.asarray(clusters), return_inverse=True)[1]
    parts = _weight_parts(label_codes, design)
    if design.groups is not None:
        values = np.asarray(design.groups)
    else:
        values = like_weights(None if parts is None else parts[1])
    group_codes = np.unique(values, return_inverse=True)[1]
    if group_codes.shape != label_codes.shape:
        raise ValueError(
            f"groups must be as long as labels, got {group_codes.shape} and {label_codes.shape}."
        )
    order = np.argsort(group_codes, kind="stable")
    ordered, cells = group_codes[order], cluster_codes[order] * (label_codes.max() + 1)
    shape = (int(cluster_codes.max()) + 1, int(label_codes.max()) + 1)
    rest = None if parts is None else parts[1][order]
    tables: Array = np.empty((repeats, *shape), dtype=np.int64 if rest is None else np.float64)
    for i in range(repeats):
        # Sorting by group plus a random fraction keeps groups together and mixes within them.
        mixed = label_codes[order][np.argsort(ordered + rng.random(len(ordered)))]
        mass = None if parts is None or rest is None else parts[0][mixed] * rest
        tables[i] = np.bincount(cells + mixed, mass, minlength=tables[i].size).reshape(shape)
    return tables
