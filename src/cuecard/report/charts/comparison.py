"""Charts over several datasets: saturation against bias, correlations, maps side by side (PECO, Figures 1–7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
from altair.typing import ChartType

from cuecard import wording
from cuecard.analysis import Summary
from cuecard.audits.clusters.audit import EXCESS
from cuecard.audits.clusters.audit import NAME as CLUSTERS
from cuecard.audits.clusters.view import HOW_TO_READ
from cuecard.audits.partial_input.measures import NAME as PARTIAL_INPUT
from cuecard.card.card import Card, value_of
from cuecard.errors import InputError
from cuecard.report.charts.cluster_map import maps_side_by_side
from cuecard.report.charts.drawing import inline, percent_axis
from cuecard.report.dataset_comparison import comparison_table, correlate
from cuecard.report.html.chart_page import check_chart_path, write_chart
from cuecard.view import PointMap
from cuecard.wording import display_text, listed

_SHAPES = {"hypothesis": "circle", "premise": "triangle-up", "choices": "square"}
#: The size of a chart for which names are kept apart.
_SIZE = (560.0, 300.0)

#: What the columns of a comparison are called on an axis, and whether they are fractions.
AXES: dict[str, tuple[str, bool]] = {
    "psc": ("full-input accuracy", True),
    "ssc": ("partial-input accuracy", True),
    "sota": ("best published accuracy", True),
    "delta_maj": ("partial-input accuracy above the majority baseline", True),
    "recovered": ("partial-input accuracy divided by full-input accuracy", True),
    "nba": ("agreement of full and partial input (NBA)", True),
    "nbr": ("both correct among agreements (NBR)", True),
    "nbr_released": ("both correct among correct with the full input", True),
    "tra": ("token relevance agreement (TRA)", True),
    "peco": ("PECO", False),
    "peco_released": ("PECO as released", False),
    "peco_excess": ("excess of PECO over shuffled labels", False),
}

#: The correlation figures of the PECO paper: columns on x and y.
FIGURES: Mapping[int, tuple[str, str]] = {
    3: ("sota", "psc"),
    5: ("nbr_released", "recovered"),
    6: ("tra", "ssc"),
    7: ("peco_released", "recovered"),
}


def saturation_map(table: pl.DataFrame) -> alt.LayerChart:
    """Return every dataset by accuracy with the full and with one text: good benchmarks lie low and left.

    Both conditions of a dataset are joined by a dotted line with a tick at their mean (PECO, Figure 2).
    """
    complete = table.drop_nulls(["psc", "ssc"])
    rows = [
        {
            "name": display_text(row["name"], 40),
            "condition": row["condition"],
            "psc": row["psc"],
            "ssc": row["ssc"],
            "majority": wording.percent(row["majority"]),
        }
        for row in complete.iter_rows(named=True)
    ]
    joined = (
        complete.group_by("name", maintain_order=True)
        .agg(pl.col("psc").first(), low=pl.col("ssc").min(), high=pl.col("ssc").max(), n=pl.len())
        .filter(pl.col("n") > 1)
        .with_columns(mean=(pl.col("low") + pl.col("high")) / 2)
    )
    x = alt.X("psc:Q", **_axis_and_scale("psc", complete))
    height = _axis_and_scale("ssc", complete)
    pairs = alt.Chart(inline(joined.iter_rows(named=True)))
    rule = pairs.mark_rule(style="prior").encode(x=x, y=alt.Y("low:Q", **height), y2=alt.Y2("high:Q"))
    middle = pairs.mark_tick(style="figure", orient="horizontal", size=12, thickness=2).encode(
        x=x, y=alt.Y("mean:Q", **height)
    )
    y = alt.Y("ssc:Q", **height)
    base = alt.Chart(inline(rows)).encode(x=x, y=y)
    shapes = {name: shape for name, shape in _SHAPES.items() if name in complete["condition"]}
    shape = alt.Shape(
        "condition:N",
        scale=alt.Scale(domain=list(shapes), range=list(shapes.values())),
        legend=alt.Legend() if len(shapes) > 1 else None,
    )
    points = base.mark_point(style="accent", filled=True, size=90, opacity=0.9).encode(
        shape=shape,
        tooltip=[
            alt.Tooltip("name:N", title="dataset"),
            alt.Tooltip("condition:N", title="input"),
            alt.Tooltip("ssc:Q", title="partial input", format=".1%"),
            alt.Tooltip("psc:Q", title="full input", format=".1%"),
            alt.Tooltip("majority:N", title="majority baseline"),
        ],
    )
    names = _written(rows, x, y, ("psc", "ssc"))
    return alt.layer(rule, middle, points, *names).properties(width="container", height=420)


def correlation_chart(table: pl.DataFrame, x: str, y: str, *, identity: bool = False) -> alt.LayerChart:
    """Return two columns of a comparison against each other with the trend line and its correlation.

    `identity` adds the line on which both are equal, as in the paper's Figure 3.
    """
    complete = table.drop_nulls([x, y])
    rows = [{"name": _row_name(row), "x": row[x], "y": row[y]} for row in complete.iter_rows(named=True)]
    across, up = (
        alt.X("x:Q", **_axis_and_scale(x, complete)),
        alt.Y("y:Q", **_axis_and_scale(y, complete)),
    )
    base = alt.Chart(inline(rows)).encode(x=across, y=up)
    points = base.mark_point(style="accent", filled=True, size=80, opacity=0.9, shape="circle").encode(
        tooltip=[
            alt.Tooltip("name:N", title="dataset"),
            alt.Tooltip("x:Q", title=AXES[x][0], format=".1%" if AXES[x][1] else ".2f"),
            alt.Tooltip("y:Q", title=AXES[y][0], format=".1%" if AXES[y][1] else ".2f"),
        ]
    )
    layers = [points, *_written(rows, across, up, ("x", "y"))]
    fit = correlate(table, x, y)
    correlation = "too few datasets for a correlation"
    if fit is not None:
        ends = [min(row["x"] for row in rows), max(row["x"] for row in rows)]
        line = [{"x": end, "y": fit.intercept + fit.slope * end} for end in ends]
        trend = alt.Chart(inline(line)).mark_line(style="accent", strokeWidth=1.5, opacity=0.55)
        layers.insert(0, trend.encode(x=alt.X("x:Q"), y=alt.Y("y:Q")))
        correlation = f"r = {fit.r:z.2f} (95 % CI {fit.low:z.2f} to {fit.high:z.2f}), {fit.n} points"
    if identity and rows:
        low = max(min(row["x"] for row in rows), min(row["y"] for row in rows))
        high = min(max(row["x"] for row in rows), max(row["y"] for row in rows))
        equal = alt.Chart(inline([{"x": low, "y": low}, {"x": high, "y": high}]))
        layers.insert(0, equal.mark_line(style="prior").encode(x=alt.X("x:Q"), y=alt.Y("y:Q")))
    title = alt.TitleParams(correlation, anchor="start", fontWeight="normal")
    return alt.layer(*layers).properties(width="container", height=320, title=title)


def excess_chart(scored: Sequence[tuple[str, Card]]) -> alt.LayerChart:
    """Return what the clusters of every (name, card) give away beyond chance, with its interval, most first.

    Sets are ranked by the label information of their clusters, which does not depend on the number of clusters or
    sentences; by the excess of PECO, in the order of the cards, where a card of an earlier version has no bits.
    """
    have_bits = all(any(m.name == "clusters.information" for m in card.all_measures()) for _, card in scored)
    size, axis, title = (
        ("information", "label information of the clusters (bits)", "Label information of the clusters")
        if have_bits
        else ("excess", AXES["peco_excess"][0], "PECO above chance")
    )
    rows: list[dict[str, Any]] = []
    for name, card in scored:
        beyond, excess, peco, p = (
            card.measure(f"clusters.{measure}") for measure in (size, "excess", "peco", "p")
        )
        rows.append(
            {
                "name": display_text(name, 40),
                "beyond": beyond.value,
                "excess": excess.value,
                "low": beyond.low,
                "high": beyond.high,
                "score": peco.value,
                "null": peco.chance,
                "p": wording.in_unit(p.value, "p"),
            }
        )
    if have_bits:
        rows.sort(key=lambda row: -(row["beyond"] or 0.0))
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("name:N", sort=[row["name"] for row in rows], title=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[
            alt.Tooltip("name:N", title="dataset"),
            alt.Tooltip("score:Q", title="PECO", format=".2f"),
            alt.Tooltip("null:Q", title="with shuffled labels", format=".2f"),
            alt.Tooltip("excess:Q", title="excess", format=".2f"),
            alt.Tooltip("beyond:Q", title=size, format=".3f"),
            alt.Tooltip("low:Q", title="CI low", format=".3f"),
            alt.Tooltip("high:Q", title="CI high", format=".3f"),
            alt.Tooltip("p:N", title="p-value"),
        ],
    )
    x = alt.X("low:Q", title=axis, axis=alt.Axis(tickCount=6))
    interval = base.mark_rule(style="accent", strokeWidth=2, opacity=0.6).encode(x=x, x2=alt.X2("high:Q"))
    point = base.mark_point(style="accent", filled=True, size=70, opacity=1).encode(x=alt.X("beyond:Q"))
    chance = alt.Chart(inline([{"x": 0.0}])).mark_rule(style="prior").encode(x=alt.X("x:Q"))
    heading = alt.TitleParams(f"{title}, with 95 % CIs", anchor="start")
    return alt.layer(chance, interval, point).properties(
        width="container", height=alt.Step(28), title=heading
    )


def _row_name(row: Summary) -> str:
    condition = row.get("condition")
    return display_text(row["name"], 40) + (", premise" if condition == "premise" else "")


def _axis_and_scale(column: str, table: pl.DataFrame) -> dict[str, Any]:
    """Return axis and scale of a column, with room for names on the right."""
    title, rate = AXES[column]
    values = table[column].to_list() or [0.0, 1.0]
    room = max(0.06 * (max(values) - min(values)), 1e-3)
    axis = percent_axis(title, tickCount=6) if rate else alt.Axis(title=title, tickCount=6)
    scale = alt.Scale(domain=[min(values) - room, max(values) + 2.5 * room], nice=False, zero=False)
    return {"axis": axis, "scale": scale}


#: Where a name can stand beside its point, best first: how text is set, and its box relative to the point.
_PLACES: Mapping[str, tuple[dict[str, Any], Callable[[float], tuple[float, float, float]]]] = {
    "right": ({"align": "left", "dx": 8}, lambda width: (8, width + 8, 0)),
    "left": ({"align": "right", "dx": -8}, lambda width: (-width - 8, -8, 0)),
    "above": ({"align": "center", "dy": -13}, lambda width: (-width / 2, width / 2, -13)),
    "below": ({"align": "center", "dy": 14}, lambda width: (-width / 2, width / 2, 14)),
}


def _written(rows: Sequence[Summary], x: alt.X, y: alt.Y, fields: tuple[str, str]) -> list[alt.Chart]:
    """Return the names beside their points, each where it hides neither a name nor a point."""
    layers = []
    placed = _placed(rows, fields)
    for place, (text, _) in _PLACES.items():
        here = [row for row in placed if row["place"] == place]
        if here:
            base = alt.Chart(inline(here)).encode(x=x, y=y, text=alt.Text("name:N"))
            options = {**text, "aria": False, "tooltip": False}
            layers += [base.mark_text(style="halo", **options), base.mark_text(style="name", **options)]
    return layers


def _placed(rows: Sequence[Summary], fields: tuple[str, str]) -> list[dict[str, Any]]:
    if not rows:
        return []
    places = [
        [(row[field] - min(r[field] for r in rows)) / _span(rows, field) * size for row in rows]
        for field, size in zip(fields, _SIZE, strict=True)
    ]
    points = [(a, _SIZE[1] - b) for a, b in zip(*places, strict=True)]
    taken = [(a - 5, a + 5, b) for a, b in points]
    placed = []
    for row, (across, down) in zip(rows, points, strict=True):
        boxes = {
            place: (across + left, across + right, down + lower)
            for place, (_, box) in _PLACES.items()
            for left, right, lower in [box(6.6 * len(row["name"]))]
        }
        free = {
            place: sum(left < b and a < right and abs(middle - m) < 13 for a, b, m in taken)
            for place, (left, right, middle) in boxes.items()
        }
        best = min(free, key=lambda place: free[place])
        taken.append(boxes[best])
        placed.append({**row, "place": best})
    return placed


def _span(rows: Sequence[Summary], field: str) -> float:
    values = [float(row[field]) for row in rows]
    return max(max(values) - min(values), 1e-9)


#: A correlation of fewer datasets says nothing.
FEWEST_FOR_A_TREND = 3


def comparison_charts(cards: Sequence[Card]) -> list[ChartType]:
    """Return every chart that the cards have the numbers for; none where they have none in common."""
    names = _names(cards)
    table = comparison_table(cards, names)
    charts = []
    if table.drop_nulls(["psc", "ssc"]).height:
        charts.append(saturation_map(table).properties(width=860, title="Full input and partial input"))
    for x, y in FIGURES.values():
        if {x, y} <= set(table.columns) and table.drop_nulls([x, y]).height >= FEWEST_FOR_A_TREND:
            charts.append(correlation_chart(table, x, y, identity=x == "sota").properties(width=860))
    scored = [
        (name, card)
        for name, card in zip(names, cards, strict=True)
        if value_of(card, EXCESS.named(CLUSTERS)) is not None
    ]
    if scored:
        charts.append(excess_chart(scored).properties(width=860))
    mapped = [
        PointMap(
            title=name,
            data=card.tables["cluster_map"],
            clusters=card.tables["clusters"],
            colours=card.dataset.labels,
            alt=HOW_TO_READ,
        )
        for name, card in zip(names, cards, strict=True)
        if "cluster_map" in card.tables
    ]
    if mapped:
        maps = maps_side_by_side(mapped)
        maps.usermeta = alt.Undefined  # a wish about the renderer, which only a whole page can have
        charts.append(maps)
    return charts


def write_comparison_charts(cards: Sequence[Card], path: str | Path) -> Path:
    """Write the charts as one page that opens offline, or as .png or .svg, and return its path."""
    path = check_chart_path(path)
    charts = comparison_charts(cards)
    if not charts:
        raise InputError(
            f"The cards have no partial-input accuracies and no clusters to draw; run the audits {PARTIAL_INPUT} or "
            f"{CLUSTERS}."
        )
    apart = {"color": "independent", "shape": "independent", "size": "independent"}
    page = alt.vconcat(*charts, spacing=40).resolve_scale(**apart)
    return write_chart(page, path, title="Comparison of datasets", note=_note(cards))


def _has(card: Card, name: str) -> bool:
    return name in card.sections and card.sections[name].status == "done"


def _embedding(card: Card) -> str:
    return str(card.sections[CLUSTERS].parameters.get("embed", ""))


def _names(cards: Sequence[Card]) -> list[str]:
    """Return the names of the datasets, with the embedding and then a number where they are the same."""
    names = [card.dataset.name for card in cards]
    for i, card in enumerate(cards):
        if [c.dataset.name for c in cards].count(card.dataset.name) > 1 and _has(card, CLUSTERS):
            names[i] += f", {Path(_embedding(card)).name}"
    return [
        name if names.count(name) == 1 else f"{name} ({names[: i + 1].count(name)})"
        for i, name in enumerate(names)
    ]


def _note(cards: Sequence[Card]) -> str:
    """Return how to read the maps, and which charts need an audit that no card has."""
    sentences = []
    if any("cluster_map" in card.tables for card in cards):
        sentences.append(HOW_TO_READ)
    embeddings = {_embedding(card) for card in cards if _has(card, CLUSTERS)}
    if len(embeddings) > 1:
        sentences.append("Scores of different embeddings are not comparable.")
    missing = [
        f"{chart} ({audit})"
        for chart, audit in (
            ("accuracy with full and partial input", PARTIAL_INPUT),
            ("excess of PECO", CLUSTERS),
        )
        if not any(_has(card, audit) for card in cards)
    ]
    if missing:
        sentences.append(f"Not drawn, because no card has the audit: {listed(missing)}.")
    return " ".join(sentences)
