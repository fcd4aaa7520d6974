"""Rows that are written to one file, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import polars as pl

from cuecard.data.instances import Instances
from cuecard.data.reading.formats import WRITTEN, Format, format_of
from cuecard.errors import InputError, UsageError
from cuecard.targets import check_file
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
