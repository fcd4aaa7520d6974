"""The data map of a training run as a page of its own."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cuecard.data import Instances
from cuecard.report.charts.data_map import data_map
from cuecard.report.html.chart_page import write_chart


def write_data_map(
    dynamics: pl.DataFrame, path: str | Path, data: Instances | None = None, *, of: str = ""
) -> Path:
    """Write confidence × variability as a page that opens offline (or .png, .svg), and return its path.

    Args:
        dynamics: what `cuecard.train(..., dynamics=True).dynamics` holds; of several splits, train is drawn.
        path: the file to write.
        data: the dataset, to show the texts of examples; left out, only their ids are shown.
        of: whose map it is, such as "bilstm on snli, hypothesis only".
    """
    if "split" in dynamics.columns:
        dynamics = dynamics.filter(pl.col("split").cast(pl.String) == "train")
    if data is not None:
        train = data.train.table
        right = train.filter(pl.col("label") == data.labels[0]) if data.grouped else train
        texts = right.select("example_id", "premise", "hypothesis", pl.col("label").cast(pl.String))
        texts = texts.unique("example_id", keep="first", maintain_order=True)
        dynamics = dynamics.join(texts, on="example_id", how="left", maintain_order="left")
    return write_chart(data_map(dynamics, of=of), path, title="Data map")
