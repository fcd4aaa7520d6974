"""Kinds of chart made of areas and lines: bars, histograms, curves and heat maps."""

from __future__ import annotations

import altair as alt
import polars as pl

from cuecard.report.charts.drawing import (
    PERCENT_LABELS,
    SILENT,
    Value,
    along,
    by_name,
    colour_of,
    dashed,
    either,
    ordered,
    rows_of,
    tooltip_of,
    written,
)
from cuecard.view import Bars, HeatMap, Histogram, Lines

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
    return alt.layer(*layers).properties(width="container", height=alt.Step(20 if thick == {} else 27))


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
    return alt.layer(*layers).properties(width="container", height=230)


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
        return alt.layer(*layers).properties(width="container", height=230)
    panels = alt.layer(*layers).properties(width=PANEL, height=PANEL - 40)
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
        cells = cells.encode(opacity=either(alt.OpacityValue, f"datum[{chart.faint!r}]", 0.5, 1.0))
    if chart.facet:
        panels = cells.properties(width=PANEL, height=PANEL)
        return panels.facet(
            column=alt.Column(f"{chart.facet}:N", title=None, sort=ordered(chart, chart.facet))
        )
    text = base.mark_text(fontSize=11, color=INK, **SILENT).encode(text=alt.Text(f"{chart.text}:N"))
    return alt.layer(cells, text).properties(width=alt.Step(100), height=alt.Step(24))


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
    room = either(alt.OpacityValue, f"width / {max(columns, 1)} > {ROOM_FOR_A_NUMBER}", 1, 0)
    for column, style, down in ((chart.text, "name", -5), (chart.note, "figure", 9)):
        if column:
            text = base.mark_text(style=style, dy=down if chart.note else 0, **SILENT)
            layers.append(text.encode(text=alt.Text(f"{column}:N"), opacity=room))
    return alt.layer(*layers).properties(width="container", height=alt.Step(44))
