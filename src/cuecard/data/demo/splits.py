"""The two splits of a generated dataset, each from random numbers of its own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from cuecard.data.demo.cues import CueKind
from cuecard.stats.arrays import Bools

#: Rows of a split with `example` and `position`, and which features they have.
Split = tuple[pl.DataFrame, dict[CueKind, Bools]]


def both_splits(
    n: int, test_fraction: float, seed: int, draw: Callable[[int, np.random.SeedSequence], Split]
) -> Split:
    """Return the rows of train and test together, and which features they have; a split of no examples is left out."""
    n_test = round(n * test_fraction)
    frames, masks = [], []
    streams = np.random.SeedSequence(seed).spawn(2)
    for split, size, stream in zip(("train", "test"), (n - n_test, n_test), streams, strict=True):
        if size:
            frame, present = draw(size, stream)
            named = {"split": pl.lit(split), "example_id": pl.format(f"{split}-{{}}", "example")}
            frames.append(frame.with_columns(**named))
            masks.append(present)
    rows = pl.concat(frames).select("example_id", "position", "split", "premise", "hypothesis", "label")
    return rows, {kind: np.concatenate([mask[kind] for mask in masks]) for kind in masks[0]}
