"""Which test examples have a cue, and which of them with its usual label (U) or another (N)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.data.examples import Examples
from cuecard.features import Family, Presence
from cuecard.stats.arrays import Ints
from cuecard.text import Encoded


@dataclass(frozen=True, eq=False)
class Membership:
    """Binary matrices, test examples × features.

    An example of `choice` or `preference` has a feature if some but not all of its choices have it (ICQ); its
    right choice then has the feature (label `right`) or lacks it.
    """

    having: Any
    usual: Any
    unusual: Any


def columns_in_test(presence: Presence, columns: Ints, first_test_row: int) -> sparse.csr_matrix:
    """Return the presence of chosen features in the rows from `first_test_row` on, in the columns' order."""
    matrix = presence.matrix()[first_test_row:]
    return sparse.csr_matrix(matrix[:, columns])


def membership(having: sparse.csr_matrix, examples: Examples, usual_labels: Sequence[str]) -> Membership:
    """Return who has each feature, with the label it usually goes with and with another.

    `having` is about test instances; `usual_labels` names the label that each feature points to.
    """
    data = examples.instances
    codes = np.array([data.labels.index(label) for label in usual_labels], dtype=np.int64)
    if not data.grouped:
        entries = sparse.coo_matrix(having)
        as_usual = examples.gold[entries.row] == codes[entries.col]
        return _split(entries.row, entries.col, as_usual, having.shape)
    group = sparse.csr_matrix(
        (np.ones(len(data)), (data.example_codes, np.arange(len(data)))), shape=(len(examples), len(data))
    )
    per_example = sparse.coo_matrix(group @ having)
    some_not_all = per_example.data < examples.sizes[per_example.row]
    row, column = per_example.row[some_not_all], per_example.col[some_not_all]
    # scipy answers an empty look-up with a matrix of another kind
    looked_up = having[examples.right_rows[row], column] if len(row) else np.empty(0)
    right_has = np.asarray(looked_up).ravel() > 0
    shape = (len(examples), having.shape[1])
    return _split(row, column, right_has == (codes[column] == 0), shape)


def _split(row: Any, column: Any, as_usual: Any, shape: tuple[int, int]) -> Membership:
    def matrix(kept: Any) -> sparse.csr_matrix:
        return sparse.csr_matrix((np.ones(int(kept.sum())), (row[kept], column[kept])), shape=shape)

    return Membership(matrix(np.ones(len(row), dtype=np.bool_)), matrix(as_usual), matrix(~as_usual))


def presence_of(chosen: pl.DataFrame, encoded: Encoded, families: Sequence[Family]) -> sparse.csr_matrix:
    """Return which instances have the features that a table names by `family` and `feature`, in its order."""
    blocks, places = [sparse.csr_matrix((len(encoded.instances), 0))], [np.empty(0, dtype=np.int64)]
    for family in families:
        here = np.flatnonzero((chosen["family"] == family.name).to_numpy())
        if len(here):
            presence = family.presence(encoded)
            columns = feature_columns(presence, chosen["feature"].gather(here).to_list())
            blocks.append(presence.matrix()[:, columns])
            places.append(here)
    order = np.argsort(np.concatenate(places), kind="stable")
    return sparse.csr_matrix(sparse.hstack(blocks, format="csr")[:, order])


def feature_columns(presence: Presence, names: Sequence[str]) -> Ints:
    """Return the number of each named feature, -1 where the family has no such feature."""
    wanted = pl.DataFrame({"name": pl.Series(names, dtype=pl.String)})
    numbered = pl.DataFrame({"name": presence.names}).with_row_index("at").unique("name", keep="first")
    positions = wanted.join(numbered, on="name", how="left", maintain_order="left")["at"]
    return positions.cast(pl.Int64).fill_null(-1).to_numpy()
