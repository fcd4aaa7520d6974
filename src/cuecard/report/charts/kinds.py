"""The kinds of chart that a check can declare: bars, histograms, curves, heat maps, estimates, points and boxes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import altair as alt
import polars as pl
from altair.typing import ChartType
from altair.utils.schemapi import debug_mode

from cuecard.report.charts.cluster_map import draw_point_map
from cuecard.report.charts.cue_map import draw_cue_map
from cuecard.report.charts.drawing import (
    PERCENT_LABELS,
    SHAPES,
    SILENT,
    ZOOM_EVENTS,
    Value,
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
    specification,
    tooltip_of,
    written,
)
from cuecard.view import (
    Bars,
    Boxes,
    Chart,
    CueMap,
    HeatMap,
    Histogram,
    Intervals,
    Lines,
    Pairs,
    PointMap,
    Scatter,
)

#: Pixels that a number such as 12.3 needs in a cell.
ROOM_FOR_A_NUMBER = 34
#: The middle of the two colours of a heat map is light in both schemes of a report, so its ink is always dark.
INK = "#1c2128"
#: Panels of a chart have this size; a page that is narrower puts fewer beside each other.
PANEL = 240
MOST_BESIDE = 3


def draw_bars(chart: Bars) -> alt.LayerChart:
    """Return bars by name: one each, beside each other, stacked, or before a longer, pale one."""
    axis, colour = chart.x, chart.colour or chart.series
    # The place of a bar in its stack is that of its row.
    placed = chart.frame.with_columns(pl.int_range(pl.len()).over(chart.y).alias("place"))
    rows = rows_of(
        chart, chart.y, axis.column, chart.behind, chart.low, chart.high, chart.series, chart.colour, chart.fade,
        chart.text, "place", frame=placed,
    )  # fmt: skip
    base = alt.Chart(rows).encode(y=by_name(chart, chart.y), tooltip=tooltip_of(chart))
    series = ordered(chart, chart.series) if chart.series else []
    if series and not chart.stacked:
        base = base.encode(yOffset=alt.YOffset(f"{chart.series}:N", sort=series))
    thick = {} if series and not chart.stacked else {"height": 15}
    bars = base.mark_bar(
        cornerRadiusEnd=0 if chart.stacked else 2, **thick, **({} if colour else {"style": "accent"})
    )
    bars = bars.encode(x=along(alt.X, axis, **({"stack": "zero"} if chart.stacked else {})))
    if colour:
        bars = bars.encode(
            color=colour_of(chart, colour, legend=None if colour != chart.y else False, symbolType="square")
        )
    if chart.stacked:
        bars = bars.encode(order=alt.Order("place:Q"))
    if chart.fade:
        names = ordered(chart, chart.fade)
        scale = alt.Scale(domain=names, range=[1.0, 0.5, 0.3][: len(names)])
        legend = alt.Legend(title=None, symbolType="square") if len(names) > 1 else None
        bars = bars.encode(opacity=alt.Opacity(f"{chart.fade}:N", scale=scale, legend=legend))
    layers = [bars]
    if chart.behind:
        behind = base.mark_bar(style="quiet", height=15, cornerRadiusEnd=2)
        layers.insert(0, behind.encode(x=along(alt.X, axis, chart.behind)))
    if chart.low:
        span = base.mark_rule(style="name", strokeWidth=2)
        layers.append(span.encode(x=along(alt.X, axis, chart.low), x2=alt.X2(f"{chart.high}:Q")))
    if chart.text and chart.stacked:
        first = chart.frame.unique(chart.y, keep="first", maintain_order=True)
        named = alt.Chart(rows_of(chart, chart.y, chart.text, frame=first)).encode(y=alt.Y(f"{chart.y}:N"))
        layers += written(named.encode(x=alt.XDatum(1.0)), chart.text)
    elif chart.text:
        layers += written(base.encode(x=along(alt.X, axis, chart.behind or axis.column)), chart.text)
    return alt.layer(*layers, width="container", height=alt.Step(20 if thick == {} else 27))


def draw_histogram(chart: Histogram) -> alt.LayerChart:
    """Return bars from one end of a range to the other."""
    low, y = chart.low, along(alt.Y, chart.y, stack=None if chart.overlaid else "zero")
    # Said to be binned, or bars with two ends on x are drawn as strips at their height; a logarithmic axis has no bins.
    x = along(alt.X, low) if low.log else along(alt.X, low, bin="binned")
    groups = ordered(chart, chart.colour) if chart.overlaid else [""]
    layers: list[alt.Chart] = []
    for group, style in zip(groups, ("accent", "quiet"), strict=False):
        frame = chart.frame.filter(chart.frame[chart.colour] == group) if chart.overlaid else chart.frame
        rows = rows_of(chart, low.column, chart.high, chart.y.column, chart.colour, frame=frame)
        mark = {} if chart.colour and not chart.overlaid else {"style": style}
        bars = alt.Chart(rows).mark_bar(binSpacing=1, opacity=0.75 if chart.overlaid else 1, **mark)
        bars = bars.encode(x=x, x2=alt.X2(f"{chart.high}:Q"), y=y, tooltip=tooltip_of(chart))
        if low.log:
            bars = bars.encode(y2=alt.Y2Datum(0))
        if chart.colour and not chart.overlaid:
            bars = bars.encode(color=colour_of(chart, chart.colour, symbolType="square"))
        layers.insert(0, bars)
    if chart.line is not None:
        layers.append(dashed(alt.X, low, chart.line))
    return alt.layer(*layers, width="container", height=230)


def draw_lines(chart: Lines) -> alt.LayerChart | alt.FacetChart:
    """Return curves with their bands, in one panel or in several."""
    x_column, y_column = chart.x.column, chart.y.column
    rows = rows_of(
        chart, x_column, y_column, chart.colour, chart.low, chart.high, chart.reference, chart.facet
    )  # fmt: skip
    x = along(alt.X, chart.x)
    if chart.named:
        names, axis = ordered(chart, x_column), alt.Axis(title=chart.x.title, labelAngle=-40)
        x = alt.X(f"{x_column}:O", sort=names, axis=axis)
    base = alt.Chart(rows).encode(x=x)
    if chart.colour:
        base = base.encode(color=colour_of(chart, chart.colour, symbolType="stroke", symbolStrokeWidth=3))
    style = {} if chart.colour else {"style": "accent"}
    shape = {"interpolate": chart.shape}
    mean = {"aggregate": "mean"} if chart.mean else {}
    y = along(alt.Y, chart.y, **mean)
    layers: list[alt.Chart] = []
    if chart.level is not None:
        layers.append(dashed(alt.Y, chart.y, chart.level))
    if chart.low:
        ends = [{"aggregate": end} if chart.mean else {} for end in ("min", "max")]
        area = base.mark_area(style="quiet", opacity=0.4, **shape, **SILENT)
        band = base.mark_rule(opacity=0.5) if chart.named else area
        low = along(alt.Y, chart.y, chart.low, **ends[0])
        layers.append(band.encode(y=low, y2=alt.Y2(f"{chart.high}:Q", **ends[1])))
    if chart.filled:
        line = base.mark_area(line={"strokeWidth": 2.2}, fillOpacity=0.14, **shape, **SILENT, **style)
    else:
        line = base.mark_line(strokeWidth=2.2, **shape, **SILENT, **style)
    layers.append(line.encode(y=y, tooltip=tooltip_of(chart)) if chart.facet else line.encode(y=y))
    if chart.reference:
        dashes = base.mark_line(style="prior", **shape, **SILENT)
        layers.append(dashes.encode(y=along(alt.Y, chart.y, chart.reference)))
    points = base.encode(y=along(alt.Y, chart.y), tooltip=tooltip_of(chart))
    if chart.points:
        layers.append(points.mark_point(filled=True, size=44, opacity=0.8, **style))
    elif not chart.facet:
        fields = {"fields": [x_column], "nearest": True, "empty": False}
        near = alt.selection_point(name=f"near_{chart.name}", on="pointerover", clear="pointerout", **fields)
        dots = points.mark_point(filled=True, size=55, **SILENT, **style)
        layers.append(dots.encode(opacity=either(alt.OpacityValue, near, 1, 0)).add_params(near))
    if not chart.facet:
        return alt.layer(*layers, width="container", height=230)
    panels = alt.layer(*layers, width=PANEL, height=PANEL - 40)
    facet = alt.Facet(f"{chart.facet}:N", title=None, sort=ordered(chart, chart.facet))
    faceted = panels.facet(facet=facet, columns=MOST_BESIDE)
    # Otherwise an axis stands below every empty place of the last row.
    return faceted.resolve_scale(x="independent") if chart.named else faceted.resolve_axis(x="independent")


def draw_heat_map(chart: HeatMap) -> alt.LayerChart | alt.FacetChart:
    """Return cells: in one colour, the stronger the larger, or in two colours around a middle."""
    value = chart.value
    rows = rows_of(
        chart, chart.x, chart.y, value.column, chart.text, chart.note, chart.framed, chart.faint, chart.facet
    )  # fmt: skip
    columns: list[Value] = [*(chart.steps or ordered(chart, chart.x))]
    lines: list[Value] = columns[::-1] if chart.steps else [*ordered(chart, chart.y)]
    # Names of columns are slanted where there are many; numbers fit as they are.
    slanted = chart.middle is not None and not chart.facet and len(columns) > 4
    across = alt.Axis(
        title=chart.x_title or None,
        orient="bottom" if chart.facet else "top",
        labelAngle=-30 if slanted else 0,
        labelLimit=160,
    )
    up = alt.Axis(title=chart.y_title or None, labelLimit=220)
    base = alt.Chart(rows).encode(
        x=alt.X(f"{chart.x}:N", sort=columns, scale=_over(chart, columns), axis=across),
        y=alt.Y(f"{chart.y}:N", sort=lines, scale=_over(chart, lines), axis=up),
        tooltip=tooltip_of(chart),
    )
    if chart.middle is None:
        return _of_one_colour(chart, base, len(columns))
    sizes = [abs(number - chart.middle) for number in chart.frame[value.column].drop_nulls().drop_nans()]
    # Wider than the values, so that no cell is too dark for its text.
    reach = 1.6 * max(sizes, default=0.1) or 1.0
    domain = list(value.domain or (chart.middle - reach, chart.middle + reach))
    legend = alt.Legend(title=value.title, labelExpr=PERCENT_LABELS) if chart.facet else None
    scale = alt.Scale(scheme="blueorange", domain=domain, domainMid=chart.middle)
    cells = base.mark_rect(cornerRadius=2).encode(
        color=alt.Color(f"{value.column}:Q", scale=scale, legend=legend)
    )
    if chart.faint:
        cells = cells.encode(opacity=either(alt.OpacityValue, f"datum[{chart.faint!r}]", 0.3, 1.0))
    if chart.facet:
        panels = cells.properties(width=PANEL, height=PANEL)
        return panels.facet(
            column=alt.Column(f"{chart.facet}:N", title=None, sort=ordered(chart, chart.facet))
        )
    texts = _written_in_cells(chart, base)
    if chart.wide:
        return alt.layer(cells, *texts, width=alt.Step(100), height=alt.Step(24))
    # Numbers are written where a cell is wide enough for them; the tooltip has them in any case.
    room = _room_for_numbers(len(columns))
    return alt.layer(
        cells, *(text.encode(opacity=room) for text in texts), width="container", height=alt.Step(24)
    )


def _written_in_cells(chart: HeatMap, base: alt.Chart) -> list[alt.Chart]:
    """Return the text of cells: dark on a cell of full strength, in the ink of the scheme on one that is pale."""
    text = {"text": alt.Text(f"{chart.text}:N")}
    if not chart.faint:
        return [base.mark_text(fontSize=11, color=INK, **SILENT).encode(**text)]
    strong = base.transform_filter(f"!datum[{chart.faint!r}]").mark_text(fontSize=11, color=INK, **SILENT)
    pale = base.transform_filter(f"datum[{chart.faint!r}]").mark_text(style="name", fontSize=11, **SILENT)
    return [strong.encode(**text), pale.encode(**text)]


def _room_for_numbers(columns: int) -> alt.OpacityValue:
    return either(alt.OpacityValue, f"width / {max(columns, 1)} > {ROOM_FOR_A_NUMBER}", 1, 0)


def _over(chart: HeatMap, names: list[Value]) -> alt.Scale:
    return alt.Scale(domain=names) if chart.steps else alt.Scale()


def _of_one_colour(chart: HeatMap, base: alt.Chart, columns: int) -> alt.LayerChart:
    """Return cells whose strength says how much, so that both colour schemes of a report can show it."""
    top = max([*chart.frame[chart.value.column].drop_nulls().drop_nans(), 1e-9])
    scale = alt.Scale(domain=[0, top], range=[0.04, 0.62], clamp=True)
    layers = [
        base.mark_rect(style="accent", cornerRadius=3).encode(
            opacity=alt.Opacity(f"{chart.value.column}:Q", scale=scale, legend=None)
        )
    ]
    if chart.framed:
        framed = base.transform_filter(f"datum[{chart.framed!r}]")
        layers.append(framed.mark_rect(style="accent", cornerRadius=3, filled=False, strokeWidth=2.5))
    # Numbers are written where a cell is wide enough for them; the tooltip has them in any case.
    room = _room_for_numbers(columns)
    for column, style, down in ((chart.text, "name", -5), (chart.note, "figure", 9)):
        if column:
            text = base.mark_text(style=style, dy=down if chart.note else 0, **SILENT)
            layers.append(text.encode(text=alt.Text(f"{column}:N"), opacity=room))
    return alt.layer(*layers, width="container", height=alt.Step(44))


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
    return alt.layer(*layers, width="container", height=alt.Step(15 if chart.series else 26))


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
    return alt.layer(*layers, width="container", height=340 if chart.wide else 260)


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
        return alt.layer(lines, dots, width="container", height=280)
    item = by_name(chart, "item", [str(row["item"]) for row in rows])
    lines = lines.encode(y=item, x=along(alt.X, chart.axis, "from"), x2=alt.X2("to:Q"))
    dots = dots.encode(y=item, x=along(alt.X, chart.axis, "value"))
    return alt.layer(lines, dots, width="container", height=alt.Step(24))


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
    return alt.layer(whiskers, bodies, medians, width="container", height=340)


_DRAWN_BY: dict[type[Chart], Callable[[Any], ChartType]] = {
    Bars: draw_bars,
    Boxes: draw_boxes,
    CueMap: draw_cue_map,
    HeatMap: draw_heat_map,
    Histogram: draw_histogram,
    Intervals: draw_intervals,
    Lines: draw_lines,
    Pairs: draw_pairs,
    PointMap: draw_point_map,
    Scatter: draw_scatter,
}


def draw(chart: Chart) -> ChartType:
    """Return a declared chart as an Altair chart."""
    return _DRAWN_BY[type(chart)](chart)


def chart_specification(chart: Chart) -> dict[str, Any]:
    """Return the specification of a declared chart with its description, without colours.

    Altair's own checks, which go through every row several times, are left to the tests.
    """
    with debug_mode(False):
        return specification(draw(chart)) | {"description": chart.alt}
