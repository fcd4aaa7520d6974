"""Kinds of chart made of dots: estimates with intervals, points in two dimensions, pairs of values, and boxes."""

from __future__ import annotations

import altair as alt

from cuecard.report.charts.drawing import (
    SHAPES,
    SILENT,
    ZOOM_EVENTS,
    along,
    by_name,
    colour_of,
    dashed,
    either,
    inline,
    ordered,
    rows_of,
    shape_of,
    shown,
    tooltip_of,
    written,
)
from cuecard.view import Boxes, Intervals, Pairs, Scatter

ACCENT = {"style": "accent"}


def draw_intervals(chart: Intervals) -> alt.LayerChart:
    """Return a dot with its interval per row, or per row and series."""
    axis, grouped = chart.x, chart.series or chart.colour
    rows = rows_of(
        chart, chart.y, axis.column, chart.low, chart.high, grouped, chart.differs, chart.tick, chart.second, chart.text
    )  # fmt: skip
    base = alt.Chart(rows).encode(y=by_name(chart, chart.y), tooltip=tooltip_of(chart))
    if chart.series:
        base = base.encode(yOffset=alt.YOffset(f"{chart.series}:N", sort=ordered(chart, chart.series)))
    plain = base
    if grouped:
        base = base.encode(color=colour_of(chart, grouped, legend=chart.legend))
    style = {} if grouped else ACCENT
    layers: list[alt.Chart] = []
    if chart.line is not None:
        layers.append(dashed(alt.X, axis, chart.line))
    if chart.low:
        span = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.4, **style)
        layers.append(span.encode(x=along(alt.X, axis, chart.low), x2=alt.X2(f"{chart.high}:Q")))
    if chart.tick:
        tick = base.mark_tick(style="prior", thickness=2, height=14)
        layers.append(tick.encode(x=along(alt.X, axis, chart.tick)))
    point = base.mark_point(filled=True, size=75, opacity=1, **style).encode(x=along(alt.X, axis))
    if chart.differs:
        scale = alt.Scale(domain=[True, False], range=["circle", "triangle-up"])
        point = point.encode(shape=alt.Shape(f"{chart.differs}:N", scale=scale, legend=None))
    elif grouped and not chart.second and chart.legend is not False:
        point = point.encode(shape=shape_of(chart, grouped, legend=chart.legend))
    layers.append(point)
    if chart.second:
        hollow = base.mark_point(style="hollow", size=55, shape="diamond", strokeWidth=1.8, opacity=1)
        layers.append(hollow.encode(x=along(alt.X, axis, chart.second)))
    if chart.text:
        behind = plain.encode(x=along(alt.X, axis, chart.high or axis.column))
        layers += written(behind, chart.text, ("halo", "figure"))
    return alt.layer(*layers).properties(width="container", height=alt.Step(15 if chart.series else 26))


def draw_scatter(chart: Scatter) -> alt.LayerChart:
    """Return points in two dimensions, with what joins, names or measures them."""
    x, y = along(alt.X, chart.x), along(alt.Y, chart.y)
    rows = rows_of(
        chart, chart.x.column, chart.y.column, chart.colour, chart.size, chart.text, chart.x_low, chart.x_high,
        chart.low, chart.high, chart.chosen,
    )  # fmt: skip
    base = plain = alt.Chart(rows).encode(x=x, y=y)
    if chart.colour:
        base = base.encode(color=colour_of(chart, chart.colour, symbolSize=90))
    style = {} if chart.colour else ACCENT
    layers: list[alt.Chart] = []
    if chart.diagonal:
        ends = inline({chart.x.column: end, chart.y.column: end} for end in (0.0, 1.0))
        layers.append(alt.Chart(ends).mark_line(style="prior", **SILENT).encode(x=x, y=y))
    if chart.line is not None:
        layers.append(dashed(alt.X, chart.x, chart.line))
    if chart.joined:
        layers.append(base.mark_line(style="quiet", strokeWidth=2, **SILENT))
    if chart.x_low:
        wide = base.mark_rule(opacity=0.35, **SILENT, **style)
        layers.append(wide.encode(x=along(alt.X, chart.x, chart.x_low), x2=alt.X2(f"{chart.x_high}:Q")))
    if chart.low:
        tall = base.mark_rule(opacity=0.35, **SILENT, **style)
        layers.append(tall.encode(y=along(alt.Y, chart.y, chart.low), y2=alt.Y2(f"{chart.high}:Q")))
    points = base.mark_point(filled=True, size=70, opacity=0.75, clip=True, **SILENT, **style)
    points = points.encode(tooltip=tooltip_of(chart))
    if chart.colour:
        points = points.encode(shape=shape_of(chart, chart.colour, symbolSize=90))
    if chart.chosen:
        points = points.encode(size=either(alt.SizeValue, f"datum[{chart.chosen!r}]", 180, 60))
    elif chart.size:
        scale = alt.Scale(type="sqrt", range=[15, 300])
        points = points.encode(size=alt.Size(f"{chart.size}:Q", scale=scale, legend=None))
    if chart.size:  # of many points
        zoom = alt.selection_interval(bind="scales", zoom=ZOOM_EVENTS, name=f"zoom_{chart.name}")
        points = points.add_params(zoom)
    layers.append(points)
    if chart.text:
        place = {"align": "right", "dx": -8} if chart.joined else {}
        layers += written(plain, chart.text, ("halo", "figure"), dy=-6, **place)
    return alt.layer(*layers).properties(width="container", height=340 if chart.wide else 260)


