"""What draws each kind of chart that a check can declare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from altair.typing import ChartType

from cuecard.report.charts.areas import draw_bars, draw_heat_map, draw_histogram, draw_lines
from cuecard.report.charts.cluster_map import draw_point_map
from cuecard.report.charts.cue_map import draw_cue_map
from cuecard.report.charts.dots import draw_boxes, draw_intervals, draw_pairs, draw_scatter
from cuecard.report.charts.drawing import specification
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
    """Return the specification of a declared chart with its description, without colours."""
    return specification(draw(chart)) | {"description": chart.alt}
