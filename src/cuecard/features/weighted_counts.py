"""Counts of features where instances have weights, and within the examples of grouped tasks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.features.family import Presence
from cuecard.stats.arrays import Floats


def weighted_table(
    table: pl.DataFrame, presence: Presence, classes: npt.NDArray[np.int32], weights: Floats
) -> pl.DataFrame:
    """Return a table of counts with sums of weights in place of the counts.

    Row f of the table is about feature f of `presence`.
    """
    columns = [name for name in table.columns if name not in ("family", "feature")]
    rows, n = presence.rows(), len(columns)
    keys = presence.indices.astype(np.int64) * n + classes[rows]
    # Of nothing, bincount makes whole numbers whatever the weights are.
    sums = np.bincount(keys, weights=weights[rows], minlength=table.height * n).astype(np.float64)
    sums = sums.reshape(table.height, n)
    return table.with_columns(pl.Series(name, sums[:, i]) for i, name in enumerate(columns))


def example_features(
    presence: Presence, instances: Instances
) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return how many of each example's instances have each feature, the examples' sizes, and who is right.

    The matrix has a row per example; the last array says for each of its entries whether the right instance has
    the feature.
    """
    sizes = np.bincount(instances.example_codes).astype(np.int64)
    base = int(sizes.max(initial=0)) + 1
    # One product gives both: the right instance counts for itself and, in the next digit, for being right.
    digits = 1 + base * (instances.label_codes == 0).astype(np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    gathered = sparse.csr_matrix(
        (digits, np.arange(len(instances)), starts), shape=(len(sizes), len(instances))
    )
    ones = np.ones(len(presence.indices), dtype=np.int64)
    counted = gathered @ sparse.csr_matrix((ones, presence.indices, presence.indptr), shape=presence.shape)
    right = counted.data >= base
    counted.data = counted.data % base
    return counted, sizes, right
