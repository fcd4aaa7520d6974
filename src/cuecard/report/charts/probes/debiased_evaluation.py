"""Accuracies of models as they stand and under weights, each with its interval."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from cuecard.report import numbers
from cuecard.report.charts.drawing import inline, label_colour, label_shape, percent_axis
from cuecard.report.texts import display_text

SERIES = ("unweighted", "reweighted")


def both_accuracies(table: pl.DataFrame) -> Any:
    """Return two dots with intervals per model: accuracy without and with the weights."""
    rows = []
    for row in table.iter_rows(named=True):
        for label, prefix in zip(SERIES, ("", "weighted_"), strict=True):
            share = row[f"{prefix}accuracy"]
            rows.append(
                {
                    "name": display_text(row["model"], 60),
                    "label": label,
                    "accuracy": share,
                    "low": row[f"{prefix}low"],
                    "high": row[f"{prefix}high"],
                    "text": numbers.percent(share),
                }
            )
    order = list(dict.fromkeys(row["name"] for row in rows))
    scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=320)),
        yOffset=alt.YOffset("label:N", sort=list(SERIES)),
        color=label_colour(SERIES, title=None),
        tooltip=[
            alt.Tooltip("name:N", title="model"),
            alt.Tooltip("label:N", title="weights"),
            alt.Tooltip("text:N", title="accuracy"),
        ],
    )
    spans = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, axis=percent_axis("accuracy")), x2=alt.X2("high:Q")
    )
    dots = base.mark_point(filled=True, size=70).encode(
        x=alt.X("accuracy:Q", scale=scale), shape=label_shape(SERIES)
    )
    return (spans + dots).properties(width="container", height=46 * len(order))
