"""Two accuracies of every model side by side, each with its interval: under weights, or on subsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.report.charts.drawing import inline, label_colour, label_shape, percent_axis
from cuecard.wording import display_text


def accuracies_side_by_side(table: pl.DataFrame, series: Mapping[str, str], title: str) -> Any:
    """Return a dot with its interval per model and series; `series` has the prefix of the columns by name."""
    names = list(series)
    rows = []
    for row in table.iter_rows(named=True):
        for label, prefix in series.items():
            share = row[f"{prefix}accuracy"]
            rows.append(
                {
                    "name": display_text(row["model"], 60),
                    "label": label,
                    "accuracy": share,
                    "low": row[f"{prefix}low"],
                    "high": row[f"{prefix}high"],
                    "text": wording.percent(share),
                }
            )
    order = list(dict.fromkeys(row["name"] for row in rows))
    scale = alt.Scale(zero=False, nice=True)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=320)),
        yOffset=alt.YOffset("label:N", sort=names),
        color=label_colour(names, title=None),
        tooltip=[
            alt.Tooltip("name:N", title="model"),
            alt.Tooltip("label:N", title=title),
            alt.Tooltip("text:N", title="accuracy"),
        ],
    )
    spans = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, axis=percent_axis("accuracy")), x2=alt.X2("high:Q")
    )
    dots = base.mark_point(filled=True, size=70).encode(
        x=alt.X("accuracy:Q", scale=scale), shape=label_shape(names)
    )
    return (spans + dots).properties(width="container", height=46 * len(order))
