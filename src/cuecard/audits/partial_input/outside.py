"""A model from elsewhere, of which the data tells how often it is correct on every example (PECO's A_SOTA)."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cuecard.data import COLUMNS
from cuecard.data.examples import Examples
from cuecard.errors import InputError
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Ints


def outside_accuracy(examples: Examples, column: str, scored: Ints) -> dict[str, Any]:
    """Return the accuracy that an extra column states for the scored examples, by the first row and weight of each.

    Values are true and false, shares from 0 to 1, or percentages where one is above 1.
    """
    table = examples.instances.table
    if column not in table.columns:
        raise unknown_name("column (outside)", column, [c for c in table.columns if c not in COLUMNS])
    values = table[column].gather(examples.first_rows[scored])
    if not (values.dtype.is_numeric() or values.dtype == pl.Boolean) or values.null_count():
        raise InputError(
            f"The column {column} must hold true and false, shares or percentages for every evaluated example."
        )
    numbers = values.cast(pl.Float64).to_numpy()
    if not (np.isfinite(numbers).all() and (numbers >= 0).all() and (numbers <= 100).all()):
        raise InputError(f"The column {column} must hold values from 0 to 1, or percentages from 0 to 100.")
    share = numbers / (100 if numbers.max(initial=0) > 1 else 1)
    accuracy = float(np.average(share, weights=examples.example_weights[scored]))
    return {"column": column, "accuracy": accuracy, "n": len(share)}
