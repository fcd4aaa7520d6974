"""What an example is called: the user's id, or its row number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.data.layout.labels import label_texts
from cuecard.data.layout.roles import GROUP_IDS, normal_name
from cuecard.data.reading.raw import RawTable

#: A recognised column repeats for at least this share of at least this many rows: then it names groups.
GROUP_SHARE = 0.5
GROUP_ROWS = 20


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids of a table's rows; `repeated` marks those already used by an earlier row."""

    values: pl.Series
    repeated: pl.Series | None = None
    #: Whether the id column turned out to name groups of rows, so that rows are numbered instead.
    group: bool = False

    def slice(self, rows: slice) -> Ids:
        """Return the ids of a range of rows."""
        n = rows.stop - rows.start
        repeated = None if self.repeated is None else self.repeated.slice(rows.start, n)
        return Ids(self.values.slice(rows.start, n), repeated, self.group)

    def filter(self, kept: pl.Series) -> Ids:
        """Return the ids of the rows that are kept; none of these repeats an id."""
        return Ids(self.values.filter(kept), None, self.group)


def row_numbers(raw: RawTable) -> pl.Series:
    """Return the rows' numbers, counted from 1, as text."""
    return pl.Series("example_id", raw.numbers_throughout).cast(pl.String)


def ids_of(
    raw: RawTable,
    column: str | None,
    *,
    explicit: bool,
    unlabelled: Callable[[], pl.Series | None] = lambda: None,
) -> Ids:
    """Return the ids of all rows; a row whose id is missing is called by its number, as in "row 31".

    Rows without a label are left out later, so that they repeat no id. A recognised column names groups where most
    rows share their value, or where it is called after a group.
    """
    if column is None:
        return Ids(row_numbers(raw))
    values = label_texts(raw.frame[column]).alias("example_id")
    if values.null_count():
        numbers = pl.format("row {}", row_numbers(raw))  # no id that another row has
        values = pl.select(pl.coalesce(values, numbers)).to_series().alias("example_id")
    if values.n_unique() == len(values):
        return Ids(values)
    left_out = unlabelled()
    used = pl.repeat(True, len(values), eager=True) if left_out is None else ~left_out
    own = values.filter(used)
    if own.n_unique() == len(own):
        return Ids(values)
    shared = np.asarray(own.is_duplicated())
    often = len(own) >= GROUP_ROWS and shared.mean() >= GROUP_SHARE
    if not explicit and (often or normal_name(column) in GROUP_IDS):
        return Ids(row_numbers(raw), group=True)
    repeated = np.zeros(len(values), dtype=np.bool_)
    repeated[used.to_numpy()] = ~own.is_first_distinct().to_numpy()
    return Ids(values, repeated=pl.Series(repeated))
