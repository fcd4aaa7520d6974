"""Bits that clusters hold about the label, less what shuffled labels give: a size that does not grow with k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import xlogy

from cuecard.stats.arrays import Floats
from cuecard.stats.clusters.peco_starts import ClusterTables

__all__ = ["ClusterInformation", "cluster_information"]

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
    groups: npt.ArrayLike | None = None,
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
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
    tables = ClusterTables(labels, clusterings, weights)
    seen = _bits(tables, tables.count()[None])[0]
    null = _bits(tables, tables.shuffled(groups, units, permutations, seed)).mean(axis=1)
    again = _bits(tables, tables.redrawn(groups, units, draws, seed)).mean(axis=1)
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
