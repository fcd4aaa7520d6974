"""Rows with weights, written as they came: to one file, or to a folder of parquet files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.instances import Instances
from cuecard.data.loading import LoadedRows
from cuecard.data.reading.formats import WRITTEN, Format, format_of
from cuecard.data.space import Space
from cuecard.errors import InputError, UsageError
from cuecard.limits import check_file, check_folder
from cuecard.writing import Staged, staged_file


def check_writable(path: Path, inputs: Iterable[object] = (), *, or_folder: bool = False) -> Format:
    """Return the format that a file of rows is written in, or raise if it cannot be written there.

    `or_folder` says that a name without an extension is that of a folder.
    """
    named = format_of(path)
    if named is None or named[0] not in WRITTEN or named[1] != "none":
        others = ", or a name without an extension for a folder of parquet files" if or_folder else ""
        raise UsageError(
            f"{path} has no extension that can be written: use .parquet, .csv, .tsv or .jsonl{others}."
        )
    folder = path.absolute().parent
    if not folder.is_dir():
        raise InputError(f"The folder {folder} does not exist: create it, or choose another --out.")
    check_file(path, inputs=inputs)
    return named[0]


def check_not_read(path: Path, data: Instances) -> None:
    """Raise if a file to be written is one that the data was read from."""
    if path.exists() and path.resolve() in {Path(file).resolve() for file in data.report.files}:
        raise UsageError(f"{path} is an input file: choose another --out.")


def staged_rows(rows: pl.DataFrame, path: Path, kind: Format) -> AbstractContextManager[Staged]:
    """Have rows written beside their place; the file takes it after the body, unless that raises."""
    check_storable(rows.schema, path, kind)
    return staged_file(path, row_writer(rows, kind))


def check_storable(schema: pl.Schema, path: Path, kind: Format) -> None:
    """Raise if a format cannot store a column."""
    nested = [name for name, dtype in schema.items() if dtype.is_nested()]
    if nested and kind in ("csv", "tsv"):
        raise UsageError(
            f"Column {nested[0]!r} holds lists, which {path.name} cannot store: write a .parquet or .jsonl file."
        )


def row_writer(rows: pl.DataFrame, kind: Format) -> Callable[[Path], None]:
    """Return what writes rows to a path in a format."""

    def write(staged: Path) -> None:
        if kind == "parquet":
            rows.write_parquet(staged)
        elif kind == "jsonl":
            rows.write_ndjson(staged)
        else:
            rows.write_csv(staged, separator="\t" if kind == "tsv" else ",")

    return write


def write_rows(rows: pl.DataFrame, path: Path, kind: Format) -> None:
    """Write rows to a file, whole or not at all."""
    with staged_rows(rows, path, kind):
        pass


#: Rows of a file in a folder.
FILE_ROWS = 1_000_000


@dataclass(frozen=True)
class RowsTarget:
    """Where rows are written: a file of some format, or a folder of parquet files."""

    path: Path
    kind: Format = "parquet"
    folder: bool = False

    @classmethod
    def checked(cls, path: Path, inputs: Iterable[object] = ()) -> RowsTarget:
        """Return the target that a path names, or raise if rows cannot be written there; no data is read for that.

        A name without an extension is that of a folder, which must be new or empty.
        """
        if path.suffix:
            return cls(path, check_writable(path, inputs, or_folder=True))
        parent = path.absolute().parent
        if not parent.is_dir():
            raise InputError(f"The folder {parent} does not exist: create it, or choose another --out.")
        check_folder(path, inputs=inputs)
        if path.is_dir() and any(path.iterdir()):
            raise UsageError(f"The folder {path} is not empty: choose another --out, or delete it first.")
        return cls(path, folder=True)

    def staged(
        self, frames: Callable[[], Iterable[pl.DataFrame]], schema: pl.Schema
    ) -> AbstractContextManager[Staged]:
        """Have frames of that schema written beside their place; they take it after the body, unless that raises."""
        check_storable(schema, self.path, self.kind)

        def write(staged: Path) -> None:
            if self.folder:
                _write_folder(staged, frames(), schema)
            else:
                _write_file(staged, self.kind, frames(), schema)

        return staged_file(self.path, write)


def rows_with_weights(
    loaded: LoadedRows, weights: npt.NDArray[np.float64], *, column: str = "weight"
) -> pl.DataFrame:
    """Return the training rows of the source, unchanged and in their order, with a column of weights.

    `weights` are those of the training examples; a row of several pairs has their mean. A row without an example,
    because it has no label or was skipped, has weight 0: a weighted loss ignores it and a weighted sampler never
    draws it.
    """
    check_new_column(loaded.rows.columns, column)
    first = np.flatnonzero(np.diff(loaded.data.train.example_codes, prepend=-1))
    rows = loaded.numbers[first]
    n_examples = np.bincount(rows, minlength=loaded.rows.height)
    of_rows = np.bincount(rows, weights, minlength=loaded.rows.height) / np.maximum(n_examples, 1)
    return loaded.rows.with_columns(pl.Series(column, of_rows))


def check_new_column(columns: Collection[str], column: str) -> None:
    """Raise if the rows have a column of that name already."""
    if column in columns:
        raise InputError(
            f"The rows already have a column {column!r}: choose another name with --weight-column."
        )


def chunks_of_rows(rows: pl.DataFrame, space: Space) -> Iterator[pl.DataFrame]:
    """Yield the rows chunk by chunk, in their order."""
    for some in space.ranges(rows.height):
        yield rows[some]


def _write_folder(folder: Path, frames: Iterable[pl.DataFrame], schema: pl.Schema) -> None:
    folder.mkdir()
    for number, parts in groupby(_numbered(frames), lambda item: item[0]):
        _write_file(folder / f"part-{number:05d}.parquet", "parquet", (part for _, part in parts), schema)


def _numbered(frames: Iterable[pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Yield frames with the number of their file, cut where it is full."""
    written = 0
    for frame in frames:
        start = 0
        while start < frame.height:
            part = frame.slice(start, FILE_ROWS - written % FILE_ROWS)
            yield written // FILE_ROWS, part
            start += part.height
            written += part.height


def _write_file(path: Path, kind: Format, frames: Iterable[pl.DataFrame], schema: pl.Schema) -> None:
    with _appended(path, kind, schema) as append:
        for frame in frames:
            append(frame)


@contextmanager
def _appended(path: Path, kind: Format, schema: pl.Schema) -> Iterator[Callable[[pl.DataFrame], object]]:
    """Yield what appends rows to a new file."""
    empty = pl.DataFrame(schema=schema)
    if kind == "parquet":
        import pyarrow.parquet as pq

        oldest = pl.CompatLevel.oldest()
        columns = empty.to_arrow(compat_level=oldest).schema
        with path.open("wb") as opened, pq.ParquetWriter(opened, columns, compression="zstd") as file:
            yield lambda frame: file.write_table(frame.to_arrow(compat_level=oldest).cast(columns))
        return
    with path.open("wb") as opened:
        separator = "\t" if kind == "tsv" else ","
        if kind == "jsonl":
            yield lambda frame: frame.write_ndjson(opened)
            return
        empty.write_csv(opened, separator=separator)
        yield lambda frame: frame.write_csv(opened, separator=separator, include_header=False)
