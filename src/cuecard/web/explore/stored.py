"""A table as pages read it: it stays on disk, and a page costs its rows, whatever the table's size.

A large table is written once as an Arrow file, which is mapped and not loaded, with its order by every column.
"""

from __future__ import annotations

import json
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Rows = npt.NDArray[np.uint32]

ROWS_FILE, META_FILE, SEARCHED = "rows.arrow", "orders.json", "__searched"
#: Rows of a part of the file: the least that is looked at.
BATCH = 65_536
#: Tables with more rows are written this way; smaller ones are read as they are.
LARGE = 20_000


def write_table(frame: pl.DataFrame, folder: Path) -> None:
    """Write a table as pages read it."""
    folder.mkdir(parents=True)
    frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
    frame = frame.with_columns(column.shrink_dtype() for column in frame if column.dtype.is_integer())
    searched = frame.with_columns(_searched(frame.schema).alias(SEARCHED))
    searched.write_ipc(
        folder / ROWS_FILE,
        compression="uncompressed",
        record_batch_size=BATCH,
        compat_level=pl.CompatLevel.oldest(),
    )
    orders: dict[str, Any] = {}
    for i, (name, kind) in enumerate(frame.schema.items()):
        if kind.is_nested() or frame.height <= LARGE:
            continue
        column = frame[name].fill_nan(None) if kind.is_float() else frame[name]
        signed = kind.is_numeric() and bool((column.min() or 0) < 0)  # type: ignore[operator]
        for by_size in (False, True)[: 1 + signed]:
            values = column.abs() if by_size else column
            order = values.arg_sort(nulls_last=True).cast(pl.UInt32).to_numpy()
            np.save(folder / f"{i}{'.abs' * by_size}.npy", order)
        about: dict[str, Any] = {"file": i, "present": len(column) - column.null_count(), "signed": signed}
        if kind == pl.String and (few := _few_values(column)) is not None:
            codes = column.cast(pl.Enum(few)).to_physical().fill_null(len(few)).to_numpy()
            np.save(folder / f"{i}.codes.npy", codes.astype(np.uint8))
            about["values"] = few
        orders[name] = about
    (folder / META_FILE).write_text(json.dumps(orders), encoding="utf-8")


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


class StoredTable:
    """Columns, rows by number, and their order; `folder` is where `write_table` wrote it, None for a small one."""

    def __init__(self, table: pa.Table, folder: Path | None = None) -> None:
        self.table, self.folder = table, folder
        meta = (folder / META_FILE) if folder is not None else None
        self._orders: dict[str, Any] = json.loads(meta.read_text()) if meta is not None else {}
        self._batches: list[Any] = table.to_batches()
        self._ends = list(np.cumsum([batch.num_rows for batch in self._batches]))

    @property
    def names(self) -> list[str]:
        """The columns that users see."""
        return [name for name in self.table.column_names if name != SEARCHED]

    @property
    def height(self) -> int:
        """Number of rows."""
        return int(self.table.num_rows)

    @cached_property
    def searched(self) -> Any:
        """The texts of every row in lower case."""
        if SEARCHED in self.table.column_names:
            return self.table[SEARCHED]
        frame = pl.DataFrame(pl.from_arrow(self.table))
        frame = frame.with_columns(pl.col(pl.Categorical, pl.Enum).cast(pl.String))
        return frame.select(_searched(frame.schema).alias("text"))["text"].to_arrow()

    def equal(self, name: str, value: str) -> npt.NDArray[np.bool_] | None:
        """Return which rows have a value, by its number; None where the column's values are not numbered."""
        about = self._orders.get(name, {})
        if "values" not in about or self.folder is None:
            return None
        codes = np.load(self.folder / f"{about['file']}.codes.npy", mmap_mode="r")
        code = about["values"].index(value) if value in about["values"] else 255
        same: npt.NDArray[np.bool_] = codes == code
        return same

    def order(self, name: str, *, descending: bool, by_size: bool) -> Rows:
        """Return the numbers of the rows by a column; rows without a value come last."""
        if name in self._orders and self.folder is not None:
            about = self._orders[name]
            ending = ".abs" if by_size and about["signed"] else ""
            order: Rows = np.load(self.folder / f"{about['file']}{ending}.npy", mmap_mode="r")
            present = about["present"]
        else:
            column = pl.Series(self.table[name])
            column = column.fill_nan(None) if column.dtype.is_float() else column
            column = column.cast(pl.String) if column.dtype in (pl.Categorical, pl.Enum) else column
            values = column.abs() if by_size and column.dtype.is_numeric() else column
            order = values.arg_sort(nulls_last=True).cast(pl.UInt32).to_numpy()
            present = len(column) - column.null_count()
        if not descending:
            return order
        if present == len(order):
            return order[::-1]
        return np.concatenate([order[:present][::-1], order[present:]])

    def rows(self, numbers: Sequence[int]) -> list[dict[str, Any]]:
        """Return rows by number, in this order; only the parts of the file that hold them are read."""
        return [self._row(int(number)) for number in numbers]

    def _row(self, number: int) -> dict[str, Any]:
        i = bisect_right(self._ends, number)
        start = self._ends[i - 1] if i else 0
        row = self._batches[i].slice(number - start, 1).to_pylist()[0]
        row.pop(SEARCHED, None)
        plain = {n: None if isinstance(v, float) and v != v else v for n, v in row.items()}
        return {"row": number, **plain}


def stored_table(file: Path, prepared: Path | None = None) -> StoredTable:
    """Return a table of a card: mapped where it was prepared, otherwise read from its parquet file."""
    if prepared is not None and (prepared / META_FILE).is_file():
        return _mapped(prepared)
    return _read(file, file.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _mapped(folder: Path) -> StoredTable:
    return StoredTable(pa.ipc.open_file(pa.memory_map(str(folder / ROWS_FILE), "r")).read_all(), folder)


@lru_cache(maxsize=16)
def _read(file: Path, _: int) -> StoredTable:
    return StoredTable(pq.read_table(file))


class Choices:
    """Remembers which rows filters chose, so that the next page of the same ones costs nothing; bounded in bytes."""

    def __init__(self, most_bytes: int = 64 << 20, at_once: int = 2) -> None:
        self.most_bytes = most_bytes
        self.working = threading.Semaphore(
            at_once
        )  # what a filter needs for a moment is not needed by all at once
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, Rows] = OrderedDict()
        self._bytes = 0

    def get(self, key: Any) -> Rows | None:
        """Return the rows of a key, None where they are not remembered."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: Any, rows: Rows) -> None:
        """Remember the rows of a key, and forget the ones that were not used for longest."""
        with self._lock:
            if key in self._kept or rows.nbytes > self.most_bytes:
                return
            self._kept[key] = rows
            self._bytes += rows.nbytes
            while self._bytes > self.most_bytes:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes


def mask_of(condition: Any) -> npt.NDArray[np.bool_]:
    """Return the result of a comparison as an array; what is missing is false."""
    filled = pc.fill_null(condition, False)
    whole = filled.combine_chunks() if isinstance(filled, pa.ChunkedArray) else filled
    mask: npt.NDArray[np.bool_] = whole.to_numpy(zero_copy_only=False)
    return mask
