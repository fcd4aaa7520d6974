"""Rows of a card's tables, a page at a time: they are filtered and sorted where they lie, and only rows travel."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name

MOST_ROWS = 200
_COMPARE: Mapping[str, Callable[[pl.Expr, Any], pl.Expr]] = {
    "=": lambda column, value: column.eq(value),
    "<": lambda column, value: column.lt(value),
    "<=": lambda column, value: column.le(value),
    ">": lambda column, value: column.gt(value),
    ">=": lambda column, value: column.ge(value),
}


@dataclass(frozen=True)
class Query:
    """Which rows of a table to show, in which order."""

    search: str = ""
    search_in: Sequence[str] = ()
    where: Sequence[tuple[str, str, str]] = ()  # column, comparison, value
    sort: str = ""
    descending: bool = True
    by_size: bool = False  # sort by the absolute value
    offset: int = 0
    limit: int = 50
    numbers: Sequence[int] | None = None  # only these rows

    def __post_init__(self) -> None:
        if self.offset < 0 or not 1 <= self.limit <= MOST_ROWS:
            raise UsageError(f"offset must be at least 0 and limit from 1 to {MOST_ROWS}.")


@dataclass(frozen=True)
class Page:
    """Some rows of a table, and how many there are in all."""

    columns: list[str]
    rows: list[dict[str, Any]]
    total: int
    offset: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """Return the page as the API shows it."""
        return {
            "columns": self.columns,
            "rows": self.rows,
            "total": self.total,
            "offset": self.offset,
            **self.extra,
        }


def table_page(file: Path, query: Query) -> Page:
    """Return a page of a parquet file; a row's number in the file is its `row`."""
    frame = _scan(file)
    schema = frame.collect_schema()
    chosen = _filtered(frame.with_row_index("row"), schema, query)
    keys = [name for name in schema.names() if name == query.sort]
    try:
        light = chosen.select("row", *keys)
        if query.sort:
            if query.sort not in schema:
                raise unknown_name("column", query.sort, schema.names())
            by = (
                pl.col(query.sort).abs()
                if query.by_size and schema[query.sort].is_numeric()
                else pl.col(query.sort)
            )
            light = light.sort(by, descending=query.descending, nulls_last=True, maintain_order=True)
        numbers = light.select("row").collect(engine="streaming")["row"]
        here = numbers.slice(query.offset, query.limit).to_list()
        rows = _rows_at(file, here)
    except pl.exceptions.PolarsError as error:
        raise InputError(f"The table {file.stem} cannot be read ({error}); audit the data again.") from None
    return Page(schema.names(), rows, len(numbers), query.offset)


def _scan(file: Path) -> pl.LazyFrame:
    try:
        return pl.scan_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"The table {file.stem} cannot be read ({error}); audit the data again.") from None


def _filtered(frame: pl.LazyFrame, schema: pl.Schema, query: Query) -> pl.LazyFrame:
    if query.numbers is not None:
        frame = frame.filter(pl.col("row").is_in(pl.Series(query.numbers, dtype=pl.UInt32).implode()))
    if words := query.search.lower().split():
        names = query.search_in or [name for name, kind in schema.items() if kind == pl.String]
        either = pl.concat_str(
            [pl.col(name).fill_null("") for name in names], separator=" "
        ).str.to_lowercase()
        for word in words:
            frame = frame.filter(either.str.contains(word, literal=True))
    for name, comparison, text in query.where:
        frame = frame.filter(condition(schema, name, comparison, text))
    return frame


def condition(schema: pl.Schema, name: str, comparison: str, text: str) -> pl.Expr:
    """Return the filter of a column that a page asked for; the value is read by the column's type."""
    if name not in schema:
        raise unknown_name("column", name, schema.names())
    if comparison not in _COMPARE:
        raise unknown_name("comparison", comparison, list(_COMPARE))
    kind = schema[name]
    if kind == pl.Boolean:
        return pl.col(name) == (text.lower() in ("true", "1", "yes"))
    if kind.is_numeric():
        try:
            return _COMPARE[comparison](pl.col(name), float(text))
        except ValueError:
            raise UsageError(f"{name} is a number: compare it with one, not with {text!r}.") from None
    return _COMPARE[comparison](pl.col(name).cast(pl.String), text)


def _rows_at(file: Path, numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return rows of a file by number, in this order; only the parts of the file that hold them are read."""
    if not numbers:
        return []
    frame = (
        pl.scan_parquet(file)
        .with_row_index("row")
        .filter(pl.col("row").is_in(pl.Series(sorted(numbers), dtype=pl.UInt32).implode()))
        .collect(engine="streaming")
    )
    place = {number: i for i, number in enumerate(frame["row"].to_list())}
    rows = frame.to_dicts()
    return [_plain(rows[place[number]]) for number in numbers]


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as JSON can hold it."""
    return {
        name: None if isinstance(value, float) and value != value else value for name, value in row.items()
    }


class Texts:
    """The texts of a card by the number of the example, read from a file that stays on disk."""

    def __init__(self, file: Path) -> None:
        self._file = pa.memory_map(str(file), "r")
        self._reader = pa.ipc.open_file(self._file)
        ends, total = [], 0
        for i in range(self._reader.num_record_batches):
            total += self._reader.get_batch(i).num_rows
            ends.append(total)
        self._ends, self.total = ends, total

    def sharing(self, number: int) -> list[int]:
        """Return the examples that have a text in common with one: its premise, or one of its other texts."""
        example = self.at(number)
        own = pa.array([text for text in example["texts"] if text], type=pa.large_string())
        rows: list[int] = []
        start = 0
        for i in range(self._reader.num_record_batches):
            batch = self._reader.get_batch(i)
            texts = batch.column("texts")
            hits = set(pc.indices_nonzero(pc.is_in(texts.flatten(), own)).to_pylist())
            if example["premise"]:
                same = pc.indices_nonzero(pc.equal(batch.column("premise"), example["premise"])).to_pylist()
                rows += [start + row for row in same]
            if hits:
                parents = pc.list_parent_indices(texts).to_pylist()
                rows += [start + parents[hit] for hit in hits]
            start += batch.num_rows
        return sorted(set(rows))

    def at(self, number: int) -> dict[str, Any]:
        """Return one example: id, split, label, premise, texts."""
        if not 0 <= number < self.total:
            raise UsageError(f"There is no example in row {number}; the last is in row {self.total - 1}.")
        batch = bisect_right(self._ends, number)
        start = self._ends[batch - 1] if batch else 0
        row: dict[str, Any] = self._reader.get_batch(batch).slice(number - start, 1).to_pylist()[0]
        return row


@lru_cache(maxsize=32)
def texts_of(file: Path) -> Texts:
    """Return the texts in a file, opened once."""
    return Texts(file)
