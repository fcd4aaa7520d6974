"""Charts of partial input: the battery of baselines, leak scores, the learning curve and slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.report.charts.drawing import inline, label_colour, legend_columns, percent_axis
from cuecard.wording import display_text

MOST_SLICES = 40
_KIND_NAMES = {
    "reference": "baseline",
    "content-blind": "content-blind",
    "relation": "compares texts",
    "partial": "partial input",
    "full": "full input",
}


def baseline_name(name: str) -> str:
    """Return a baseline's name as people read it."""
    return name.replace("_", " ")


def baselines(lines: Sequence[Mapping[str, Any]]) -> Any:
    """Return accuracy with interval of every baseline beside the chance level."""
    rows = [
        {
            "name": baseline_name(line["name"]),
            "kind": _KIND_NAMES[line["kind"]],
            "accuracy": line["accuracy"],
            "low": line["low"],
            "high": line["high"],
            "chance": line["chance"],
            "differs": line["direction"] != "at",
            "text": wording.percent(line["accuracy"]),
            "interval": f"{wording.percent(line['low'])} to {wording.percent(line['high'])}",
            "p": wording.probability(None, line["log10_p"]),
        }
        for line in lines
    ]
    order = [row["name"] for row in rows]
    highest = max((row["high"] for row in rows), default=1.0)
    scale = alt.Scale(domain=[0, min(1.0, highest + 0.12)], nice=False)
    axis = percent_axis("accuracy")
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=160)),
        tooltip=[
            alt.Tooltip("name:N", title="input"),
            alt.Tooltip("kind:N", title="kind"),
            alt.Tooltip("text:N", title="accuracy"),
            alt.Tooltip("interval:N", title="95 % CI"),
            alt.Tooltip("chance:Q", title="chance", format=".1%"),
            alt.Tooltip("p:N", title="p-value"),
        ],
    )
    kinds = [name for name in _KIND_NAMES.values() if any(row["kind"] == name for row in rows)]
    colour = alt.Color("kind:N", scale=alt.Scale(domain=kinds), legend=alt.Legend(symbolType="circle"))
    chance = (
        alt.Chart(inline([{"chance": rows[0]["chance"]}] if rows else []))
        .mark_rule(style="prior", aria=False)
        .encode(x=alt.X("chance:Q", scale=scale, axis=axis))
    )
    interval = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.4).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2("high:Q"), color=colour
    )
    point = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("accuracy:Q", scale=scale, axis=axis),
        color=colour,
        shape=alt.Shape(
            "differs:N", scale=alt.Scale(domain=[True, False], range=["circle", "triangle-up"]), legend=None
        ),
    )
    text = [
        base.mark_text(style=style, align="left", dx=8, aria=False).encode(
            x=alt.X("high:Q", scale=scale, axis=axis), text=alt.Text("text:N")
        )
        for style in ("halo", "figure")
    ]
    return alt.layer(chance, interval, point, *text).properties(width="container", height=alt.Step(28))


def leak_histogram(tables: Mapping[str, pl.DataFrame], labels: Sequence[str], split: str) -> Any:
    """Return how many examples have which leak score, stacked by label."""
    table = tables["leak_histogram"].filter(pl.col("split") == split)
    present = set(table["label"].to_list())
    names = [display_text(label, 60) for label in labels if label in present] or ["all"]
    rows = [
        {**row, "label": display_text(row["label"], 60)}
        for row in table.select("label", "low", "high", "count").iter_rows(named=True)
    ]
    return (
        alt.Chart(inline(rows))
        .mark_bar(binSpacing=1)
        .encode(
            x=alt.X(
                "low:Q",
                bin="binned",
                scale=alt.Scale(domain=[0, 1]),
                axis=percent_axis("probability of the correct answer from partial input"),
            ),
            x2=alt.X2("high:Q"),
            y=alt.Y("count:Q", stack="zero", title="examples", axis=alt.Axis(format="~s")),
            color=label_colour(names, symbolType="square", columns=legend_columns(names))
            if len(names) > 1
            else label_colour(names),
            tooltip=[
                alt.Tooltip("label:N", title="label"),
                alt.Tooltip("low:Q", title="low", format=".0%"),
                alt.Tooltip("high:Q", title="high", format=".0%"),
                alt.Tooltip("count:Q", title="examples", format=","),
            ],
        )
        .properties(width="container", height=240)
    )


def learning_curve(table: pl.DataFrame) -> Any:
    """Return accuracy of partial input by number of examples learned from, with chance."""
    mean = table.group_by("train_examples", maintain_order=True).agg(
        pl.col("accuracy").mean(), pl.col("low").min(), pl.col("high").max()
    )
    x = alt.X(
        "train_examples:Q",
        title="training examples (logarithmic)",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(grid=False, format="~s", tickCount=6),
    )
    scale = alt.Scale(zero=False, padding=12)
    axis = percent_axis("accuracy")
    base = alt.Chart(inline(mean.iter_rows(named=True))).encode(x=x)
    band = base.mark_area(style="accent", opacity=0.15, aria=False).encode(
        y=alt.Y("low:Q", scale=scale, axis=axis), y2=alt.Y2("high:Q")
    )
    line = base.mark_line(style="accent", strokeWidth=2, aria=False).encode(
        y=alt.Y("accuracy:Q", scale=scale, axis=axis)
    )
    points = (
        alt.Chart(inline(table.iter_rows(named=True)))
        .mark_circle(style="accent", size=44, opacity=0.8)
        .encode(
            x=x,
            y=alt.Y("accuracy:Q", scale=scale, axis=axis),
            tooltip=[
                alt.Tooltip("train_examples:Q", title="training examples", format=","),
                alt.Tooltip("accuracy:Q", title="accuracy", format=".1%"),
                alt.Tooltip("n:Q", title="scored examples", format=","),
            ],
        )
    )
    chance = (
        alt.Chart(inline([{"chance": table["chance"][0]}] if table.height else []))
        .mark_rule(style="prior", aria=False)
        .encode(y=alt.Y("chance:Q", scale=scale, axis=axis))
    )
    return alt.layer(chance, band, line, points).properties(width="container", height=240)


def slices(table: pl.DataFrame) -> Any:
    """Return accuracy with interval of partial input in every slice, and its chance there."""
    rows = [
        {
            **{key: row[key] for key in ("accuracy", "low", "high", "chance", "n")},
            "slice": display_text(f"{row['column']}: {row['value']}", 60),
            "column": display_text(row["column"], 40),
            "p": wording.probability(None, row["log10_p"]),
        }
        for row in table.head(MOST_SLICES).iter_rows(named=True)
    ]
    order = [row["slice"] for row in rows]
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = percent_axis(None, orient="top", tickCount=5)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("slice:N", sort=order, title=None, axis=alt.Axis(labelLimit=220)),
        color=alt.Color("column:N", legend=None),
        tooltip=[
            alt.Tooltip("slice:N", title="slice"),
            alt.Tooltip("accuracy:Q", title="accuracy", format=".1%"),
            alt.Tooltip("chance:Q", title="chance in this slice", format=".1%"),
            alt.Tooltip("n:Q", title="examples", format=","),
            alt.Tooltip("p:N", title="p-value"),
        ],
    )
    interval = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.4).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2("high:Q")
    )
    point = base.mark_point(filled=True, size=70, opacity=1).encode(
        x=alt.X("accuracy:Q", scale=scale, axis=axis)
    )
    chance = base.mark_tick(style="prior", thickness=2, height=14).encode(
        x=alt.X("chance:Q", scale=scale, axis=axis)
    )
    return alt.layer(interval, chance, point).properties(width="container", height=alt.Step(24))
