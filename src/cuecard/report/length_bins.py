"""Which text lengths a chart shows: how wide its bins are, and how much of the tail it leaves out."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

MOST_BINS = 40
#: Lengths are shown until this share of the texts is no longer.
SHOWN = 0.995


@dataclass(frozen=True)
class LengthBins:
    """The width of a bin, the last length shown, and the share of texts that are longer."""

    width: int
    last: int
    cut: float


def length_bins(lengths: pl.DataFrame) -> LengthBins:
    """Return the bins for a table of `tokens` and `count`."""
    per_length = lengths.group_by("tokens").agg(pl.col("count").sum()).sort("tokens")
    if per_length.is_empty():
        return LengthBins(1, 1, 0.0)
    reached = per_length.with_columns(share=pl.col("count").cum_sum() / pl.col("count").sum())
    last = int(reached.filter(pl.col("share") >= SHOWN)["tokens"][0])
    width = max(1, -(-last // MOST_BINS))
    last = max(1, last // width * width + width - 1)  # a bin is shown whole
    beyond, everything = (
        float(part["count"].sum()) for part in (per_length.filter(pl.col("tokens") > last), per_length)
    )
    return LengthBins(width, last, beyond / everything)
