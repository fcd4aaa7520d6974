"""Charts of the clusters: the map, the curve against shuffled labels, the sweep, and who leans where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard.report import numbers
from cuecard.report.charts.drawing import ZOOM_EVENTS, inline, label_colour, label_shape, percent_axis
from cuecard.report.texts import display_text

#: Thousands of marks are drawn as pixels, not as elements of the page.
CANVAS = {"embedOptions": {"renderer": "canvas"}}
#: Clusters whose divergence exceeds this stand out at first, as in the paper's Figure 1.
FIRST_THRESHOLD = 0.2
MOST_NAMES = 14
_MAP_HEIGHT = 520


def cluster_name(words: str, limit: int = 3) -> str:
    """Return the first words of a cluster as its name."""
    return display_text(", ".join(words.split(", ")[:limit]) or "no words", 60)


def cluster_map(tables: Mapping[str, pl.DataFrame], labels: Sequence[str]) -> Any:
    """Return the sentences in two dimensions; clusters above the threshold are large (PECO, Figure 1)."""
    threshold = threshold_slider([tables["clusters"]])
    layers = map_layers(tables, labels)
    layers[0] = layers[0].add_params(threshold)
    return alt.layer(*layers).properties(width="container", height=_MAP_HEIGHT, usermeta=CANVAS)


def threshold_slider(clusters: Sequence[pl.DataFrame]) -> Any:
    """Return the slider that says from which divergence on a cluster counts as biased."""
    top = max((float(frame["divergence_l2"].max() or 0.0) for frame in clusters), default=1.0)  # type: ignore[arg-type]
    return alt.param(
        name="threshold",
        value=FIRST_THRESHOLD if top > FIRST_THRESHOLD else round(top / 2, 2),
        bind=alt.binding_range(min=0, max=round(top + 0.01, 2), step=0.01, name="biased above "),
    )


def map_layers(tables: Mapping[str, pl.DataFrame], labels: Sequence[str], suffix: str = "") -> list[Any]:
    """Return points and names; both read the parameter `threshold`, above which a cluster stands out."""
    names = [display_text(label, 60) for label in labels]
    points, clusters = tables["cluster_map"], tables["clusters"]
    about = {row["cluster"]: row for row in clusters.iter_rows(named=True)}
    hidden = alt.Axis(labels=False, grid=False, title=None)
    chosen = alt.selection_point(fields=["label"], bind="legend", name=f"map_label{suffix}")
    zoom = alt.selection_interval(bind="scales", zoom=ZOOM_EVENTS, name=f"zoom_map{suffix}")
    base = (
        alt.Chart(inline(_map_points(points, about)))
        .transform_lookup(
            lookup="cluster",
            from_=alt.LookupData(
                inline(_map_facts(about)), key="cluster", fields=["words", "leans", "divergence"]
            ),
        )
        .encode(
            x=alt.X("x:Q", axis=hidden, scale=alt.Scale(zero=False, nice=False, padding=12)),
            y=alt.Y("y:Q", axis=hidden, scale=alt.Scale(zero=False, nice=False, padding=12)),
            color=label_colour(names, symbolSize=90, symbolOpacity=1),
            shape=label_shape(names, symbolSize=90, symbolOpacity=1),
            tooltip=[
                alt.Tooltip("text:N", title="text"),
                alt.Tooltip("label:N", title="label"),
                alt.Tooltip("words:N", title="cluster"),
                alt.Tooltip("leans:N", title="of it"),
                alt.Tooltip("divergence:Q", title="divergence", format=".3f"),
            ],
        )
    )
    # One layer, and no description per point: both halve what a move of the slider costs with many points.
    stands_out = "datum.divergence > threshold"
    drawn = base.mark_point(filled=True, strokeWidth=0, clip=True, aria=False).encode(
        size=alt.condition(stands_out, alt.value(62), alt.value(13)),
        opacity=alt.condition(
            chosen,
            alt.value(alt.expr(f"{stands_out} ? 0.72 : 0.42")),
            alt.value(0.04),
        ),
    )
    return [drawn.add_params(zoom, chosen), *_map_names(points, about)]


def _map_points(points: pl.DataFrame, about: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the points, those of the clusters that diverge most last: they are drawn over the others."""
    far = pl.col("cluster").replace_strict({key: row["divergence_l2"] for key, row in about.items()})
    return [
        {
            "x": round(row["x"], 2),
            "y": round(row["y"], 2),
            "label": display_text(row["label"], 60),
            "cluster": row["cluster"],
            "text": display_text(row["text"], 110),
        }
        for row in points.sort(far, maintain_order=True).iter_rows(named=True)
    ]


