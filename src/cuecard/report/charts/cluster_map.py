"""The map of the clusters: sentences in two dimensions, those of biased clusters large (PECO, Figure 1)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from cuecard import wording
from cuecard.analysis import Summary
from cuecard.audits.clusters.view import cluster_name
from cuecard.report.charts.drawing import ZOOM_EVENTS, colour_of, either, inline, shape_of
from cuecard.view import PointMap
from cuecard.wording import display_text

#: Thousands of marks are drawn as pixels, not as elements of the page.
CANVAS = {"embedOptions": {"renderer": "canvas"}}
#: Clusters whose divergence exceeds this stand out at first, as in the paper's Figure 1.
FIRST_THRESHOLD = 0.2
MOST_NAMES = 14
_MAP_HEIGHT = 520


def draw_point_map(chart: PointMap) -> alt.LayerChart:
    """Return texts in two dimensions; clusters above the threshold are large (PECO, Figure 1)."""
    layers = map_layers(chart)
    layers[0] = layers[0].add_params(threshold_slider([chart.clusters]))
    return alt.layer(*layers, width="container", height=_MAP_HEIGHT, usermeta=CANVAS)


def maps_side_by_side(charts: Sequence[PointMap]) -> alt.ConcatChart:
    """Return the maps of several sets, named by their titles, under one threshold (PECO, Figure 1)."""
    maps = [
        alt.layer(*map_layers(chart, suffix=f"_{i}")).properties(
            width=430, height=430, title=alt.TitleParams(display_text(chart.title, 60), anchor="start")
        )
        for i, chart in enumerate(charts)
    ]
    threshold = threshold_slider([chart.clusters for chart in charts])
    return alt.concat(*maps, columns=2).add_params(threshold).properties(usermeta=CANVAS)


def threshold_slider(clusters: Sequence[pl.DataFrame]) -> alt.Parameter:
    """Return the slider that says from which divergence on a cluster counts as biased."""
    top = max(
        (max([0.0, *frame["divergence_l2"].drop_nulls().drop_nans()]) for frame in clusters), default=1.0
    )
    return alt.param(
        name="threshold",
        value=FIRST_THRESHOLD if top > FIRST_THRESHOLD else round(top / 2, 2),
        bind=alt.binding_range(min=0, max=round(top + 0.01, 2), step=0.01, name="biased above "),
    )


def map_layers(chart: PointMap, suffix: str = "") -> list[alt.Chart]:
    """Return points and names; both read the parameter `threshold`, above which a cluster stands out."""
    points, clusters = chart.frame, chart.clusters
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
            color=colour_of(chart, "label", symbolSize=90, symbolOpacity=1),
            shape=shape_of(chart, "label", symbolSize=90, symbolOpacity=1),
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
        size=either(alt.SizeValue, stands_out, 62, 13),
        opacity=either(alt.OpacityValue, chosen, alt.expr(f"{stands_out} ? 0.72 : 0.42"), 0.04),
    )
    return [drawn.add_params(zoom, chosen), *_map_names(points, about)]


def _map_points(points: pl.DataFrame, about: Mapping[int, Summary]) -> list[dict[str, Any]]:
    """Return the points, those of the clusters that diverge most last: they are drawn over the others."""
    far = pl.col("cluster").replace_strict({key: row["divergence_l2"] for key, row in about.items()})
    return [
        {
            "x": row["x"],
            "y": row["y"],
            "label": display_text(row["label"], 60),
            "cluster": row["cluster"],
            "text": display_text(row["text"], 110),
        }
        for row in _placed(points).sort(far, maintain_order=True).iter_rows(named=True)
    ]


def _placed(points: pl.DataFrame) -> pl.DataFrame:
    """Return the points with coordinates as short as the finest screen allows, whatever their unit."""
    span = float(np.ptp(points.select("x", "y").to_numpy(), axis=0).max(initial=1e-12))
    digits = max(0, 4 - math.floor(math.log10(span)))
    return points.with_columns(pl.col("x", "y").cast(pl.Float64).round(digits))


def _map_facts(about: Mapping[int, Summary]) -> list[dict[str, Any]]:
    """Return what hovering shows about a cluster, once per cluster instead of once per point."""
    return [
        {
            "cluster": key,
            "words": cluster_name(row["words"], 5),
            "leans": f"{wording.percent(row['share'], 0)} {display_text(row['label'], 40)} "
            f"of {wording.count(row['size'])}",
            "divergence": round(row["divergence_l2"], 4),
        }
        for key, row in about.items()
    ]


def _map_names(points: pl.DataFrame, about: Mapping[int, Summary]) -> list[alt.Chart]:
    """Return the names of the clusters that lean most, each at the middle of its points."""
    middles = _placed(points).group_by("cluster").agg(pl.col("x").median(), pl.col("y").median())
    rows = [
        {
            "x": row["x"],
            "y": row["y"],
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
        .encode(x=alt.X("x:Q"), y=alt.Y("y:Q"), text=alt.Text("name:N"))
    )
    text = {"clip": True, "limit": 160, "tooltip": False, "fontSize": 13}
    return [written.mark_text(style="halo", **text), written.mark_text(style="name", fontWeight=600, **text)]
