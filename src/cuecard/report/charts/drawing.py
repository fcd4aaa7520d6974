"""What all charts share: rows as inline data, axes in percent, and the finished specification."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import altair as alt
from altair.utils.schemapi import debug_mode

from cuecard.report.palette import LIGHT, vega_config

#: A constant expression: dataset texts never become part of one.
PERCENT_LABELS = "format(100 * datum.value, '.3~f') + ' %'"

MOST_IN_LEGEND = 24
#: Pixels that a legend of a chart beside others has, that a letter takes at most, and a symbol with its margins.
NARROW, LETTER, SYMBOL = 290, 8, 36

#: Zooming asks for a modifier so that the wheel keeps scrolling the page.
ZOOM_EVENTS = "wheel![event.ctrlKey || event.metaKey || event.shiftKey]"

SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-right",
    "triangle-left",
)


def inline(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    """Return rows as data inside the chart, numbers that JSON does not know as missing."""
    # A tuple: Altair copies lists, row by row, at every step of building a chart.
    return alt.InlineData(values=tuple({key: _json(value) for key, value in row.items()} for row in rows))


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def percent_axis(title: str | None, **options: Any) -> alt.Axis:
    """Return an axis for fractions, labelled in percent."""
    return alt.Axis(title=title, labelExpr=PERCENT_LABELS, **options)


def label_colour(labels: Sequence[str], **legend: Any) -> alt.Color:
    """Return the colour of each label, the same in every chart; the theme holds the colours themselves.

    Of more labels than a legend can list, the tooltip says which is which.
    """
    if len(labels) > MOST_IN_LEGEND:
        return alt.Color("label:N", legend=None)
    return alt.Color(
        "label:N", scale=alt.Scale(domain=list(labels)), legend=alt.Legend(**legend) if legend else None
    )


def legend_columns(labels: Sequence[str]) -> int:
    """Return how many entries of a legend stand side by side in a narrow chart without being cut.

    >>> legend_columns(["yes", "no"]), legend_columns(["CONTRADICTION", "ENTAILMENT", "NEUTRAL"])
    (2, 2)
    """
    entry = LETTER * max(map(len, labels), default=1) + SYMBOL
    return max(1, min(len(labels), NARROW // entry))


def label_shape(labels: Sequence[str], **legend: Any) -> alt.Shape:
    """Return the shape of each label, so that colour is never the only difference."""
    if len(labels) > MOST_IN_LEGEND:
        return alt.Shape("label:N", legend=None)
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(labels))]
    scale = alt.Scale(domain=list(labels), range=shapes)
    return alt.Shape("label:N", scale=scale, legend=alt.Legend(**legend) if legend else None)


def either(channel: Any, test: Any, then: Any, otherwise: Any) -> Any:
    """Return a channel such as `alt.OpacityValue` with one of two values.

    Channels are always objects here: from a dictionary or a string, Altair searches all its classes for each of them.
    """
    return channel(**alt.condition(test, alt.value(then), alt.value(otherwise)))


def specification(draw: Callable[[], Any]) -> dict[str, Any]:
    """Return the Vega-Lite specification without colours; a report adds the scheme of the reader's device.

    Altair's own checks, which go through every row several times, are left to the tests.
    """
    with debug_mode(False):
        spec: dict[str, Any] = draw().to_dict(validate=False)
    spec.pop("config", None)
    return spec


def themed(chart: Any) -> Any:
    """Return the chart with its colours inside, ready for a notebook or for saving as PNG or SVG."""
    return chart.properties(background=LIGHT.surface, config=vega_config(LIGHT))