def _map_facts(about: Mapping[int, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return what hovering tells of a cluster, once per cluster instead of once per point."""
    return [
        {
            "cluster": key,
            "words": cluster_name(row["words"], 5),
            "leans": f"{numbers.percent(row['share'], 0)} {display_text(row['label'], 40)} "
            f"of {numbers.count(row['size'])}",
            "divergence": round(row["divergence_l2"], 4),
        }
        for key, row in about.items()
    ]


def _map_names(points: pl.DataFrame, about: Mapping[int, Mapping[str, Any]]) -> list[Any]:
    """Return the names of the clusters that lean most, each at the middle of its points."""
    middles = points.group_by("cluster").agg(pl.col("x").median(), pl.col("y").median(), n=pl.len())
    rows = [
        {
            "x": round(row["x"], 2),
            "y": round(row["y"], 2),
            "name": cluster_name(about[row["cluster"]]["words"], 2),
            "divergence": about[row["cluster"]]["divergence_l2"],
        }
        for row in middles.sort("cluster").iter_rows(named=True)
        if about[row["cluster"]]["significant"]
    ]
    rows = sorted(rows, key=lambda row: -row["divergence"])[:MOST_NAMES]
    written = (
        alt.Chart(inline(rows))
        .transform_filter("datum.divergence > threshold")
        .encode(x="x:Q", y="y:Q", text="name:N")
    )
    text = {"clip": True, "limit": 160, "tooltip": False, "fontSize": 13}
    return [written.mark_text(style="halo", **text), written.mark_text(style="name", fontWeight=600, **text)]


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
        y=alt.Y("low:Q", axis=percent_axis("clusters above", tickCount=5)), y2="high:Q"
    )
    null = base.mark_line(style="prior", interpolate="step-after").encode(y=alt.Y("null:Q"))
    seen = base.mark_area(
        style="accent", line={"strokeWidth": 2.2}, fillOpacity=0.14, interpolate="step-after"
    ).encode(y=y)
    return alt.layer(seen, band, null).properties(width="container", height=230)


def sweep(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Return the excess over shuffled labels for numbers of clusters and of components."""
    frame = tables["cluster_sweep"]
    top = max(float(frame["excess"].max() or 0.0), 1e-9)  # type: ignore[arg-type]
    rows = [
        {
            "k": str(row["k"]),
            "components": "all" if row["components"] == 0 else str(row["components"]),
            "excess": row["excess"],
            "strength": max(0.0, row["excess"]) / top,
            "score": row["peco_exact_l2"],
            "null": row["null_mean"],
            "p": numbers.probability(row["p_value"]),
            "left": row["clusters"],
            "starts": row["starts"],
            "headline": row["headline"],
            "text": f"{row['excess']:.1f}"
            + ("" if row["p_value"] <= 0.05 else " n.s.")
            + ("" if row["clusters"] == row["k"] else f" ({row['clusters']})"),
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
            alt.Tooltip("k:N", title="clusters asked for"),
            alt.Tooltip("left:Q", title="clusters left"),
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
    text = base.mark_text(style="name", aria=False).encode(text="text:N")
    return alt.layer(cells, framed, text).properties(width="container", height=alt.Step(44))


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
                "interval": f"{numbers.percent(row[f'low_{label}'])} to {numbers.percent(row[f'high_{label}'])}",
                "size": row["size"],
                "text": f"{numbers.percent(row['share'], 0)} {display_text(row['label'], 30)} "
                f"of {numbers.count(row['size'])}",
            }
            for i, label in enumerate(labels)
        ]
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("cluster:N", sort=order, title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[
            alt.Tooltip("cluster:N", title="cluster"),
            alt.Tooltip("label:N", title="label"),
            alt.Tooltip("share:Q", title="share", format=".1%"),
            alt.Tooltip("interval:N", title="95 % interval"),
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
    said = (
        base.transform_filter("datum.order == 0")
        .mark_text(style="figure", align="left", dx=8, aria=False)
        .encode(x=alt.datum(1.0), text="text:N")
    )
    return alt.layer(bars, said).properties(width="container", height=alt.Step(25))


def transformations(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Return the excess that is left when part of the texts' information is taken away."""
    rows = [
        {
            "name": row["transformation"].replace("_", " "),
            "excess": row["excess"],
            "text": f"{row['excess']:.2f}" + ("" if row["p_value"] <= 0.05 else " (not significant)"),
            "p": numbers.probability(row["p_value"]),
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
    text = base.mark_text(style="figure", align="left", dx=6, aria=False).encode(text="text:N")
    return alt.layer(bars, text).properties(width="container", height=alt.Step(30))


def confidence(tables: Mapping[str, pl.DataFrame]) -> Any:
    """Return histograms of training confidence inside and outside biased clusters (PECO, Figure 8)."""
    rows = [
        {"low": round(row["low"], 4), "high": round(row["high"], 4), "where": where, "share": row[column]}
        for row in tables["cluster_confidence"].iter_rows(named=True)
        for where, column in (("in biased clusters", "biased_share"), ("in other clusters", "other_share"))
    ]
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("low:Q", title="confidence in the gold label during training", axis=alt.Axis(grid=False)),
        x2="high:Q",
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
