"""Weights of instances: read from a column of the user's, written beside the rows they came from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.files.formats import WRITTEN, Format, format_of
from cuecard.data.instances import Instances
from cuecard.data.loading import LoadedRows
from cuecard.errors import InputError, UsageError
from cuecard.registry import unknown_name
from cuecard.stats.weighted import effective_sample_size
from cuecard.writing import Staged, check_file, staged_file


def instance_weights(data: Instances, column: str) -> npt.NDArray[np.float64]:
    """Return every instance's weight from an extra column, scaled to a mean of one in every split.

    Instances of splits other than train that have no weight count as one.
    """
    if column not in data.table.columns:
        raise unknown_name("column of weights", column, data.table.columns)
    values = data.table[column]
    if not values.dtype.is_numeric():
        raise InputError(f"Column {column!r} holds {values.dtype}, not weights: name a column of numbers.")
    in_train = data.table["split"].cast(pl.String) == "train"
    filled = pl.select(pl.when(in_train).then(values).otherwise(values.fill_null(1.0))).to_series()
    weights = filled.cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"Column {column!r} holds {values[row]!r} for the example {data.table['example_id'][row]!r}: a weight "
            "is a number that is not negative."
        )
    weighted = values.is_not_null().to_numpy()
    for name in data.splits:
        rows = (data.table["split"].cast(pl.String) == name).to_numpy() & weighted
        largest = weights[rows].max(initial=0.0)
        if (
            not 1e-150 <= largest <= 1e150 and largest > 0
        ):  # their sum would be too large or too small a number
            weights[rows] /= largest
        total = weights[rows].sum()
        if rows.any() and not total > 0:
            raise InputError(
                f"Column {column!r} has no weight above 0 in the {name} split: name another column."
            )
        weights[rows] *= rows.sum() / max(total, 1e-300)
    return weights


def unequal_weights(data: Instances, column: str | None) -> npt.NDArray[np.float64] | None:
    """Return every instance's weight, or None if no column is named or all weights of a split are equal.

    Equal weights change nothing, so an audit under them is the audit without them, to the last digit.
    """
    if column is None:
        return None
    weights = instance_weights(data, column)
    split = data.table["split"].cast(pl.String)
    parts = (weights[(split == name).to_numpy()] for name in data.splits)
    return None if all((part == part[0]).all() for part in parts) else weights


def weight_total(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return the sum of a column of weights or counts; the same to the last digit, however many threads add it up.

    Weights are added as whole multiples of 2⁻³², because sums of floating-point numbers depend on their order.
    """
    if not dtype.is_float():
        return pl.col(column).sum()
    return (pl.col(column) * 2**32).round().cast(pl.Int64).sum() / 2**32


def weights_note(data: Instances, column: str | None) -> str | None:
    """Return the sentence that says which weights an audit uses, or that it does not use a column `weight`."""
    if column is None:
        present = data.table.schema.get("weight")
        if present is None or not present.is_numeric():
            return None
        return "All examples have equal weight: the column 'weight' is not used. To use it, type --weights weight."
    weights = unequal_weights(data, column)
    if weights is None:
        return f"The weights in column {column!r} are all equal, so they change nothing."
    train = np.flatnonzero((data.table["split"].cast(pl.String) == "train").to_numpy())
    first = train[np.flatnonzero(np.diff(data.example_codes[train], prepend=-1))]
    share = effective_sample_size(weights[first]) / len(first)
    return (
        f"Examples are weighted by the column {column!r}: effective sample size {100 * share:.1f} % of {len(first):,} "
        "training examples."
    )


def rows_with_weights(
    loaded: LoadedRows, weights: npt.NDArray[np.float64], *, column: str = "weight"
) -> pl.DataFrame:
    """Return the training rows of the source, unchanged and in their order, with a column of weights.

    `weights` are those of the training examples. A row without an example, because it has no label or was skipped, has
    weight 0: a weighted loss ignores it and a weighted sampler never draws it.
    """
    check_new_column(loaded.rows.columns, column)
    first = np.flatnonzero(np.diff(loaded.data.train.example_codes, prepend=-1))
    of_rows = np.zeros(loaded.rows.height)
    of_rows[loaded.numbers[first]] = weights
    return loaded.rows.with_columns(pl.Series(column, of_rows))


def check_new_column(columns: Collection[str], column: str) -> None:
    """Raise if the rows have a column of that name already."""
    if column in columns:
        raise InputError(
            f"The rows already have a column {column!r}: choose another name with --weight-column."
        )


def check_writable(path: Path, inputs: Iterable[object] = ()) -> Format:
    """Return the format that a file of rows is written in, or raise if it cannot be written there."""
    named = format_of(path)
    if named is None or named[0] not in WRITTEN or named[1] != "none":
        raise UsageError(f"{path} has no extension that can be written: use .parquet, .csv, .tsv or .jsonl.")
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
