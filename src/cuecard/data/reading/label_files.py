"""Labels in a file of their own, one per row of the data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl

from cuecard.data.reading.files import read_file
from cuecard.data.reading.formats import format_of, shown, typed_path
from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError

#: What the column of labels is called that comes from another file.
COLUMN = "label"
#: How files of labels are named beside their data: valid.jsonl and valid-labels.lst.
_ENDINGS = (".lst", ".txt", ".labels", ".label", "")


def with_labels(raw: RawTable, source: str | Path) -> RawTable:
    """Return the table with a column `label`, whose values are the lines of a file, one per row of the data.

    A file of lines may have any extension; a .csv, .tsv, .jsonl, .json or .parquet file must have one column.
    """
    path = typed_path(source)
    labels = label_lines(path)
    where = shown(path)
    if len(labels) != raw.n_read:
        raise InputError(
            f"{where} has {len(labels):,} labels, but {raw.where} has {raw.n_read:,} rows: give one label per row, in "
            "the same order."
        )
    if COLUMN in raw.frame.columns:
        raise InputError(
            f"{raw.where} already has a column {COLUMN!r}: leave --label-file out, or name the column with "
            "--columns label=…"
        )
    values = labels.gather(raw.numbers_throughout - 1)
    return replace(raw, frame=raw.frame.with_columns(values.alias(COLUMN)), files=(*raw.files,))


def label_lines(path: Path) -> pl.Series:
    """Return the labels that a file has, one per line, or in its only column."""
    named = format_of(path)
    if path.is_dir() or not path.exists():
        raise InputError(f"The label file {shown(path)} does not exist: check the path.")
    if named is not None and named[0] != "txt":
        frame = read_file(path).frame
        if frame.width != 1:
            raise InputError(
                f"{shown(path)} has {frame.width} columns: a label file needs one column, or one label per line."
            )
        return frame.to_series()
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise InputError(
            f"{shown(path)} is not a label file: save it as UTF-8 text with one label per line."
        ) from None
    lines = [line.strip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return pl.Series([line or None for line in lines], dtype=pl.String)


def labels_beside(raw: RawTable) -> str | None:
    """Return the file beside the data that looks like its labels: named after it, with one line per row."""
    if len(raw.files) != 1:
        return None
    data = Path(raw.files[0])
    stem = data.name.split(".")[0]
    names = [f"{stem}{joint}{word}" for word in ("labels", "label") for joint in ("-", "_", ".")]
    for name in [*names, "labels"]:
        for ending in _ENDINGS:
            path = data.with_name(name + ending)
            try:
                if path.is_file() and path != data and len(label_lines(path)) == raw.n_read:
                    return shown(path)
            except (InputError, OSError):
                continue
    return None
