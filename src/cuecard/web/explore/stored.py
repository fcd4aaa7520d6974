"""A table as pages read it: it stays on disk, and a page costs its rows, whatever the table's size.

A large table is written once: its rows in small parts that are read by position, every column apart in the form that a
filter needs, and the order of the rows by every column. What is read once for a page takes no memory after it.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

Rows = npt.NDArray[np.uint32]
Mask = npt.NDArray[np.bool_]

ROWS_FILE, META_FILE, SEARCHED = "rows.arrow", "columns.json", "searched"
#: Rows of a part of the file: what is read to show one.
BATCH = 256
#: Rows of a part of a column of texts.
COLUMN_BATCH = 65_536
#: Tables with more rows are written this way; smaller ones are read as they are.
LARGE = 20_000


def write_table(frame: pl.DataFrame, folder: Path) -> None:
    """Write a table as pages read it."""
    folder.mkdir(parents=True)
    frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    frame = frame.with_columns(column.shrink_dtype() for column in frame if column.dtype.is_integer())
    write_arrow(frame, folder / ROWS_FILE, BATCH)
    searched = frame.select(_searched(frame.schema).alias("text"))
    write_arrow(searched, folder / f"{SEARCHED}.arrow", COLUMN_BATCH)
    columns = {name: _write_column(frame[name], folder, i) for i, name in enumerate(frame.columns)}
    meta = {"height": frame.height, "columns": columns}
    (folder / META_FILE).write_text(json.dumps(meta), encoding="utf-8")


def write_arrow(frame: pl.DataFrame, file: Path, batch: int) -> None:
    """Write a frame in parts of equally many rows."""
    table = frame.rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    with pa.ipc.new_file(str(file), table.schema) as writer:
        writer.write_table(table, max_chunksize=batch)


def _write_column(column: pl.Series, folder: Path, i: int) -> dict[str, Any]:
    """Write what filters and orders need of a column, and return what is there."""
    kind = column.dtype
    about: dict[str, Any] = {"file": i, "signed": False, "kind": "none"}
    if kind.is_nested():
        return about
    column = column.fill_nan(None) if kind.is_float() else column
    about["present"] = len(column) - column.null_count()
    about["signed"] = kind.is_numeric() and bool((column < 0).any())
    for by_size in (False, True)[: 1 + about["signed"]]:
        values = column.abs() if by_size else column
        np.save(folder / f"{i}{'.abs' * by_size}.order.npy", values.arg_sort(nulls_last=True).to_numpy())
    if (kind.is_numeric() or kind == pl.Boolean) and not column.null_count():
        np.save(folder / f"{i}.values.npy", column.to_numpy())
        about["kind"] = "values"
    elif kind == pl.String and (few := _few_values(column)) is not None:
        codes = column.cast(pl.Enum(few)).to_physical().fill_null(len(few)).to_numpy()
        np.save(folder / f"{i}.codes.npy", codes.astype(np.uint8))
        about |= {"kind": "codes", "values": few}
    else:
        write_arrow(column.to_frame("value"), folder / f"{i}.arrow", COLUMN_BATCH)
        about["kind"] = "arrow"
    return about


def _few_values(column: pl.Series) -> list[str] | None:
    """Return the values of a column such as the label, None where there are many: those are numbered in a byte."""
    values = column.drop_nulls().unique().sort()
    return values.to_list() if len(values) < 255 else None


def _searched(schema: pl.Schema) -> pl.Expr:
    """Return what a search looks at: the texts of a row, in lower case."""
    names = [name for name, kind in schema.items() if kind == pl.String]
    if not names:
        return pl.lit("")
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator=" ").str.to_lowercase()


class SmallTable:
    """A table that is small enough to be read whole."""

    def __init__(self, table: pa.Table) -> None:
        frame = pl.DataFrame(pl.from_arrow(table)).with_columns(
            pl.col(pl.Categorical, pl.Enum).cast(pl.String)
        )
        self._frame = frame.with_columns(pl.col(pl.Float32, pl.Float64).fill_nan(None))
        self.names, self.height = frame.columns, frame.height

    @cached_property
    def searched(self) -> Any:
        """The texts of every row in lower case."""
        return self._frame.select(_searched(self._frame.schema).alias("text"))["text"].to_arrow()

    def column(self, name: str) -> Any:
        """Return a column as Arrow has it."""
        return self._frame[name].to_arrow(compat_level=pl.CompatLevel.oldest())

    def values(self, name: str) -> npt.NDArray[Any] | None:
        """Return nothing: it is held as Arrow has it."""
        return None

    def equal(self, name: str, value: str) -> Mask | None:
        """Return nothing: its values are not numbered."""
        return None

    def order(self, name: str, *, descending: bool, by_size: bool) -> list[Rows]:
        """Return the numbers of the rows by a column, in runs; rows without a value come last."""
        column = self._frame[name]
        values = column.abs() if by_size and column.dtype.is_numeric() else column
        return _turned(
            values.arg_sort(nulls_last=True).to_numpy(), self.height - column.null_count(), descending
        )

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return rows by number, in this order."""
        chosen = self._frame[list(numbers)].to_dicts() if numbers else []
        return [{"row": int(number), **_of_json(row)} for number, row in zip(numbers, chosen, strict=True)]


