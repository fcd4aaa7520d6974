"""Rows of a card's tables, a page at a time: they are filtered and sorted where they lie, and only rows travel."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.web.explore.filters import (
    FEW,
    REMEMBERED,
    Bits,
    Condition,
    bits_of,
    condition,
    first_rows,
    having,
    in_order,
    kept_by,
    part_of,
)
from cuecard.web.explore.stored import Table, is_prepared, stored_table

MOST_ROWS = 200
#: A parquet file, and the folder with the same table as pages read it fast, where there is one.
Source = tuple[Path, Path | None]


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
    beside: tuple[tuple[Source, Condition], ...] = ()  # filters by columns of other tables with the same rows

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
        numbers, total = _chosen(table, query, _name(file, prepared))
        rows = table.rows(numbers)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"The table {file.stem} cannot be read ({error}); audit the data again.") from None
    return Page(table.names, rows, total, query.offset)


def _name(file: Path, prepared: Path | None) -> str:
    """Return what tells the table that `stored_table` reads from others: prepared ones never change."""
    return str(prepared) if is_prepared(prepared) else f"{file} {file.stat().st_mtime_ns}"


def _chosen(table: Table, query: Query, name: str) -> tuple[Sequence[int], int]:
    """Return the numbers of the rows on a page, and how many rows there are in all."""
    if query.sort and query.sort not in table.names:
        raise unknown_name("column", query.sort, table.names)
    words = query.search.lower().split()
    if not query.sort and not words and not query.where and not query.beside and query.numbers is None:
        return range(table.height)[query.offset : query.offset + query.limit], table.height
    return REMEMBERED.working.submit(_matching, table, query, words, name).result()


def _matching(table: Table, query: Query, words: Sequence[str], name: str) -> tuple[list[int], int]:
    """Return the numbers of the rows on a page that filters keep, and how many they keep in all."""
    here, sorting = slice(query.offset, query.offset + query.limit), None
    if query.sort:
        sorting = table.order(query.sort, descending=query.descending, by_size=query.by_size)
    bits = list(_filters(table, query, words, name))
    if not bits and query.numbers is not None and sorting is None:
        return sorted(query.numbers)[here], len(query.numbers)
    if not bits and query.numbers is None and sorting is not None:
        return part_of(sorting, here.start, here.stop).tolist(), table.height
    chosen = np.asarray(query.numbers or (), dtype=np.int64)
    if query.numbers is not None:
        mask = np.zeros(table.height, dtype=np.bool_)
        mask[chosen] = True
        bits.append(bits_of(mask))
    mask = kept_by(bits, table.height)
    total = int(np.count_nonzero(mask))
    if total > FEW:
        return first_rows(in_order(sorting, mask), here.stop)[here].tolist(), total
    # The numbers of rows are thousands: their hash stands for them.
    only = hashlib.sha256(chosen.tobytes()).digest() if query.numbers is not None else None
    beside = tuple((_name(*source), one) for source, one in query.beside)
    key = (name, tuple(words), query.where, beside, only)
    direction = (query.sort, query.descending, query.by_size) if query.sort else ()
    rows = REMEMBERED.of((key, direction), lambda: first_rows(in_order(sorting, mask), total))
    return rows[here].tolist(), total


def _filters(table: Table, query: Query, words: Sequence[str], name: str) -> Iterator[Bits]:
    """Give what each filter of a query keeps."""
    for one in query.where:
        yield REMEMBERED.of((name, one), partial(_kept_by_condition, table, one))
    for (file, prepared), one in query.beside:
        other = stored_table(file, prepared)
        key = (_name(file, prepared), one)
        yield REMEMBERED.of(key, partial(_kept_by_condition, other, one))
    for word in words:
        yield REMEMBERED.of((name, word), partial(_kept_by_word, table, word))


def _kept_by_condition(table: Table, one: Condition) -> Bits:
    return bits_of(condition(table, *one))


def _kept_by_word(table: Table, word: str) -> Bits:
    return bits_of(having(table, word))
