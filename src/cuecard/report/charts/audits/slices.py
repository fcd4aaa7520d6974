"""The chart of slices: how far every rule is from chance on every slice."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.report.charts.drawing import either, inline
from cuecard.wording import display_text

MOST_SLICES = 20


def excess_map(table: pl.DataFrame, alpha: float) -> Any:
    """Return a cell for every rule and slice, coloured by the accuracy above (orange) or below chance (blue)."""
    where = pl.format("{} = {}", "column", "value")
    table = table.with_columns(where=where)
    shown = table["where"].unique(maintain_order=True).head(MOST_SLICES).to_list()
    rules = table["rule"].unique(maintain_order=True).to_list()
    rows = [
        {
            "slice": display_text(row["where"], 40),
            "rule": row["rule"].replace("_", " "),
            "excess": row["excess"],
            "text": wording.points(row["excess"]),
            "accuracy": wording.percent(row["accuracy"]),
            "interval": f"{wording.percent(row['low'])} to {wording.percent(row['high'])}",
            "chance": wording.percent(row["chance"]),
            "n": row["n"],
            "q": wording.probability(row["q_value"]),
            "significant": row["q_value"] <= alpha,
        }
        for row in table.filter(pl.col("where").is_in(shown)).iter_rows(named=True)
    ]
    most = max((abs(row["excess"]) for row in rows), default=1.0) or 1.0
    base = alt.Chart(inline(rows)).encode(
        x=alt.X(
            "rule:N",
            sort=[rule.replace("_", " ") for rule in rules],
            axis=alt.Axis(orient="top", title=None, labelAngle=-30, labelLimit=140),
        ),
        y=alt.Y(
            "slice:N", sort=[display_text(s, 40) for s in shown], title=None, axis=alt.Axis(labelLimit=220)
        ),
        tooltip=[
            alt.Tooltip("slice:N"),
            alt.Tooltip("rule:N"),
            alt.Tooltip("accuracy:N"),
            alt.Tooltip("interval:N", title="95 % CI"),
            alt.Tooltip("chance:N"),
            alt.Tooltip("n:Q", format=","),
            alt.Tooltip("q:N", title="q-value"),
        ],
    )
    # Wider than the values, so that no cell is too dark for its text.
    scale = alt.Scale(scheme="blueorange", domain=[-1.6 * most, 1.6 * most], domainMid=0)
    cells = base.mark_rect(cornerRadius=2).encode(
        color=alt.Color("excess:Q", scale=scale, legend=None),
        opacity=either(alt.OpacityValue, alt.datum.significant, 1.0, 0.5),
    )
    text = base.mark_text(fontSize=11, color="#1c2128", aria=False).encode(text=alt.Text("text:N"))
    return alt.layer(cells, text).properties(width=alt.Step(96), height=alt.Step(24))
