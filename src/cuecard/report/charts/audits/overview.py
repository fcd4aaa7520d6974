"""Charts of the overview: label balance and text lengths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.report.charts.drawing import either, inline, label_colour, legend_columns, percent_axis
from cuecard.report.length_bins import length_bins
from cuecard.wording import display_text

MOST_LABELS = 20


def label_balance(tables: Mapping[str, pl.DataFrame], labels: Sequence[str]) -> Any:
    """Return bars of each label's share, one row per label and split."""
    shown = list(labels)[:MOST_LABELS]
    balance = tables["label_balance"].filter(pl.col("label").cast(pl.String).is_in(shown))
    splits = balance["split"].cast(pl.String).unique(maintain_order=True).to_list()
    rows = [
        {
            "label": display_text(row["label"], 60),
            "split": str(row["split"]),
            "share": row["share"],
            "count": row["count"],
            "text": wording.percent(row["share"]),
        }
        for row in balance.iter_rows(named=True)
    ]
    names = [display_text(label, 60) for label in shown]
    highest = max((row["share"] for row in rows), default=1.0)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("label:N", sort=names, title=None, scale=alt.Scale(paddingInner=0.35)),
        yOffset=alt.YOffset("split:N", sort=splits, scale=alt.Scale(paddingInner=0.12)),
        x=alt.X(
            "share:Q",
            axis=None,  # every bar says its number
            scale=alt.Scale(domain=[0, highest * 1.3], nice=False),
        ),
        tooltip=[
            alt.Tooltip("split:N", title="split"),
            alt.Tooltip("label:N", title="label"),
            alt.Tooltip("count:Q", title="instances", format=","),
            alt.Tooltip("text:N", title="share"),
        ],
    )
    strength = alt.Opacity(
        "split:N",
        scale=alt.Scale(domain=splits, range=[1.0, 0.5, 0.3][: len(splits)]),
        legend=alt.Legend(symbolType="square") if len(splits) > 1 else None,
    )
    bars = base.mark_bar(cornerRadiusEnd=2).encode(color=label_colour(names), opacity=strength)
    text = base.mark_text(align="left", dx=6, style="figure", aria=False).encode(text=alt.Text("text:N"))
    return (bars + text).properties(width="container", height=max(220, 26 * len(splits) * len(names)))


def length_distribution(
    tables: Mapping[str, pl.DataFrame], labels: Sequence[str], field: str, *, name: str
) -> Any:
    """Return curves of text length by label, each label's area the same, on the train split.

    Long texts are counted in wider bins; the very longest are not shown.
    """
    lengths = tables["lengths"].filter(
        (pl.col("field") == field) & (pl.col("split").cast(pl.String) == "train")
    )
    shown = list(labels)[:8]
    lengths = lengths.filter(pl.col("label").cast(pl.String).is_in(shown))
    bins = length_bins(lengths)
    binned = (
        lengths.with_columns(bin=(pl.col("tokens") // bins.width) * bins.width)
        .group_by("label", "bin")
        .agg(pl.col("count").sum())
        .with_columns(share=pl.col("count") / pl.col("count").sum().over("label"))
        .filter(pl.col("bin") <= bins.last)
        .sort("label", "bin")
    )
    names = [display_text(label, 60) for label in shown]
    rows = [
        {
            "label": display_text(row["label"], 60),
            "tokens": row["bin"],
            "share": row["share"],
            "said": f"{wording.percent(row['share'])} ({wording.count(row['count'])})",
        }
        for row in binned.iter_rows(named=True)
    ]
    near = alt.selection_point(
        fields=["tokens"], nearest=True, on="pointerover", empty=False, clear="pointerout"
    )
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("tokens:Q", title=f"words in the {name}", axis=alt.Axis(grid=False, tickMinStep=1)),
        y=alt.Y("share:Q", axis=percent_axis(None, tickCount=4)),
        color=label_colour(names, symbolType="stroke", symbolStrokeWidth=3, columns=legend_columns(names)),
    )
    lines = base.mark_line(strokeWidth=2.2, interpolate="monotone", aria=False)
    points = (
        base.mark_point(filled=True, size=55, aria=False)
        .encode(
            opacity=either(alt.OpacityValue, near, 1, 0),
            tooltip=[
                alt.Tooltip("label:N", title="label"),
                alt.Tooltip("tokens:Q", title="words" if bins.width == 1 else f"words (bin of {bins.width})"),
                alt.Tooltip("said:N", title="share (instances)"),
            ],
        )
        .add_params(near)
    )
    return (lines + points).properties(width="container", height=220)
