"""What all charts share: rows as inline data, axes, colours and shapes, and the finished specification."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import altair as alt
import polars as pl
from altair.typing import ChartType

from cuecard.analysis import Summary
from cuecard.report.palette import LIGHT, vega_config
from cuecard.view import Axis, Chart, Kind
from cuecard.wording import display_text

#: A constant expression: dataset texts never become part of one.
PERCENT_LABELS = "format(100 * datum.value, '.3~f') + ' %'"
_LABELS = {
    "percent": PERCENT_LABELS,
    "fine_percent": PERCENT_LABELS,
    "points": "format(100 * datum.value, '~f')",
    "log10_p": "datum.value == 0 ? '1' : '1e-' + datum.value",
}
#: How a number that is drawn is written in a tooltip; names are as they are.
_FORMATS: dict[Kind, str] = {
    "text": "", "label": "", "count": ",", "percent": ".1%", "fine_percent": ".2%", "decimal": ".2f", "fine": ".3f"
}  # fmt: skip
#: Names in a chart are cut after this many characters.
NAME = 60
MOST_IN_LEGEND = 24
#: Pixels that a legend of a chart beside others has, that a letter takes at most, and a symbol with its margins.
NARROW, LETTER, SYMBOL = 290, 8, 36
#: Zooming asks for a modifier so that the wheel keeps scrolling the page.
ZOOM_EVENTS = "wheel![event.ctrlKey || event.metaKey || event.shiftKey]"
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right", "triangle-left"
)  # fmt: skip
#: Options of what needs no words for screen readers, because a chart has one description.
SILENT = {"aria": False}

Value = str | int | float | bool | None
Channel = TypeVar("Channel", alt.X, alt.Y)


def inline(rows: Iterable[Summary]) -> alt.InlineData:
    """Return rows as data inside the chart: names cut, numbers that JSON does not know as missing."""
    # A tuple: Altair copies lists, row by row, at every step of building a chart.
    return alt.InlineData(values=tuple({key: _json(value) for key, value in row.items()} for row in rows))


def _json(value: object) -> Value:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, (int, str)) else str(value)


def shown(value: object) -> Value:
    """Return a value to plot: a text is a name, a number has six digits, which is finer than any screen."""
    if isinstance(value, str):
        return display_text(value, NAME)
    return float(f"{value:.6g}") if isinstance(value, float) and math.isfinite(value) else _json(value)


def rows_of(chart: Chart, *columns: str, frame: pl.DataFrame | None = None) -> alt.InlineData:
    """Return the rows of a chart: columns to plot as they are, others of its tooltip as people read them."""
    plotted = [column for column in dict.fromkeys((*columns, *_plotted(chart))) if column]
    rows = (chart.frame if frame is None else frame).iter_rows(named=True)
    others = {
        _said(name): (name, column) for name, column in chart.hints.items() if name not in _plotted(chart)
    }
    return inline(
        {name: shown(row[name]) for name in plotted}
        | {key: column.write(row[name]) for key, (name, column) in others.items()}
        for row in rows
    )


def tooltip_of(chart: Chart) -> list[alt.Tooltip]:
    """Return what hovering over a mark shows: what is plotted from its own column, which the rows have once."""
    tips = []
    for name, column in chart.hints.items():
        if name not in _plotted(chart):
            tips.append(alt.Tooltip(f"{_said(name)}:N", title=column.title))
        elif pattern := _FORMATS[column.kind]:
            tips.append(alt.Tooltip(f"{name}:Q", title=column.title, format=pattern))
        else:
            tips.append(alt.Tooltip(f"{name}:N", title=column.title))
    return tips


def _plotted(chart: Chart) -> list[str]:
    """Return the columns of the tooltip that are drawn, too, and that need no words of ours."""
    return [name for name, column in chart.hints.items() if name in chart.drawn and column.kind in _FORMATS]


def _said(column: str) -> str:
    return f"{column} said"


def names_in(chart: Chart, column: str) -> list[str]:
    """Return the names in a column in the order in which they occur; of colours, in that of the chart."""
    present = dict.fromkeys(str(shown(value)) for value in chart.frame[column].to_list())
    return list(dict.fromkeys([*(display_text(name, NAME) for name in chart.colours), *present]))


def ordered(chart: Chart, column: str) -> list[str]:
    """Return the names in a column in the order in which they occur."""
    return list(dict.fromkeys(str(shown(value)) for value in chart.frame[column].to_list()))


def percent_axis(title: str | None, **options: Any) -> alt.Axis:
    """Return an axis for fractions, labelled in percent."""
    return alt.Axis(title=title, labelExpr=PERCENT_LABELS, **options)


def along(channel: type[Channel], axis: Axis, column: str = "", **options: Any) -> Channel:
    """Return a channel, `alt.X` or `alt.Y`, for an axis or for another column along it."""
    look: dict[str, Any] = {"title": axis.title or None}
    if axis.log:
        look["grid"] = False
    if axis.kind in _LABELS:
        look["labelExpr"] = _LABELS[axis.kind]
    elif axis.kind == "count":
        look["format"] = "~s"
    if axis.ticks is not None:
        look["tickCount" if isinstance(axis.ticks, int) else "values"] = axis.ticks
    return channel(f"{column or axis.column}:Q", axis=alt.Axis(**look), scale=scale_of(axis), **options)


def scale_of(axis: Axis) -> alt.Scale:
    """Return the scale of an axis."""
    options: dict[str, Any] = {"type": "log", "nice": False} if axis.log else {}
    if axis.domain is not None:
        options |= {"domain": list(axis.domain), "nice": False}
    elif not axis.zero:
        options |= {"zero": False, "padding": 12}
    return alt.Scale(**options)


def by_name(chart: Chart, column: str, names: Sequence[str] = ()) -> alt.Y:
    """Return the rows of a chart by name, in their order or another."""
    axis = alt.Axis(labelLimit=360 if chart.wide else 160)
    return alt.Y(f"{column}:N", sort=list(names or ordered(chart, column)), title=None, axis=axis)


def colour_of(chart: Chart, column: str, *, legend: bool | None = None, **options: Any) -> alt.Color:
    """Return the colour of each name, of labels the same in every chart; the theme holds the colours themselves.

    Of more names than a legend can list, the tooltip says which is which.
    """
    names = names_in(chart, column)
    if len(names) > MOST_IN_LEGEND:
        return alt.Color(f"{column}:N", legend=None)
    listed = chart.frame[column].n_unique() > 1 if legend is None else legend
    if not chart.wide:
        options["columns"] = legend_columns(names)
    return alt.Color(
        f"{column}:N",
        scale=alt.Scale(domain=names),
        legend=alt.Legend(title=None, **options) if listed else None,
    )


def shape_of(chart: Chart, column: str, *, legend: bool | None = None, **options: Any) -> alt.Shape:
    """Return the shape of each name, so that colour is never the only difference."""
    names = names_in(chart, column)
    if len(names) > MOST_IN_LEGEND:
        return alt.Shape(f"{column}:N", legend=None)
    scale = alt.Scale(domain=names, range=[SHAPES[i % len(SHAPES)] for i in range(len(names))])
    listed = chart.frame[column].n_unique() > 1 if legend is None else legend
    if not chart.wide:
        options["columns"] = legend_columns(names)
    return alt.Shape(f"{column}:N", scale=scale, legend=alt.Legend(title=None, **options) if listed else None)


def legend_columns(names: Sequence[str]) -> int:
    """Return how many entries of a legend stand side by side in a narrow chart without being cut.

    >>> legend_columns(["yes", "no"]), legend_columns(["CONTRADICTION", "ENTAILMENT", "NEUTRAL"])
    (2, 2)
    """
    entry = LETTER * max(map(len, names), default=1) + SYMBOL
    return max(1, min(len(names), NARROW // entry))


def either(channel: Any, test: Any, then: Any, otherwise: Any) -> Any:
    """Return a channel such as `alt.OpacityValue` with one of two values.

    Channels are always objects here: from a dictionary or a string, Altair searches all its classes for each of them.
    """
    return channel(**alt.condition(test, alt.value(then), alt.value(otherwise)))


def dashed(channel: type[Channel], axis: Axis, at: float) -> alt.Chart:
    """Return a dashed line across the chart at a place on an axis."""
    mark = alt.Chart(inline([{axis.column: at}])).mark_rule(style="prior", **SILENT)
    place = along(channel, axis)
    return mark.encode(x=place) if isinstance(place, alt.X) else mark.encode(y=place)


def written(
    base: alt.Chart, column: str, styles: Sequence[str] = ("figure",), **place: Any
) -> list[alt.Chart]:
    """Return a column written beside its marks, over a halo where a style asks for one."""
    options = {"align": "left", "dx": 7, **place, **SILENT}
    return [base.mark_text(style=style, **options).encode(text=alt.Text(f"{column}:N")) for style in styles]


def specification(chart: ChartType) -> dict[str, Any]:
    """Return the Vega-Lite specification without colours; a report adds the scheme of the reader's device."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    spec.pop("config", None)
    return spec


def themed(chart: ChartType) -> ChartType:
    """Return the chart with its colours inside, ready for a notebook or for saving as PNG or SVG."""
    colours: Any = vega_config(LIGHT)
    return chart.properties(background=LIGHT.surface, config=colours)