class StoredTable:
    """A table that `write_table` wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        meta = json.loads((folder / META_FILE).read_text(encoding="utf-8"))
        self._columns: dict[str, Any] = meta["columns"]
        self.names, self.height = list(self._columns), int(meta["height"])
        self._rows = Parts(folder / ROWS_FILE, BATCH)

    @property
    def searched(self) -> Any:
        """The texts of every row in lower case."""
        return _mapped_column(self.folder / f"{SEARCHED}.arrow")

    def column(self, name: str) -> Any:
        """Return a column as Arrow has it."""
        about = self._columns[name]
        if (numbers := self.values(name)) is not None:
            return pa.array(numbers)
        if about["kind"] == "codes":
            codes = np.load(self.folder / f"{about['file']}.codes.npy", mmap_mode="r")
            values = pa.array([*about["values"], None], pa.large_string())
            return values.take(pa.array(codes))
        return _mapped_column(self.folder / f"{about['file']}.arrow")

    def values(self, name: str) -> npt.NDArray[Any] | None:
        """Return the numbers of a column where none is missing, as they lie on disk."""
        about = self._columns[name]
        return (
            np.load(self.folder / f"{about['file']}.values.npy", mmap_mode="r")
            if about["kind"] == "values"
            else None
        )

    def equal(self, name: str, value: str) -> Mask | None:
        """Return which rows have a value, by its number; None where the column's values are not numbered."""
        about = self._columns[name]
        if about["kind"] != "codes":
            return None
        codes = np.load(self.folder / f"{about['file']}.codes.npy", mmap_mode="r")
        code = about["values"].index(value) if value in about["values"] else 255
        return np.asarray(codes == code)

    def order(self, name: str, *, descending: bool, by_size: bool) -> list[Rows]:
        """Return the numbers of the rows by a column, in runs; rows without a value come last."""
        about = self._columns[name]
        if about["kind"] == "none":
            return [np.arange(self.height, dtype=np.uint32)]
        ending = ".abs" if by_size and about["signed"] else ""
        order = np.load(self.folder / f"{about['file']}{ending}.order.npy", mmap_mode="r")
        return _turned(order, about["present"], descending)

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return rows by number, in this order; only the parts of the file that hold them are read."""
        return [{"row": int(number), **self._rows.at(int(number))} for number in numbers]


Table = SmallTable | StoredTable


class Parts:
    """Rows of an Arrow file by number; a part of it is read, and forgotten."""

    def __init__(self, file: Path, batch: int) -> None:
        self._reader = pa.ipc.open_file(pa.OSFile(str(file), "rb"))
        self._batch, self._lock = batch, threading.Lock()

    def at(self, number: int) -> dict[str, Any]:
        """Return one row."""
        part, place = divmod(number, self._batch)
        with self._lock:
            batch = self._reader.get_batch(part)
        return _of_json(batch.slice(place, 1).to_pylist()[0])


def _of_json(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row in which numbers that JSON does not know are missing."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in row.items()
    }


def _turned(order: Rows, present: int, descending: bool) -> list[Rows]:
    """Return an order, up or down, in runs that copy nothing; the rows without a value stay last."""
    return [order[:present][::-1], order[present:]] if descending else [order]


def _mapped_column(file: Path) -> Any:
    return pa.ipc.open_file(pa.memory_map(str(file), "r")).read_all().column(0)


def stored_table(file: Path, prepared: Path | None = None) -> Table:
    """Return a table of a card: as it was prepared, or where it was not, read from its parquet file."""
    if prepared is not None and is_prepared(prepared):
        return _opened(prepared)
    return _read(file, file.stat().st_mtime_ns)


def rows_of(file: Path) -> int:
    """Return how many rows a parquet file has, from its footer; 0 where it cannot be read."""
    try:
        return int(pq.read_metadata(file).num_rows)
    except (OSError, pa.ArrowException):
        return 0


def is_prepared(folder: Path | None) -> bool:
    """Return whether a folder holds a table as pages read it; small tables are not written so."""
    return folder is not None and (folder / META_FILE).is_file()


@lru_cache(maxsize=64)
def _opened(folder: Path) -> StoredTable:
    return StoredTable(folder)


@lru_cache(maxsize=16)
def _read(file: Path, _: int) -> SmallTable:
    return SmallTable(pq.read_table(file))
