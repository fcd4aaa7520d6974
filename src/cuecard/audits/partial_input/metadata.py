"""Extra columns: which of them divide the examples into slices, and what they say about the label by themselves."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import COLUMNS
from cuecard.data.examples import Examples
from cuecard.data.layout.preferences.responses import FILE_POSITION
from cuecard.models.linear.features_on_request import Indicators
from cuecard.stats.arrays import Ints, chunks

#: A column with more values than this is a text or an identifier, not a slice.
MOST_VALUES = 60


def slice_columns(examples: Examples, without: Collection[str | None] = ()) -> list[pl.Series]:
    """Return the extra columns with few values, one value per example, as an Enum of their texts in order.

    Columns that differ between the rows of an example, and those that only write the label another way, are none.
    """
    data = examples.instances
    table = data.table.select(pl.exclude(*COLUMNS))
    starts = examples.first_rows[:-1]
    kept = []
    for column in table:
        if column.name in without or column.dtype.is_nested() or column.dtype.is_float():
            continue
        if column.dtype == pl.Duration:  # it has no text of its own
            column = column.to_physical()
        values = column.gather(starts) if data.grouped else column
        if not 2 <= values.n_unique() <= MOST_VALUES:
            continue
        if data.grouped and _differs_within(column, starts):
            continue
        values = coded(values)
        if not data.grouped and _writes_the_label(values, examples):
            continue
        kept.append(values)
    return kept


def coded(values: pl.Series) -> pl.Series:
    """Return few values as an Enum of their texts in order, which takes a byte for each."""
    kind = pl.Enum(values.unique().cast(pl.String).drop_nulls().sort())
    parts = [values[some].cast(pl.String).cast(kind) for some in chunks(len(values))]
    return pl.concat([values[:0].cast(pl.String).cast(kind), *parts]).rechunk()


def codes_of(values: pl.Series) -> npt.NDArray[np.int16]:
    """Return the places of the values of an Enum, -1 where one is missing."""
    codes: npt.NDArray[np.int16] = values.to_physical().cast(pl.Int16).fill_null(-1).to_numpy()
    return codes


def names_of(values: pl.Series) -> pl.Series:
    """Return the values that an Enum can have."""
    assert isinstance(values.dtype, pl.Enum)
    return values.dtype.categories


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


def metadata_features(columns: Sequence[pl.Series]) -> Indicators:
    """Return an indicator of every value of every column, one row per example; a missing value is a value."""
    features = []
    for column in columns:
        values = column if isinstance(column.dtype, pl.Enum) else coded(column)
        codes = codes_of(values)
        if values.null_count() and names_of(values)[0] != "":
            codes = codes + np.int16(1)
        features.append(np.maximum(codes, np.int16(0)))
    return Indicators(tuple(features), tuple(int(codes.max(initial=0)) + 1 for codes in features))


def _writes_the_label(values: pl.Series, examples: Examples) -> bool:
    """Return whether every value goes with one label and every label with one value."""
    codes, gold, k = codes_of(values), examples.gold, len(examples.labels)
    together = np.zeros((len(names_of(values)) + 1) * k, dtype=np.int64)
    for some in chunks(len(codes)):
        together += np.bincount((codes[some] + 1) * k + gold[some], minlength=len(together))
    there = together.reshape(-1, k) > 0
    return int(there.sum()) == int(there.any(axis=1).sum()) == int(there.any(axis=0).sum())
