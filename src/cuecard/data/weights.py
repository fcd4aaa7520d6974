"""Weights of instances, read from a column of the user's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.ingest import ReadOptions
from cuecard.data.instances import Instances
from cuecard.data.loading import DatasetSpec
from cuecard.errors import InputError
from cuecard.registry import unknown_name
from cuecard.stats.weighted import effective_sample_size


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
    """Return every instance's weight, or None if there are none or all weights of a split are equal.

    They are those of the column that is named, times those that the data has of its own. Equal weights change
    nothing, so an audit under them is the audit without them, to the last digit.
    """
    columns = [name for name in (column, data.weight) if name is not None]
    if not columns:
        return None
    weights = np.prod([instance_weights(data, name) for name in columns], axis=0)
    split = data.table["split"].cast(pl.String)
    parts = [np.flatnonzero((split == name).to_numpy()) for name in data.splits]
    if len(columns) > 1:
        for rows in parts:
            weights[rows] /= weights[rows].mean()
    return None if all((weights[rows] == weights[rows[0]]).all() for rows in parts) else weights


def weight_total(column: str, dtype: pl.DataType) -> pl.Expr:
    """Return the sum of a column of weights or counts; the same to the last digit, however many threads add it up.

    Weights are added as whole multiples of 2⁻³², because sums of floating-point numbers depend on their order.
    """
    if not dtype.is_float():
        return pl.col(column).sum()
    return (pl.col(column) * 2**32).round().cast(pl.Int64).sum() / 2**32


def weights_note(data: Instances, column: str | None) -> str | None:
    """Return the sentence that says which weights an audit uses, or that it does not use a column `weight`."""
    if column is None and data.weight is not None:  # reading said so
        return None
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


_KEYS = ["example_id", "position"]
_CONTENT = ["premise", "hypothesis", "label"]


def weights_from_file(
    path: str | Path, data: Instances, *, column: str = "weight", reading: ReadOptions | None = None
) -> npt.NDArray[np.float64]:
    """Return the weight of every train row of `data`, mean one, from a file with the same rows and their weights.

    Rows are matched by id if the data has one, otherwise by number. The texts and the label of every example must be
    the same, so that weights of other rows are never used unnoticed.

    Args:
        path: the weighted rows.
        data: what they are weights of.
        column: the column of weights.
        reading: how to read the file.
    """
    weighted = DatasetSpec(path, options=reading or ReadOptions())().train
    if column not in weighted.table.columns:
        raise unknown_name(f"column of weights in {path}", column, weighted.table.columns)
    train = data.train
    named = "id" in data.report.recognised
    held_out = data.test.n_examples if data.test is not None else 0
    if not named and weighted.n_examples not in (train.n_examples, train.n_examples + held_out):
        raise InputError(
            f"{path} has weights for {weighted.n_examples:,} examples, but the training set has {train.n_examples:,}: "
            f"make weights for the training set with cuecard debias TRAIN --out {path}."
        )
    matched = train.table.select(*_KEYS, *(pl.col(name).cast(pl.String) for name in _CONTENT)).join(
        weighted.table.select(
            *_KEYS,
            *(pl.col(name).cast(pl.String).alias(f"{name}_there") for name in _CONTENT),
            weight=pl.Series(instance_weights(weighted, column)),
        ).unique(_KEYS, keep="first", maintain_order=True),
        on=_KEYS,
        how="left",
        maintain_order="left",
    )
    _check(matched, path, train)
    weights = matched["weight"].to_numpy().astype(np.float64)
    if not weights.sum() > 0:
        raise InputError(
            f"{path} has no weight above 0 for any training example: make others with cuecard debias."
        )
    return np.asarray(weights / weights.mean())


def _check(joined: pl.DataFrame, path: str | Path, train: Instances) -> None:
    missing = joined.filter(pl.col("weight").is_null())
    if missing.height:
        raise InputError(
            f"{path} has no weight for {missing['example_id'].n_unique():,} of {train.n_examples:,} training examples, "
            f"such as {missing['example_id'][0]!r}: make weights for the training set with cuecard debias."
        )
    differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_there")) for name in _CONTENT)
    wrong = joined.filter(differs)
    if wrong.height:
        what = "label" if (wrong["label"] != wrong["label_there"]).all() else "text or label"
        raise InputError(
            f"{path} has another {what} for {wrong['example_id'].n_unique():,} of {train.n_examples:,} training "
            f"examples, first for {wrong['example_id'][0]!r}: its weights are for other rows."
        )
