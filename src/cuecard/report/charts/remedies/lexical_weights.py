"""Charts of lexical weights: label balance before and after, the weights, and what softer balance would cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard.report.charts.drawing import either, inline, percent_axis
from cuecard.wording import display_text

MOST_FEATURES = 200
EQUAL, WEIGHTED = "equal weights", "these weights"


def balance_before_after(table: pl.DataFrame) -> Any:
    """Return each feature's label balance with equal weights and with these, worst first (the paper's Figure 2)."""
    rows = []
    for rank, row in enumerate(table.head(MOST_FEATURES).iter_rows(named=True)):
        rows.append(
            {
                "rank": rank + 1,
                "feature": display_text(row["feature"], 60),
                "count": row["count"],
                "before": row["off_before"],
                "after": row["off_after"],
            }
        )
    points = [
        {**row, "weights": name, "off": row[key]}
        for row in rows
        for name, key in ((EQUAL, "before"), (WEIGHTED, "after"))
    ]
    x = alt.X(
        "rank:Q",
        title="features, most unbalanced first",
        axis=alt.Axis(grid=False, tickMinStep=1),
        scale=alt.Scale(domain=[0, len(rows) + 1], nice=False),
    )
    lines = (
        alt.Chart(inline(rows))
        .mark_rule(style="quiet", strokeWidth=1, aria=False)
        .encode(x=x, y=alt.Y("before:Q"), y2=alt.Y2("after:Q"))
    )
    marks = (
        alt.Chart(inline(points))
        .mark_point(filled=True, size=42, opacity=0.85, aria=False)
        .encode(
            x=x,
            y=alt.Y("off:Q", axis=percent_axis("mean distance of the label shares from the target")),
            color=_weights_colour(),
            shape=alt.Shape(
                "weights:N", scale=alt.Scale(domain=[EQUAL, WEIGHTED], range=["diamond", "circle"])
            ),
            tooltip=[
                alt.Tooltip("feature:N", title="feature"),
                alt.Tooltip("count:Q", title="training instances", format=","),
                alt.Tooltip("before:Q", title=EQUAL, format=".2%"),
                alt.Tooltip("after:Q", title=WEIGHTED, format=".2%"),
            ],
        )
    )
    return (lines + marks).properties(width="container", height=280)


def _weights_colour() -> alt.Color:
    return alt.Color("weights:N", scale=alt.Scale(domain=[EQUAL, WEIGHTED]), legend=alt.Legend(symbolSize=80))


def weight_histogram(bins: Sequence[Mapping[str, float]]) -> Any:
    """Return how many examples have which weight, on a logarithmic axis; 1 is the mean."""
    rows = [{"from": b["from"], "to": b["to"], "examples": b["examples"], "none": 0} for b in bins]
    domain = [rows[0]["from"], rows[-1]["to"]]
    x = alt.X(
        "from:Q",
        title="weight (logarithmic; the mean is 1)",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=alt.Axis(grid=False, format="~g", tickCount=6),
    )
    bars = (
        alt.Chart(inline(rows))
        .mark_bar(style="accent", binSpacing=1)
        .encode(
            x=x,
            x2=alt.X2("to:Q"),
            y=alt.Y("examples:Q", title="examples", axis=alt.Axis(format="~s", tickCount=4)),
            y2=alt.Y2("none:Q"),
            tooltip=[
                alt.Tooltip("from:Q", title="weight low", format=".3g"),
                alt.Tooltip("to:Q", title="weight high", format=".3g"),
                alt.Tooltip("examples:Q", title="examples", format=","),
            ],
        )
    )
    mean = alt.Chart(inline([{"from": 1.0}])).mark_rule(style="prior", aria=False).encode(x=x)
    return (bars + mean).properties(width="container", height=220)


def err_against_ess(trade_off: pl.DataFrame, chosen: float, before: float | None) -> Any:
    """Return Err against effective sample size, a point for every ridge; the chosen one stands out."""
    rows = [
        {
            "ridge": f"{row['ridge']:g}",
            "err": row["err"],
            "ess": row["ess"],
            "max_weight": row["max_weight"],
            "chosen": row["ridge"] == chosen,
        }
        for row in trade_off.sort("ess").iter_rows(named=True)
    ]
    if before is not None:
        rows.append({"ridge": "equal weights", "err": before, "ess": 1.0, "max_weight": 1.0, "chosen": False})
    base = alt.Chart(inline(rows)).encode(
        x=alt.X(
            "ess:Q",
            axis=percent_axis("effective sample size", grid=False),
            scale=alt.Scale(zero=False, nice=False, padding=12),
        ),
        y=alt.Y("err:Q", axis=percent_axis("Err of the balanced features", tickCount=5)),
        tooltip=[
            alt.Tooltip("ridge:N", title="ridge"),
            alt.Tooltip("err:Q", title="Err", format=".3%"),
            alt.Tooltip("ess:Q", title="effective sample size", format=".1%"),
            alt.Tooltip("max_weight:Q", title="largest weight", format=".1f"),
        ],
    )
    line = base.mark_line(style="quiet", strokeWidth=2, aria=False)
    points = base.mark_point(style="accent", filled=True, aria=False).encode(
        size=either(alt.SizeValue, "datum.chosen", 180, 60)
    )
    names = base.mark_text(style="figure", align="right", dx=-8, dy=-6, aria=False).encode(
        text=alt.Text("ridge:N")
    )
    return (line + points + names).properties(width="container", height=260)