def draw_pairs(chart: Pairs) -> alt.LayerChart:
    """Return two marks per thing, before and after, joined by a line."""
    columns = dict(zip(chart.names, (chart.before, chart.after), strict=True))
    frame = chart.frame.with_row_index("rank", offset=1)
    rows = [
        {
            "item": shown(row[chart.item]),
            "rank": row["rank"],
            "from": row[chart.before],
            "to": row[chart.after],
        }
        | {f"{name} said": column.write(row[name]) for name, column in chart.hints.items()}
        for row in frame.iter_rows(named=True)
    ]
    marks = [
        {**row, "version": name, "value": row[key]}
        for row in rows
        for name, key in zip(columns, ("from", "to"), strict=True)
        if row[key] is not None
    ]
    joined = [row for row in rows if None not in (row["from"], row["to"])]
    lines = alt.Chart(inline(joined)).mark_rule(style="quiet", strokeWidth=1.5, **SILENT)
    dots = alt.Chart(inline(marks)).mark_point(
        filled=True, size=50 if chart.ranked else 70, opacity=0.9, **SILENT
    )
    names, legend = list(columns), alt.Legend(title=None, symbolSize=80)
    dots = dots.encode(
        color=alt.Color("version:N", scale=alt.Scale(domain=names), legend=legend),
        shape=alt.Shape(
            "version:N", scale=alt.Scale(domain=names, range=[SHAPES[3], SHAPES[0]]), legend=legend
        ),
        tooltip=[alt.Tooltip(f"{name} said:N", title=column.title) for name, column in chart.hints.items()],
    )
    if chart.ranked:
        place = alt.X(
            "rank:Q",
            title=chart.ranked,
            axis=alt.Axis(grid=False, tickMinStep=1),
            scale=alt.Scale(domain=[0, len(rows) + 1], nice=False),
        )
        lines = lines.encode(x=place, y=along(alt.Y, chart.axis, "from"), y2=alt.Y2("to:Q"))
        dots = dots.encode(x=place, y=along(alt.Y, chart.axis, "value"))
        return alt.layer(lines, dots).properties(width="container", height=280)
    item = by_name(chart, "item", [str(row["item"]) for row in rows])
    lines = lines.encode(y=item, x=along(alt.X, chart.axis, "from"), x2=alt.X2("to:Q"))
    dots = dots.encode(y=item, x=along(alt.X, chart.axis, "value"))
    return alt.layer(lines, dots).properties(width="container", height=alt.Step(24))


def draw_boxes(chart: Boxes) -> alt.LayerChart:
    """Return Tukey boxes: whiskers, the middle half and the median."""
    rows = rows_of(chart, chart.x, chart.colour, "low", "q1", "median", "q3", "high")
    axis = alt.Axis(title=chart.x_title, labelAngle=0)
    base = alt.Chart(rows).encode(
        x=alt.X(f"{chart.x}:N", sort=ordered(chart, chart.x), axis=axis),
        xOffset=alt.XOffset(f"{chart.colour}:N", sort=ordered(chart, chart.colour)),
        color=colour_of(chart, chart.colour, symbolSize=90),
    )
    whiskers = base.mark_rule(**SILENT).encode(y=along(alt.Y, chart.y, "low"), y2=alt.Y2("high:Q"))
    bodies = base.mark_bar(opacity=0.55, size=14, **SILENT).encode(
        y=along(alt.Y, chart.y, "q1"), y2=alt.Y2("q3:Q"), tooltip=tooltip_of(chart)
    )
    medians = base.mark_tick(size=14, thickness=2, **SILENT).encode(y=along(alt.Y, chart.y, "median"))
    return alt.layer(whiskers, bodies, medians).properties(width="container", height=340)
