"""Units of independence: rows that are copies of each other are one observation about their words."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.units.copies import copies, in_order
from cuecard.errors import InputError
from cuecard.registry import unknown_name

UnitScope = Literal["hypothesis", "premise", "choices", "example"]
UNIT_SCOPES: tuple[UnitScope, ...] = get_args(UnitScope)

Codes = npt.NDArray[np.int64]


def text_units(table: pl.DataFrame, scope: Literal["hypothesis", "premise"]) -> Codes:
    """Return a number for every row that the copies and near copies of its text share."""
    return copies(table[scope])


def example_units(examples: Codes, hypothesis: Codes, premise: Codes | None = None) -> Codes:
    """Return a number for every row that examples with the same hypotheses (and premise), in any order, share.

    `hypothesis` and `premise` are units of texts; an example counts as a copy if all its texts are copies.
    """
    n = int(examples.max(initial=-1)) + 1
    # A sum of random numbers, one per unit, is the same for the same hypotheses in any order.
    rng = np.random.default_rng(0)
    size = int(max(hypothesis.max(initial=0), 0 if premise is None else premise.max(initial=0))) + 1
    numbers = rng.integers(0, 2**63, size=(2, size), dtype=np.uint64)
    key = np.zeros(n, dtype=np.uint64)
    np.add.at(key, examples, numbers[0][hypothesis])
    if premise is not None:
        first = np.searchsorted(examples, np.arange(n))
        key ^= numbers[1][premise[first]]
    return in_order(key)[examples]


def column_units(table: pl.DataFrame, column: str) -> Codes:
    """Return a number for every row that rows of the same value share; a missing value is a unit of its own."""
    if column not in table.columns:
        raise unknown_name("column of clusters", column, table.columns)
    values = table[column]
    if values.dtype.is_nested():
        raise InputError(f"Column {column!r} holds {values.dtype}: units need one value per row.")
    dense = values.cast(pl.String).rank("dense").cast(pl.Int64).to_numpy(allow_copy=True).astype(np.float64)
    missing = np.isnan(dense)
    dense[missing] = -1.0 - np.arange(missing.sum())
    return in_order(dense)
