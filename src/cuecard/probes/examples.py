"""The examples that predictions are about."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.data import Examples, Instances
from cuecard.errors import InputError
from cuecard.stats.arrays import Ints

#: Stands where a model gave no answer that can be read; it is counted, and never right.
UNANSWERED = -1


def check_test(data: Instances) -> Examples:
    """Return the test examples, or raise if there is no test split to probe a model on."""
    if data.test is None or not len(data.test):
        raise InputError(
            f"{data.name} has no test split, and models are tested on one: add it with --test, "
            "or draw one with --holdout 0.2."
        )
    return Examples(data.test)


def only_test(data: Instances, examples: Examples, kept: Ints) -> Instances:
    """Return the data with some of its test examples."""
    in_test = (data.table["split"].cast(pl.String) == "test").to_numpy()
    rows = ~in_test
    rows[in_test] = np.isin(examples.instances.example_codes, kept)
    return data.rows(rows)
