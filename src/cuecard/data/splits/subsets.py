"""Fewer training examples of a dataset, for what takes long on all of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.instances import Instances
from cuecard.errors import UsageError


def train_subset(data: Instances, size: int | None, seed: int) -> tuple[Instances, npt.NDArray[np.bool_]]:
    """Return the data with `size` training examples drawn by the seed, and which training rows were kept.

    Other splits stay as they are; without a size, or with one that is no smaller, so does train.
    """
    train = data.train
    if size is not None and size < 2:
        raise UsageError(f"--subset needs at least 2 training examples, not {size}.")
    if size is None or size >= train.n_examples:
        return data, np.ones(len(train), dtype=np.bool_)
    drawn = np.zeros(train.n_examples, dtype=np.bool_)
    drawn[np.random.default_rng(seed).permutation(train.n_examples)[:size]] = True
    kept = np.asarray(drawn[train.example_codes])
    rows = (data.table["split"].cast(pl.String) != "train").to_numpy().copy()
    rows[~rows] = kept
    return data.rows(rows), kept
