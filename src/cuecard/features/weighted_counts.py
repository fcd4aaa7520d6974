"""Counts of features where instances have weights: sums of weights, and how many instances they are worth."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data import Instances
from cuecard.features.family import Presence

#: Column with the sum of squared weights of the train instances that have a feature: with the sum of weights
#: it tells how many instances of equal weight would say as much, (Σw)² / Σw².
SQUARED_WEIGHTS = "train_squared_weights"

FloatArray = npt.NDArray[np.float64]


def weighted_table(
    table: pl.DataFrame,
    presence: Presence,
    classes: npt.NDArray[np.int32],
    n_labels: int,
    weights: FloatArray,
) -> pl.DataFrame:
    """Return a table of counts with sums of weights in place of the counts, and `SQUARED_WEIGHTS`.

    Row f of the table is about feature f of `presence`.
    """
    columns = [name for name in table.columns if name not in ("family", "feature")]
    rows, n = presence.rows(), len(columns)
    keys = presence.indices.astype(np.int64) * n + classes[rows]
    # Of nothing, bincount makes whole numbers whatever the weights are.
    sums = np.bincount(keys, weights=weights[rows], minlength=table.height * n).astype(np.float64)
    sums = sums.reshape(table.height, n)
    in_train = classes[rows] < n_labels
    squares = np.bincount(
        presence.indices[in_train], weights=weights[rows[in_train]] ** 2, minlength=table.height
    ).astype(np.float64)
    return table.with_columns(
        *(pl.Series(name, sums[:, i]) for i, name in enumerate(columns)), pl.Series(SQUARED_WEIGHTS, squares)
    )


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
    found = gathered @ sparse.csr_matrix((ones, presence.indices, presence.indptr), shape=presence.shape)
    right = found.data >= base
    found.data = found.data % base
    return found, sizes, right


def weighted_within(
    family: str, presence: Presence, instances: Instances, weights: FloatArray
) -> pl.DataFrame:
    """Return the counts within train examples, as effective counts.

    A feature's examples of total weight Σw say as much as (Σw)² / Σw² of equal weight; their counts are brought
    to that sum and rounded, so that the exact test can take them.
    """
    train = instances.train  # train rows stand before test rows
    n_train = len(train)
    of_train = Presence(
        presence.names, presence.indptr[: n_train + 1], presence.indices[: presence.indptr[n_train]]
    )
    found, sizes, right = example_features(of_train, train)
    example = np.repeat(np.arange(len(sizes)), np.diff(found.indptr))
    first = np.searchsorted(train.example_codes, np.arange(len(sizes)))
    entries = pl.DataFrame(
        {
            "feature": found.indices.astype(np.int64),
            "k": sizes[example],
            "m": found.data,
            "weight": weights[:n_train][first][example],
            "right": right,
        }
    )
    # Examples in which all instances have the feature are counted too, but say nothing about its worth to a test.
    telling = pl.col("weight").filter(pl.col("m") < pl.col("k"))
    weight = pl.when(telling.len() > 0).then(telling.sum()).otherwise(pl.col("weight").sum())
    squares = pl.when(telling.len() > 0).then((telling**2).sum()).otherwise((pl.col("weight") ** 2).sum())
    worth = entries.group_by("feature").agg(worth=weight / squares.clip(1e-300))
    summed = entries.group_by("feature", "k", "m").agg(
        examples=pl.col("weight").sum(), right=pl.col("weight").filter("right").sum()
    )
    effective = summed.join(worth, on="feature").sort("feature", "k", "m")
    return effective.select(
        family=pl.lit(family),
        feature=presence.names.gather(effective["feature"]),
        k="k",
        m="m",
        examples=(pl.col("examples") * pl.col("worth")).round().cast(pl.Int64),
        right=(pl.col("right") * pl.col("worth")).round().cast(pl.Int64),
    )
