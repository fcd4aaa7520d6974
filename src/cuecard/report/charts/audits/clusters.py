"""Charts of the clusters beside their map: the curve against shuffled labels, the sweep, and who leans where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.report.charts.audits.cluster_map import cluster_name
from cuecard.report.charts.drawing import either, inline, label_colour, percent_axis
from cuecard.wording import display_text

#: Pixels that a number such as 12.3 needs in a cell.
ROOM_FOR_A_NUMBER = 34
SIGNIFICANT = 0.05


def curve(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Return the share of clusters above each divergence, and where shuffled labels would put it."""
    rows = [
        {
            "threshold": round(row["threshold"], 5),
            "share": row["share_above"],
            "null": row["null_mean"],
            "low": row["null_low"],
            "high": row["null_high"],
        }
        for row in tables["cluster_curve"].iter_rows(named=True)
    ]
    x = alt.X("threshold:Q", title="divergence from the whole", axis=alt.Axis(grid=False))
    y = alt.Y("share:Q", axis=percent_axis("clusters above", tickCount=5), scale=alt.Scale(domain=[0, 1]))
    tooltip = [
        alt.Tooltip("threshold:Q", title="divergence above", format=".3f"),
        alt.Tooltip("share:Q", title="clusters", format=".0%"),
        alt.Tooltip("null:Q", title="with shuffled labels", format=".0%"),
    ]
    base = alt.Chart(inline(rows)).encode(x=x, tooltip=tooltip)
    band = base.mark_area(style="quiet", opacity=0.6, interpolate="step-after").encode(
        y=alt.Y("low:Q", axis=percent_axis("clusters above", tickCount=5)), y2=alt.Y2("high:Q")
    )
    null = base.mark_line(style="prior", interpolate="step-after").encode(y=alt.Y("null:Q"))
    seen = base.mark_area(
        style="accent", line={"strokeWidth": 2.2}, fillOpacity=0.14, interpolate="step-after"
    ).encode(y=y)
    return alt.layer(seen, band, null).properties(width="container", height=230)


