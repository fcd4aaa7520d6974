"""Are examples of biased clusters easier to learn? Training dynamics beside clusters (PECO, Figure 8)."""

from __future__ import annotations

import numpy as np
import polars as pl

from cuecard.audits.clusters.files import read_table
from cuecard.errors import InputError

#: A cluster counts as biased above this divergence, as in the paper.
BIASED = 0.25
BINS = 20


def read_dynamics(path: str, split: str | None = None) -> pl.DataFrame:
    """Return the table of training dynamics in a file: at least example_id and confidence.

    Where the table has the column split, rows of other splits are left out: their examples may have the same ids.
    """
    table = read_table(path, ("example_id", "confidence"), "training dynamics")
    if split is None or "split" not in table.columns:
        return table
    of_split = table.filter(pl.col("split").cast(pl.String) == split)
    if of_split.is_empty():
        splits = ", ".join(table["split"].cast(pl.String).drop_nulls().unique().sort()) or "none"
        raise InputError(
            f"{path}: the training dynamics cover the splits {splits}, but the clusters are of {split}; choose another "
            "split with --set clusters.split=NAME."
        )
    return of_split


def confidence_histogram(clusters: pl.DataFrame, dynamics: pl.DataFrame) -> pl.DataFrame:
    """Return how many examples inside and outside biased clusters have each confidence.

    Args:
        clusters: example_id and divergence_l2 (of the example's cluster).
        dynamics: example_id and confidence (mean probability of the gold label over training), between 0 and 1.
    """
    key = pl.col("example_id").cast(pl.String)
    joined = clusters.with_columns(key).join(dynamics.with_columns(key), on="example_id", how="inner")
    if joined.is_empty():
        raise InputError("No example_id of the training dynamics occurs among the clustered examples.")
    confidence = joined["confidence"].to_numpy()
    if not ((confidence >= 0) & (confidence <= 1)).all():
        raise InputError(
            "The confidence in training dynamics must be a probability from 0 to 1; some values are not."
        )
    biased = (joined["divergence_l2"] > BIASED).to_numpy()
    edges = np.linspace(0, 1, BINS + 1)
    inside, outside = (np.histogram(confidence[where], edges)[0] for where in (biased, ~biased))
    return pl.DataFrame(
        {
            "low": edges[:-1],
            "high": edges[1:],
            "biased": inside,
            "other": outside,
            "biased_share": inside / max(1, inside.sum()),
            "other_share": outside / max(1, outside.sum()),
        }
    )
