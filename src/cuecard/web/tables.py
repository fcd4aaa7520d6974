"""Rows of a card's tables, a page at a time: polars filters and sorts the files, and only rows travel."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import polars as pl
from polars import selectors as cs

from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name

#: A value that JSON can hold, in a row of a table, and the row by its columns.
Value: TypeAlias = "str | int | float | bool | list[Value] | dict[str, Value] | None"
Row: TypeAlias = dict[str, Value]
#: A column, a comparison and a value.
Condition = tuple[str, str, str]

MOST_ROWS = 200
#: The column that holds the number of a row in its file.
_NUMBER = "\0row"
_COMPARE: Mapping[str, Callable[[pl.Expr, float | str], pl.Expr]] = {
    "=": pl.Expr.eq,
    "<": pl.Expr.lt,
    "<=": pl.Expr.le,
    ">": pl.Expr.gt,
    ">=": pl.Expr.ge,
}


@dataclass(frozen=True)
class Query:
    """Which rows of a table to show, in which order."""

    search: str = ""
    where: tuple[Condition, ...] = ()
    sort: str = ""
    descending: bool = True
    by_size: bool = False  # sort by the absolute value
    offset: int = 0
    limit: int = 50
    numbers: tuple[int, ...] | None = None  # only these rows
    beside: tuple[tuple[Path, Condition], ...] = ()  # filters by columns of other files with the same rows

    def __post_init__(self) -> None:
        if self.offset < 0 or not 1 <= self.limit <= MOST_ROWS:
            raise UsageError(f"offset must be at least 0 and limit from 1 to {MOST_ROWS}.")


def parse_condition(text: str) -> Condition:
    """Return column, comparison and value of a filter; the name of a column may hold colons.

    >>> parse_condition("right llama:8b:=:0")
    ('right llama:8b', '=', '0')
    """
    match = re.fullmatch(r"(.+?):(=|<=?|>=?):(.*)", text, re.DOTALL)
    if match is None:
        raise UsageError(f"{text!r} is not a filter: write COLUMN:COMPARISON:VALUE, such as 'z:>:3'.")
    return match[1], match[2], match[3]


@dataclass(frozen=True)
class Page:
    """Some rows of a table, and how many there are in all."""

    columns: list[str]
    rows: list[Row]
    total: int
    offset: int = 0
    extra: Mapping[str, Value] = field(default_factory=dict)

    @property
    def numbers(self) -> list[int]:
        """The numbers of its rows in the file."""
        return [number for row in self.rows if isinstance(number := row["row"], int)]

    def json(self) -> dict[str, object]:
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
    try:
        schema = pl.read_parquet_schema(file)
        if query.sort and query.sort not in schema:
            raise unknown_name("column", query.sort, list(schema))
        frame = _matching(file, schema, query)
        if frame is None:
            total = rows_of(file)
            shown = _scanned(file).slice(query.offset, query.limit).with_row_index(_NUMBER, query.offset)
            rows = shown.collect()
        else:
            page = _ordered(frame, schema, query).slice(query.offset, query.limit)
            columns = [_NUMBER, *schema]
            rows, counted = pl.collect_all([page.select(columns), frame.select(pl.len())], engine="streaming")
            total = int(counted.item())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"The table {file.stem} cannot be read ({error}); audit the data again.") from None
    return Page(list(schema), _as_rows(rows), total, query.offset)


def rows_at(file: Path, numbers: Sequence[int]) -> list[Row]:
    """Return rows of a parquet file by their numbers, in this order."""
    wanted = _scanned(file).with_row_index(_NUMBER).filter(pl.col(_NUMBER).is_in(list(numbers)))
    by_number = {row["row"]: row for row in _as_rows(wanted.collect(engine="streaming"))}
    return [by_number[number] for number in numbers]


def rows_of(file: Path) -> int:
    """Return how many rows a parquet file has."""
    return int(pl.scan_parquet(file).select(pl.len()).collect().item())


def columns_of(file: Path) -> list[str]:
    """Return the columns of a parquet file, none of a damaged one, read once as long as it is the same."""
    return _columns_of(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=256)
def _columns_of(file: Path, modified: int) -> list[str]:
    del modified  # a part of the key
    try:
        return list(pl.read_parquet_schema(file))
    except (OSError, pl.exceptions.PolarsError):
        return []


def _scanned(file: Path) -> pl.LazyFrame:
    """Return the rows of a file, texts as texts, and numbers that are none as missing."""
    return pl.scan_parquet(file).with_columns(
        pl.col(pl.Categorical, pl.Enum).cast(pl.String), cs.float().fill_nan(None)
    )


def _matching(file: Path, schema: Mapping[str, pl.DataType], query: Query) -> pl.LazyFrame | None:
    """Return the numbered rows that the filters of a query keep, None for all rows in the order of the file."""
    words = query.search.split()
    conditions = [_condition(schema, pl.col(one[0]), one) for one in query.where]
    conditions += [_has_word(schema, word) for word in words]
    frame = _scanned(file)
    for i, (other, one) in enumerate(query.beside):
        name = f"\0beside{i}"
        column = _scanned(other).select(pl.col(one[0]).alias(name))
        frame = pl.concat([frame, column], how="horizontal")
        conditions.append(_condition(pl.read_parquet_schema(other), pl.col(name), one))
    if query.numbers is not None:
        conditions.append(pl.col(_NUMBER).is_in(list(query.numbers)))
    if not conditions and not query.sort:
        return None
    return frame.with_row_index(_NUMBER).filter(*conditions)


def _ordered(frame: pl.LazyFrame, schema: Mapping[str, pl.DataType], query: Query) -> pl.LazyFrame:
    """Return the rows in the order of a query; rows without a value come last, equal ones as in the file."""
    if not query.sort or schema[query.sort].is_nested():
        return frame
    column = pl.col(query.sort)
    by = column.abs() if query.by_size and schema[query.sort].is_numeric() else column
    return frame.sort(by, _NUMBER, descending=[query.descending, False], nulls_last=True)


def _condition(schema: Mapping[str, pl.DataType], column: pl.Expr, condition: Condition) -> pl.Expr:
    """Return whether a row passes a filter; the value is read by the column's type."""
    name, comparison, text = condition
    if name not in schema:
        raise unknown_name("column", name, list(schema))
    if comparison not in _COMPARE:
        raise unknown_name("comparison", comparison, list(_COMPARE))
    compare = _COMPARE[comparison]
    if schema[name] == pl.Boolean:
        return column == (text.lower() in ("true", "1", "yes"))
    if schema[name].is_numeric():
        return compare(column, _number(name, text))
    return compare(column.cast(pl.String, strict=False), text)


def _has_word(schema: Mapping[str, pl.DataType], word: str) -> pl.Expr:
    """Return whether a text of a row has a word, in capitals or not."""
    texts = [name for name, kind in schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    if not texts:
        return pl.lit(False)
    pattern = f"(?i){re.escape(word)}"
    return pl.any_horizontal(pl.col(name).str.contains(pattern) for name in texts)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{name} is a number: compare it with one, not with {text!r}.") from None


def _as_rows(frame: pl.DataFrame) -> list[Row]:
    """Return rows as JSON can hold them, each with its number in the file."""
    return [
        {"row": row.pop(_NUMBER), **{name: _finite(value) for name, value in row.items()}}
        for row in frame.iter_rows(named=True)
    ]


def _finite(value: Value) -> Value:
    """Return a value, None where it is a number that JSON does not know."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
