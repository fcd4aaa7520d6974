"""Weights of instances: read from a column of the user's, written beside the rows they came from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.instances import Instances
from cuecard.errors import InputError
from cuecard.registry import unknown_name


def instance_weights(data: Instances, column: str) -> npt.NDArray[np.float64]:
    """Return every instance's weight from an extra column, scaled to a mean of one over train.

    Instances of other splits that have no weight count as one.
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
    train = in_train.to_numpy()
    if not weights[train].sum() > 0:
        raise InputError(f"Column {column!r} gives no train instance a weight above zero.")
    weights[train] *= train.sum() / weights[train].sum()
    return weights
