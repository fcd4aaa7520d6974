"""Rows of a card's tables, a page at a time: they are filtered and sorted where they lie, and only rows travel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.web.explore.stored import Choices, Rows, Table, mask_of, stored_table

MOST_ROWS = 200
_COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_CHOICES = Choices()
#: Rows that are looked at together.
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Query:
    """Which rows of a table to show, in which order."""

    search: str = ""
    where: tuple[tuple[str, str, str], ...] = ()  # column, comparison, value
    sort: str = ""
    descending: bool = True
    by_size: bool = False  # sort by the absolute value
    offset: int = 0
    limit: int = 50
    numbers: tuple[int, ...] | None = None  # only these rows

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


def table_page(file: Path, query: Query, prepared: Path | None = None) -> Page:
    """Return a page of a parquet file; a row's number in the file is its `row`.

    `prepared` is the folder with the same table as pages read it fast, where there is one.
    """
    try:
        table = stored_table(file, prepared)
        numbers, total = _chosen(table, query, str(prepared or file))
        rows = table.rows(numbers)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"The table {file.stem} cannot be read ({error}); audit the data again.") from None
    return Page(table.names, rows, total, query.offset)


def _chosen(table: Table, query: Query, name: str) -> tuple[Sequence[int], int]:
    """Return the numbers of the rows on a page, and how many rows there are in all."""
    if query.sort and query.sort not in table.names:
        raise unknown_name("column", query.sort, table.names)
    here = slice(query.offset, query.offset + query.limit)
    words = query.search.lower().split()
    if not words and not query.where and query.numbers is None:
        if not query.sort:
            return range(table.height)[here], table.height
        order = table.order(query.sort, descending=query.descending, by_size=query.by_size)
        return order[here].tolist(), table.height
    key = (
        name,
        table.height,
        tuple(words),
        query.where,
        query.sort,
        query.descending,
        query.by_size,
        query.numbers,
    )
    chosen = _CHOICES.get(key)
    if chosen is None:
        chosen = _CHOICES.working.submit(_matching, table, query, words).result()
        _CHOICES.put(key, chosen)
    return chosen[here].tolist(), len(chosen)


def _matching(table: Table, query: Query, words: Sequence[str]) -> Rows:
    mask = np.ones(table.height, dtype=bool)
    if query.numbers is not None:
        mask[:] = False
        mask[np.asarray(query.numbers, dtype=np.int64)] = True
    for name, comparison, text in query.where:
        mask &= condition(table, name, comparison, text)
    for word in words:
        mask &= mask_of(pc.match_substring(table.searched, word))
    if not query.sort:
        return _kept(np.arange(table.height, dtype=np.uint32), mask)
    return _kept(table.order(query.sort, descending=query.descending, by_size=query.by_size), mask)


def _kept(order: Rows, mask: Any) -> Rows:
    """Return the rows of an order that a mask keeps, block by block, so that no large array is made on the way."""
    blocks = (order[start : start + _BLOCK] for start in range(0, len(order), _BLOCK))
    return np.concatenate([np.empty(0, np.uint32), *(block[mask[block]] for block in blocks)])


def condition(table: Table, name: str, comparison: str, text: str) -> Any:
    """Return the rows that a filter keeps, as an array; the value is read by the column's type."""
    if name not in table.names:
        raise unknown_name("column", name, table.names)
    if comparison not in _COMPARE:
        raise unknown_name("comparison", comparison, list(_COMPARE))
    column = table.column(name)
    kind = column.type
    if pa.types.is_boolean(kind):
        return mask_of(pc.equal(column, text.lower() in ("true", "1", "yes")))
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        try:
            value = float(text)
        except ValueError:
            raise UsageError(f"{name} is a number: compare it with one, not with {text!r}.") from None
        return mask_of(_COMPARE[comparison](column, pa.scalar(value)))
    if comparison == "=" and (same := table.equal(name, text)) is not None:
        return same
    texts = column if pa.types.is_large_string(kind) else column.cast(pa.large_string())
    return mask_of(_COMPARE[comparison](texts, pa.scalar(text, pa.large_string())))
