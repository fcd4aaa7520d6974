"""Rows of a card's tables, a page at a time, and its prepared files; polars filters and sorts, only rows travel."""

from __future__ import annotations

import math
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
from polars import selectors as cs

from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.web.state import OWN_FOLDER

PAGE, CHARTS = "page.json", "charts"
CUE_ROWS, EXAMPLES = "cue_rows.parquet", "examples.parquet"
#: Changes when pages need other files than before.
LAYOUT = 7
TEXTS, _TOTAL, _SENTENCES = "texts.arrow", "texts.txt", "sentences.parquet"
#: Examples with a cue or a text that pages list, filter and sort; a text can be in millions.
MOST_EXAMPLES = 5_000


def prepared_folder(root: Path, key: str) -> Path:
    """Return where the pages of a card are kept, by the hash of its content."""
    return root / OWN_FOLDER / "prepared" / f"{LAYOUT}-{key}"


def stored_table(folder: Path, name: str) -> Path:
    """Return where the rows of a large table are stored by position, below the folder of a card's pages."""
    return folder / "tables" / f"{name}.arrow"


def spread(rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return at most `MOST_EXAMPLES` of the rows, evenly over the dataset."""
    if len(rows) <= MOST_EXAMPLES:
        return rows
    return rows[np.linspace(0, len(rows) - 1, MOST_EXAMPLES).astype(np.int64)]


def write_texts(texts: pl.DataFrame, folder: Path) -> None:
    """Write one row per example (id, split, label, premise, texts), and which examples hold the same sentence."""
    write_rows(texts, folder / TEXTS)
    (folder / _TOTAL).write_text(str(texts.height))
    numbered = texts.select("premise", "texts").with_row_index("example")
    premises = numbered.select("example", text="premise")
    others = numbered.select("example", text="texts").explode("text")
    long = pl.concat([premises, others]).filter(pl.col("text").str.len_bytes() > 0)
    sentences = long.select("example", sentence=pl.col("text").rank("dense").cast(pl.UInt32)).unique()
    sentences.sort("sentence", "example").write_parquet(folder / _SENTENCES)


@dataclass(frozen=True)
class ExampleTexts:
    """The texts of an example: its premise, and its hypothesis or all of its choices."""

    example_id: str
    premise: str | None
    texts: Sequence[str | None]


class Texts:
    """The texts of a card by the number of the example; the file stays on disk."""

    def __init__(self, file: Path) -> None:
        self._rows = stored_rows(file)
        self._sentences = pl.scan_parquet(file.parent / _SENTENCES)
        self.total = int((file.parent / _TOTAL).read_text(encoding="utf-8"))

    def sharing(self, number: int) -> tuple[list[int], int]:
        """Return examples that hold one of the sentences of an example, and how many do: a text can be in millions.

        These are its neighbours in the pair graph, itself among them; at most as many as a page can filter.
        """
        self._check(number)
        of_example = self._sentences.filter(pl.col("example") == number).select("sentence")
        sharing = self._sentences.join(of_example, on="sentence", how="semi").select("example").unique()
        found = sharing.collect(engine="streaming")["example"].to_numpy()
        rows = np.union1d(found.astype(np.int64), [number])
        listed = spread(rows)
        if listed.size < rows.size:
            listed = np.union1d(listed[listed != number][: len(listed) - 1], [number])
        return listed.tolist(), int(rows.size)

    def at(self, numbers: Sequence[int]) -> list[ExampleTexts]:
        """Return the texts of some examples."""
        for number in numbers:
            self._check(number)
        rows = map(self._rows.at, numbers)
        return [ExampleTexts(row["example_id"], row["premise"], row["texts"]) for row in rows]

    def _check(self, number: int) -> None:
        if not 0 <= number < self.total:
            raise UsageError(f"There is no example in row {number}; the last is in row {self.total - 1}.")


@lru_cache(maxsize=32)
def texts_of(file: Path) -> Texts:
    """Return the texts in a file, opened once."""
    return Texts(file)


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


def table_page(file: Path, query: Query, stored: Path | None = None) -> Page:
    """Return a page of a parquet file; a row's number in the file is its `row`.

    `stored` is the file in which `write_rows` has written the same rows, where there is one.
    """
    try:
        schema = pl.read_parquet_schema(file)
        if query.sort and query.sort not in schema:
            raise unknown_name("column", query.sort, list(schema))
        numbers, total = _chosen(file, schema, query)
        rows = rows_at(file, numbers, stored)
    except (OSError, pl.exceptions.PolarsError, pa.ArrowException) as error:
        raise InputError(f"The table {file.stem} cannot be read ({error}); audit the data again.") from None
    return Page(list(schema), rows, total, query.offset)


def _chosen(file: Path, schema: Mapping[str, pl.DataType], query: Query) -> tuple[Sequence[int], int]:
    """Return the numbers of the rows on a page, and how many rows there are in all; other columns are not read."""
    frame = _matching(file, schema, query)
    if frame is None:
        total = rows_of(file)
        return range(total)[query.offset : query.offset + query.limit], total
    page = _ordered(frame, schema, query).slice(query.offset, query.limit).select(_NUMBER)
    numbers, counted = pl.collect_all([page, frame.select(pl.len())], engine="streaming")
    return numbers.to_series().to_list(), int(counted.item())


def rows_at(file: Path, numbers: Sequence[int], stored: Path | None = None) -> list[Row]:
    """Return rows of a parquet file by their numbers, in this order; quickly where they are stored by position."""
    if stored is not None and stored.is_file():
        rows = stored_rows(stored)
        return [{"row": number, **rows.at(number)} for number in numbers]
    frame = _scanned(file)
    if isinstance(numbers, range):
        found = frame.slice(numbers.start, len(numbers)).with_row_index(_NUMBER, numbers.start).collect()
    else:
        found = (
            frame.with_row_index(_NUMBER)
            .filter(pl.col(_NUMBER).is_in(list(numbers)))
            .collect(engine="streaming")
        )
    by_number = {row[_NUMBER]: row for row in found.iter_rows(named=True)}
    return [{"row": number, **_finite(by_number[number])} for number in numbers]


#: Rows that are read to show one that is stored by position.
_BATCH = 256


def write_rows(frame: pl.DataFrame, file: Path) -> None:
    """Write rows so that `stored_rows` reads any of them by its number, without reading the others."""
    texts = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    table = texts.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    with pa.ipc.new_file(str(file), table.schema) as writer:
        writer.write_table(table, max_chunksize=_BATCH)


class StoredRows:
    """Rows that `write_rows` wrote; a few of them are read at a time, and not kept."""

    def __init__(self, file: Path) -> None:
        self._reader = pa.ipc.open_file(pa.OSFile(str(file), "rb"))
        self._lock = threading.Lock()

    def at(self, number: int) -> dict[str, Any]:
        """Return one row."""
        part, place = divmod(number, _BATCH)
        with self._lock:
            batch = self._reader.get_batch(part)
        return _finite(batch.slice(place, 1).to_pylist()[0])


@lru_cache(maxsize=64)
def stored_rows(file: Path) -> StoredRows:
    """Return the rows that are stored in a file, opened once."""
    return StoredRows(file)


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


def _finite(row: Row) -> Row:
    """Return a row in which numbers that JSON does not know are missing."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
        if name != _NUMBER
    }