def sweep(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Return the excess over shuffled labels for numbers of clusters and of components."""
    frame = tables["cluster_sweep"]
    top = max([*frame["excess"].drop_nulls().drop_nans(), 1e-9])
    rows = [
        {
            "k": str(row["k"]),
            "components": "all" if row["components"] == 0 else str(row["components"]),
            "excess": row["excess"],
            "strength": max(0.0, row["excess"]) / top,
            "score": row["peco_exact_l2"],
            "null": row["null_mean"],
            "p": wording.probability(row["p_value"]),
            "left": row["clusters"],
            "starts": row["starts"],
            "headline": row["headline"],
            "text": f"{row['excess']:z.1f}",
            "note": "n.s." if row["p_value"] > SIGNIFICANT else "",
        }
        for row in frame.iter_rows(named=True)
    ]
    ks = [str(k) for k in frame["k"].unique().sort()]
    dimensions = [str(c) for c in frame["components"].unique().sort() if c] + (
        ["all"] if 0 in frame["components"] else []
    )
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("k:N", sort=ks, title="clusters", axis=alt.Axis(labelAngle=0, orient="top")),
        y=alt.Y("components:N", sort=dimensions, title="principal components"),
        tooltip=[
            alt.Tooltip("k:N", title="requested clusters"),
            alt.Tooltip("left:Q", title="clusters after merging"),
            alt.Tooltip("components:N", title="components"),
            alt.Tooltip("starts:Q", title="k-means starts"),
            alt.Tooltip("score:Q", title="PECO", format=".2f"),
            alt.Tooltip("null:Q", title="with shuffled labels", format=".2f"),
            alt.Tooltip("excess:Q", title="excess", format=".2f"),
            alt.Tooltip("p:N", title="p-value"),
        ],
    )
    # The strength of one colour says how much, so that both colour schemes of a report can show it.
    cells = base.mark_rect(style="accent", cornerRadius=3).encode(
        opacity=alt.Opacity("strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 0.62]), legend=None)
    )
    framed = base.transform_filter("datum.headline").mark_rect(
        style="accent", cornerRadius=3, filled=False, strokeWidth=2.5
    )
    # Numbers are written where a cell is wide enough for them; the tooltip has them in any case.
    room = either(alt.OpacityValue, f"width / {max(len(ks), 1)} > {ROOM_FOR_A_NUMBER}", 1, 0)
    text = base.mark_text(style="name", aria=False, dy=-5).encode(text=alt.Text("text:N"), opacity=room)
    note = base.mark_text(style="figure", aria=False, dy=9).encode(text=alt.Text("note:N"), opacity=room)
    return alt.layer(cells, framed, text, note).properties(width="container", height=alt.Step(44))


def cluster_bars(tables: Mapping[str, pl.DataFrame], labels: Sequence[str], most: int) -> Any:
    """Return the label shares of the clusters that lean most, one bar each."""
    names = [display_text(label, 60) for label in labels]
    frame = tables["clusters"].filter("significant").head(most)
    rows, order = [], []
    for row in frame.iter_rows(named=True):
        name = cluster_name(row["words"], 4)
        while name in order:
            name += " "  # two clusters of the same words stay two bars
        order.append(name)
        rows += [
            {
                "cluster": name,
                "label": names[i],
                "order": i,
                "share": row[f"share_{label}"],
                "interval": f"{wording.percent(row[f'low_{label}'])} to {wording.percent(row[f'high_{label}'])}",
                "size": row["size"],
                "text": f"{wording.percent(row['share'], 0)} {display_text(row['label'], 30)} "
                f"of {wording.count(row['size'])}",
            }
            for i, label in enumerate(labels)
        ]
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("cluster:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[
            alt.Tooltip("cluster:N", title="cluster"),
            alt.Tooltip("label:N", title="label"),
            alt.Tooltip("share:Q", title="share", format=".1%"),
            alt.Tooltip("interval:N", title="95 % CI"),
            alt.Tooltip("size:Q", title="sentences", format=","),
        ],
    )
    x = alt.X(
        "share:Q",
        stack="zero",
        scale=alt.Scale(domain=[0, 1.28], nice=False),
        axis=percent_axis(None, values=[0, 0.25, 0.5, 0.75, 1]),
    )
    bars = base.mark_bar(height=15).encode(
        x=x, color=label_colour(names, symbolType="square"), order=alt.Order("order:Q")
    )
    text = (
        base.transform_filter("datum.order == 0")
        .mark_text(style="figure", align="left", dx=8, aria=False)
        .encode(x=alt.datum(1.0), text=alt.Text("text:N"))
    )
    return alt.layer(bars, text).properties(width="container", height=alt.Step(25))


def transformations(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Return the excess that is left when part of the texts' information is taken away."""
    rows = [
        {
            "name": row["transformation"].replace("_", " "),
            "excess": row["excess"],
            "text": f"{row['excess']:z.2f}" + ("" if row["p_value"] <= 0.05 else " (not significant)"),
            "p": wording.probability(row["p_value"]),
        }
        for row in tables["cluster_transformations"].iter_rows(named=True)
    ]
    excesses = [row["excess"] for row in rows]
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("name:N", sort=[row["name"] for row in rows], title=None),
        x=alt.X(
            "excess:Q",
            title="excess of PECO over shuffled labels",
            axis=alt.Axis(tickCount=4),
            # Room for the number behind the longest bar.
            scale=alt.Scale(domain=[min(0.0, *excesses), 1.3 * max(0.1, *excesses)], nice=False),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="texts"),
            alt.Tooltip("excess:Q", title="excess", format=".2f"),
            alt.Tooltip("p:N", title="p-value"),
        ],
    )
    bars = base.mark_bar(style="accent", height=15, cornerRadiusEnd=2)
    text = base.mark_text(style="figure", align="left", dx=6, aria=False).encode(text=alt.Text("text:N"))
    return alt.layer(bars, text).properties(width="container", height=alt.Step(30))


def confidence(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Return histograms of training confidence inside and outside biased clusters (PECO, Figure 8)."""
    rows = [
        {"low": round(row["low"], 4), "high": round(row["high"], 4), "where": where, "share": row[column]}
        for row in tables["cluster_confidence"].iter_rows(named=True)
        for where, column in (("in biased clusters", "biased_share"), ("in other clusters", "other_share"))
    ]
    base = alt.Chart(inline(rows)).encode(
        # Said to be binned, or bars with two ends on x are drawn as strips at their height.
        x=alt.X(
            "low:Q",
            bin="binned",
            title="confidence in the gold label during training",
            axis=alt.Axis(grid=False),
        ),
        x2=alt.X2("high:Q"),
        y=alt.Y("share:Q", axis=percent_axis("share of examples", tickCount=4), stack=None),
        tooltip=[
            alt.Tooltip("where:N", title="examples"),
            alt.Tooltip("low:Q", title="confidence from", format=".2f"),
            alt.Tooltip("share:Q", title="share", format=".1%"),
        ],
    )
    inside = base.transform_filter("datum.where == 'in biased clusters'").mark_bar(
        style="accent", opacity=0.75
    )
    outside = base.transform_filter("datum.where != 'in biased clusters'").mark_bar(
        style="quiet", opacity=0.75
    )
    return alt.layer(outside, inside).properties(width="container", height=230)
