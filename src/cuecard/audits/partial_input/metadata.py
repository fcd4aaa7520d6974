"""Extra columns: which of them divide the examples into slices, and what they say about the label by themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import polars as pl
from scipy import sparse

from cuecard.data import COLUMNS
from cuecard.data.examples import Examples
from cuecard.data.layout.preferences.responses import FILE_POSITION
from cuecard.stats.arrays import Ints

#: A column with more values than this is a text or an identifier, not a slice.
MOST_VALUES = 60


def slice_columns(examples: Examples, without: Collection[str | None] = ()) -> list[pl.Series]:
    """Return the extra columns with few values, one value per example, as text.

    Columns that differ between the rows of an example, and those that only write the label another way, are none.
    """
    data = examples.instances
    table = data.table.select(pl.exclude(*COLUMNS))
    starts = examples.first_rows[:-1]
    kept = []
    for column in table:
        if column.name in without or column.dtype.is_nested() or column.dtype.is_float():
            continue
        values = column.gather(starts)
        if not 2 <= values.n_unique() <= MOST_VALUES:
            continue
        if data.grouped and _differs_within(column, starts):
            continue
        if not data.grouped and _writes_the_label(values, examples):
            continue
        kept.append(values.cast(pl.String))
    return kept


def response_columns(examples: Examples) -> list[pl.Series]:
    """Return what extra columns say about each answer of an example, one value per row, as text.

    Columns of text with few values, such as the model that wrote an answer, count as they are. Of all others only
    whether a value is there: a score may be what the label was made of.
    """
    data = examples.instances
    kept = []
    for column in data.table.select(pl.exclude(*COLUMNS, FILE_POSITION)):
        if column.dtype.is_nested() or not _differs_within(column, examples.first_rows[:-1]):
            continue
        text = column.dtype in (pl.String, pl.Categorical, pl.Boolean) or isinstance(column.dtype, pl.Enum)
        values = column.cast(pl.String) if text else column.is_null().cast(pl.String)
        if 2 <= values.n_unique() <= MOST_VALUES:
            kept.append(values)
    return kept


def _differs_within(column: pl.Series, starts: Ints) -> bool:
    """Return whether two rows of one example have different values; `starts` are the examples' first rows."""
    changes = column.ne_missing(column.shift(1)).to_numpy().copy()
    changes[starts] = False
    return bool(changes.any())


def metadata_features(columns: Sequence[pl.Series]) -> sparse.csr_matrix:
    """Return an indicator of every value of every column, one row per example; a missing value is a value."""
    blocks = []
    for column in columns:
        codes = column.fill_null("").rank("dense").to_numpy().astype(np.int64) - 1
        n = len(codes)
        shape = (n, int(codes.max(initial=0)) + 1)
        blocks.append(sparse.csr_matrix((np.ones(n), codes, np.arange(n + 1)), shape=shape))
    return sparse.hstack(blocks, format="csr")


def _writes_the_label(values: pl.Series, examples: Examples) -> bool:
    """Return whether every value goes with one label and every label with one value."""
    pairs = pl.DataFrame({"value": values.cast(pl.String), "label": examples.gold})
    return pairs.n_unique() == pairs["value"].n_unique() == pairs["label"].n_unique()
