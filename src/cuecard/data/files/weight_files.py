"""Weights from a file of weighted rows, such as `cuecard debias` writes, for the examples they belong to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.instances import Instances
from cuecard.data.loading import load
from cuecard.data.weights import instance_weights
from cuecard.errors import InputError
from cuecard.registry import unknown_name

_KEYS = ["example_id", "position"]
_CONTENT = ["premise", "hypothesis", "label"]


def weights_from_file(
    path: str | Path, data: Instances, *, column: str = "weight", **reading: Any
) -> npt.NDArray[np.float64]:
    """Return the weight of every train row of `data`, mean one, from a file with the same rows and their weights.

    Rows are matched by id if the data has one, otherwise by number. The texts and the label of every example must be
    the same, so that weights of other rows are never used unnoticed.

    Args:
        path: the weighted rows.
        data: what they are weights of.
        column: the column of weights.
        reading: how to read the file, as `load` takes it: task, columns, labels, on_error …
    """
    weighted = load(path, **reading).train
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
