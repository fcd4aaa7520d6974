"""The chart of overlap: how long the shared runs of words are."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from cuecard.report.charts.drawing import inline

LONGEST = 60


def run_lengths(table: pl.DataFrame) -> Any:
    """Return how many runs have how many words, those of whole texts beside parts of texts."""
    counted = (
        table.with_columns(
            words=pl.min_horizontal("words", pl.lit(LONGEST)),
            kind=pl.when(pl.col("words") >= pl.col("of_words"))
            .then(pl.lit("whole text"))
            .otherwise(pl.lit("part of a text")),
        )
        .group_by("words", "kind")
        .len("runs")
        .sort("words", "kind")
    )
    return (
        alt.Chart(inline(counted.to_dicts()))
        .mark_bar()
        .encode(
            x=alt.X(
                "words:Q",
                bin=alt.Bin(maxbins=30, minstep=1),
                title=f"words in a row ({LONGEST} or more together)",
            ),
            y=alt.Y("sum(runs):Q", title="runs"),
            color=alt.Color("kind:N", legend=alt.Legend(title=None)),
            tooltip=[alt.Tooltip("kind:N"), alt.Tooltip("sum(runs):Q", title="runs", format=",")],
        )
        .properties(width="container", height=180)
    )
