"""Scores of sentences paired with themselves, as Tukey boxes by how often the sentence occurs (Selection, Figure 5)."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from cuecard.probes.identical_pairs import LAST_FREQUENCY
from cuecard.report.charts.drawing import inline, label_colour, percent_axis
from cuecard.wording import display_text


def identical_pairs_chart(boxes: pl.DataFrame, *, last: int = LAST_FREQUENCY) -> Any:
    """Return one box per frequency and model from `box_statistics`; a fair model's boxes are all high and level."""
    models = [display_text(name, 60) for name in boxes["model"].unique(maintain_order=True)]
    rows = [
        {
            **{key: row[key] for key in ("low", "q1", "median", "q3", "high", "n", "outliers")},
            "label": display_text(row["model"], 60),
            "frequency": f"{row['frequency']}{'+' if row['frequency'] >= last else ''}",
        }
        for row in boxes.sort("frequency", maintain_order=True).iter_rows(named=True)
    ]
    order = list(dict.fromkeys(row["frequency"] for row in rows))
    x = alt.X(
        "frequency:N", sort=order, axis=alt.Axis(title="sentence frequency in the training set", labelAngle=0)
    )
    beside = alt.XOffset("label:N", sort=models)
    scale = alt.Scale(domain=[0, 1.02], nice=False)
    base = alt.Chart(inline(rows)).encode(x=x, xOffset=beside, color=label_colour(models, symbolSize=90))
    tooltip = [
        alt.Tooltip("label:N", title="model"),
        alt.Tooltip("frequency:N"),
        alt.Tooltip("n:Q", title="sentences"),
    ]
    tooltip += [alt.Tooltip(f"{name}:Q", format=".3f") for name in ("low", "q1", "median", "q3", "high")]
    y = alt.Y("low:Q", scale=scale, axis=percent_axis("probability of a match"))
    whiskers = base.mark_rule(aria=False).encode(y=y, y2=alt.Y2("high:Q"))
    bodies = base.mark_bar(opacity=0.55, size=14, aria=False).encode(
        y=alt.Y("q1:Q", scale=scale), y2=alt.Y2("q3:Q"), tooltip=tooltip
    )
    medians = base.mark_tick(size=14, thickness=2, aria=False).encode(y=alt.Y("median:Q", scale=scale))
    return alt.layer(whiskers, bodies, medians).properties(width="container", height=340)
