"""Divergence of distributions, bits that clusters hold about labels, and exact tests of one cluster's labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln, logsumexp, rel_entr, xlogy

from cuecard.stats.arrays import Floats, Ints, divided, whole_counts
from cuecard.stats.clusters.peco import PLAIN, SampleDesign
from cuecard.stats.clusters.peco_starts import ClusterTables
from cuecard.stats.cues.within_example import stratified_hypergeometric_log_p

__all__ = [
    "ClusterInformation",
    "cluster_information",
]


def as_distributions(name: str, rows: npt.ArrayLike) -> Floats:
    """Return rows scaled to sum to 1 (counts are welcome); a row of zeros becomes nan.

    >>> as_distributions("p", [[3, 1], [0, 0]])
    array([[0.75, 0.25],
           [ nan,  nan]])
    """
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} must have at least one column, one for every label")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{name} must hold finite counts or probabilities that are not negative")
    sums = array.sum(axis=-1, keepdims=True)
    return divided(array, sums)


def kl_divergence(p: npt.ArrayLike, q: npt.ArrayLike, *, base: float = np.e) -> Floats:
    """Kullback–Leibler divergence KL(p ‖ q) = Σ p log(p / q) of each pair of rows; inf where q misses p.

    >>> kl_divergence([[1, 1], [1, 1]], [[1, 3], [1, 0]], base=2).round(4)
    array([0.2075,    inf])
    """
    left, right = _same_labels(p, q)
    return _in_base(rel_entr(left, right).sum(axis=-1), base)


def jensen_shannon(p: npt.ArrayLike, q: npt.ArrayLike, *, base: float = np.e) -> Floats:
    """Jensen–Shannon divergence of each pair of rows: ½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2.

    It is 0 for equal rows and log 2 for rows that share no label (1 with `base=2`).

    >>> jensen_shannon([[1, 0], [2, 2]], [[0, 1], [5, 5]]).round(4)
    array([0.6931, 0.    ])
    """
    left, right = _same_labels(p, q)
    middle = (left + right) / 2
    total = rel_entr(left, middle).sum(axis=-1) + rel_entr(right, middle).sum(axis=-1)
    # Rounding can leave equal rows at -1e-17, which has no square root.
    return _in_base(np.maximum(total / 2, 0.0), base)


def total_variation(p: npt.ArrayLike, q: npt.ArrayLike) -> Floats:
    """Total variation distance ½ Σ |p − q| of each pair of rows, between 0 and 1.

    >>> total_variation([[1, 0], [3, 1]], [[0, 1], [1, 1]])
    array([1.  , 0.25])
    """
    left, right = _same_labels(p, q)
    return np.asarray(np.abs(left - right).sum(axis=-1) / 2)


def _same_labels(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Floats, Floats]:
    left, right = as_distributions("p", p), as_distributions("q", q)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(
            f"p and q must have the same labels, and have {left.shape[-1]} and {right.shape[-1]}"
        )
    return left, right


def _in_base(nats: Floats, base: float) -> Floats:
    if base <= 1:
        raise ValueError(f"base must be greater than 1, for example 2 for bits, and is {base}")
    return np.asarray(nats / np.log(base))


_LN2 = float(np.log(2.0))


@dataclass(frozen=True)
class ClusterInformation:
    """Mutual information of cluster and label in bits, a mean over clusterings, with what chance adds taken off."""

    bits: float
    """Plug-in estimate less its mean under shuffled labels; about 0 where clusters say nothing."""
    low: float
    high: float
    raw: float
    """The plug-in estimate, which grows with the number of clusters and shrinks with that of instances."""
    null_mean: float


def cluster_information(
    labels: npt.ArrayLike,
    clusterings: Sequence[npt.ArrayLike],
    *,
    design: SampleDesign = PLAIN,
    permutations: int = 200,
    draws: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> ClusterInformation:
    """Return how many bits about its label the cluster of an instance holds, with what chance adds taken off.

    The plug-in estimate of I(label; cluster) is too high by about (k − 1)(L − 1) / (2 n ln 2) bits. That is what
    shuffled labels give, and it is subtracted: copies, groups, weights and small clusters are allowed for as in
    `peco_starts`, whose arguments these are. The interval is that of the mean over clusterings, ± t · s, with s from
    instances (whole groups or units) drawn again and from the spread of the clusterings.

    >>> rng = np.random.default_rng(0)
    >>> clusters = rng.integers(0, 50, 2_000)
    >>> labels = rng.random(2_000) < np.where(clusters < 25, 0.7, 0.3)
    >>> result = cluster_information(labels, [clusters])
    >>> round(result.bits, 2), result.low < 0.119 < result.high  # 1 − H(0.7) = 0.119
    (0.11, True)
    """
    tables = ClusterTables(labels, clusterings, design)
    seen = _bits(tables, tables.count()[None])[0]
    null = _bits(tables, tables.shuffled(permutations, seed)).mean(axis=1)
    again = _bits(tables, tables.redrawn(draws, seed)).mean(axis=1)
    raw, chance = float(seen.mean()), float(null.mean())
    low, high = tables.interval(seen, again, confidence)
    return ClusterInformation(raw - chance, low - chance, high - chance, raw, chance)


def _bits(tables: ClusterTables, counts: Floats) -> Floats:
    """Return the mutual information of every repeat and clustering."""
    bits = []
    for first, last in zip(tables.bounds[:-1], tables.bounds[1:], strict=True):
        part = counts[:, first:last]
        total = part.sum(axis=(1, 2))
        joint = xlogy(part, part).sum(axis=(1, 2))
        rows, columns = part.sum(axis=2), part.sum(axis=1)
        nats = joint - xlogy(rows, rows).sum(axis=1) - xlogy(columns, columns).sum(axis=1)
        bits.append((nats / total + np.log(total)) / _LN2)
    return np.asarray(np.maximum(np.stack(bits, axis=1), 0.0))


#: Tables are counted one by one up to this many for a cluster.
MOST_TABLES = 300_000


def cluster_log_p(counts: npt.ArrayLike) -> Floats:
    """Natural log of the exact p-value that a cluster's labels are a random draw from the whole set.

    `counts` has a row per cluster and a column per label; the rows together are the whole set. Given how many
    instances each cluster and each label has, random labels make a row multivariate hypergeometric, and the
    p-value adds up all rows that are no more likely than the one seen (Fisher's test with more than two labels).
    Where the possible rows are too many to go through, each label is tested against the others by Fisher's exact
    test, and the smallest p-value is multiplied by the number of labels: never too small, a little less powerful.

    >>> np.exp(cluster_log_p([[3, 0, 0], [0, 3, 3]])).round(4)
    array([0.0357, 0.0357])
    """
    table = whole_counts("counts", counts).astype(np.int64)
    if table.ndim != 2:
        raise ValueError("counts must be a table of clusters × labels")
    table = table[:, table.sum(axis=0) > 0]
    totals = table.sum(axis=0)
    if table.shape[1] < 2 or len(table) < 2:
        return np.zeros(len(table))
    # The label with most instances costs nothing: it follows from the others.
    order = np.argsort(totals, kind="stable")
    table, totals = table[:, order], totals[order]
    sizes = table.sum(axis=1)
    possible = np.prod(np.minimum(sizes[:, None], totals[:-1]) + 1.0, axis=1)
    log_p = np.zeros(len(table))  # a cluster without instances says nothing
    factorial = np.asarray(gammaln(np.arange(int(totals.sum()) + 1) + 1.0))
    few = possible <= MOST_TABLES
    for i in np.flatnonzero(few & (sizes > 0)):
        log_p[i] = _by_enumeration(table[i], totals, factorial)
    if not few.all():
        log_p[~few] = _by_label(table[~few], totals)
    return log_p


def _by_enumeration(row: Ints, totals: Ints, factorial: Floats) -> float:
    """Sum the probabilities of all rows of this size that are no more likely than this one."""
    size, whole = int(row.sum()), int(totals.sum())

    def ways(total: int, drawn: Ints) -> Floats:
        return np.asarray(factorial[total] - factorial[drawn] - factorial[total - drawn])

    axes = [np.arange(min(size, int(total)) + 1) for total in totals[:-1]]
    drawn = np.zeros((1,) * len(axes), dtype=np.int64)
    log_weight = np.zeros((1,) * len(axes))
    for i, (axis, total) in enumerate(zip(axes, totals[:-1], strict=True)):
        shape = tuple(-1 if j == i else 1 for j in range(len(axes)))
        drawn = drawn + axis.reshape(shape)
        log_weight = log_weight + ways(int(total), axis).reshape(shape)
    left = size - drawn
    fits = (left >= 0) & (left <= totals[-1])
    log_weight = log_weight[fits] + ways(int(totals[-1]), left[fits])
    seen = sum(float(ways(int(total), np.asarray(x))) for total, x in zip(totals, row, strict=True))
    # A table that is as likely as the one seen may come out a rounding error above it.
    as_unlikely = log_weight[log_weight <= seen + 1e-9 * max(1.0, abs(seen))]
    return min(0.0, float(logsumexp(as_unlikely)) - float(ways(whole, np.asarray(size))))


def _by_label(table: Ints, totals: Ints) -> Floats:
    """Bonferroni over Fisher's exact test of each label against the others."""
    n_labels = len(totals)
    sizes = np.repeat(table.sum(axis=1), n_labels)
    log_p = stratified_hypergeometric_log_p(
        table.ravel(),
        sizes[:, None],
        np.tile(totals, len(table))[:, None],
        np.full((len(sizes), 1), int(totals.sum())),
    )
    smallest = log_p.reshape(table.shape).min(axis=1)
    return np.asarray(np.minimum(smallest + np.log(n_labels), 0.0))
