"""The map of cues: every feature by how often it occurs, and how far the share of its label lies above chance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from math import log
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from scipy.special import ndtri

from cuecard.analysis import Summary
from cuecard.audits.cues.view import saying_something_new
from cuecard.features.family import spoken_cue
from cuecard.report.charts.drawing import (
    SILENT,
    ZOOM_EVENTS,
    along,
    colour_of,
    either,
    inline,
    rows_of,
    shape_of,
    shown,
    tooltip_of,
)
from cuecard.view import Axis, CueMap, Kind
from cuecard.wording import percent

#: Names written into the map at most.
MOST_NAMES = 22
#: Labels whose chance and significance are drawn: all, or those with the most cues.
MOST_CURVES = 8
_NAME_CANDIDATES, _FIRST = 300, 2
#: Names are kept apart at these widths of the map, and at its height on the first screen; in its section it is higher.
_WIDTHS, _HEIGHT_OF_NAMES, _HEIGHT = (600.0, 500.0, 420.0, 340.0, 280.0, 220.0, 160.0), 300.0, 440
#: The highest share of an axis, which leaves room above a share of 1.
_TOP = 1.04


def draw_cue_map(chart: CueMap) -> alt.LayerChart:
    """Return every feature by its frequency and share.

    After Gardner et al. (2021): above a label's curve the share is significant, given the number of tests.
    """
    cues = chart.frame
    total = chart.instances or 1
    names = _names(chart)
    texts = {name["feature"] for name in names}
    is_named = [_name_of(*row) in texts for row in cues.select("family", "feature").iter_rows()]
    # Points that have a name come first: a page that is too large leaves out later ones.
    placed = cues.with_columns(covered=pl.col("n") / total, named=pl.Series(is_named, dtype=pl.Boolean))
    placed = placed.sort("named", descending=True, maintain_order=True)
    rows = rows_of(chart, "feature", "label", "covered", "share", "significant", "is_cue", frame=placed)
    lowest, highest = _ends(cues)
    floor = min([*cues["share"].to_list(), *chart.chance.values()], default=0.0)
    domain = (max(1, lowest) * 0.9 / total, max(highest, 10) * 1.4 / total)
    kind: Kind = "percent" if chart.instances else "count"
    tens = [10.0**power for power in range(-9, 10) if domain[0] <= 10.0**power <= domain[1]]
    ticks = tens if len(tens) > 1 else 6
    x = along(alt.X, Axis("covered", chart.x_title, kind, domain=domain, log=True, ticks=ticks))
    shares = Axis(
        "share",
        "share of the label",
        "percent",
        domain=(max(0.0, floor - 0.05), _TOP),
        ticks=(0, 0.2, 0.4, 0.6, 0.8, 1),
    )
    y = along(alt.Y, shares)
    colour = colour_of(chart, "label", symbolSize=90)
    chosen = alt.selection_point(fields=["label"], bind="legend", name="chosen_label")
    zoom = alt.selection_interval(bind="scales", zoom=ZOOM_EVENTS, name="zoom")
    base = alt.Chart(rows).encode(x=x, y=y, tooltip=tooltip_of(chart))
    quiet = base.transform_filter("!datum.significant").mark_circle(
        style="quiet", size=14, opacity=0.7, clip=True, **SILENT
    )
    loud = (
        base.transform_filter("datum.significant")
        .mark_point(filled=True, clip=True, strokeWidth=0, **SILENT)
        .encode(
            color=colour,
            shape=shape_of(chart, "label", symbolSize=90),
            size=either(alt.SizeValue, "datum.is_cue", 34, 12),
            opacity=either(alt.OpacityValue, chosen, 0.62, 0.05),
        )
        .add_params(zoom)
    )
    look = {"y": y, "color": colour, "opacity": either(alt.OpacityValue, chosen, 1, 0.06)}
    # The legend of a layered chart listens only to the selections of the first layer that has it.
    first, *rest = *_curves(chart, x, look), loud
    layers = [first.add_params(chosen), quiet, *rest, *_written(names, x, y)]
    return alt.layer(*layers, width="container", height=_HEIGHT)


def _ends(cues: pl.DataFrame) -> tuple[float, float]:
    """Return how often the rarest and the most frequent feature occur."""
    counts = cues["n"].drop_nulls().to_numpy()
    return (float(counts.min()), float(counts.max())) if len(counts) else (1.0, 10.0)


def _curves(chart: CueMap, x: alt.X, look: Summary) -> list[alt.Chart]:
    """Return the chance of every label as a dashed line, and the share at which significance begins."""
    if chart.frame.is_empty():
        return []
    cued = (
        chart.frame.filter("significant")["label"].cast(pl.String).value_counts(sort=True)["label"].to_list()
    )
    curved = set(chart.colours if len(chart.colours) <= MOST_CURVES else cued[:MOST_CURVES])
    chance = {
        shown(label): chart.chance[label]
        for label in chart.colours
        if label in chart.chance and label in curved
    }
    z = -float(ndtri(max(chart.critical_p, 1e-300) / 2))
    lowest, highest = _ends(chart.frame)
    grid = np.geomspace(max(lowest, 1.0) * 0.9, max(highest, 10.0) * 1.4, 60)
    bounds = [
        {"label": label, "covered": float(n) / (chart.instances or 1), "share": share}
        for label, p in chance.items()
        for n in grid
        if (share := float(p + z * np.sqrt(p * (1 - p) / n))) <= _TOP
    ]
    lines = alt.Chart(inline(bounds)).mark_line(strokeWidth=1.4, clip=True, **SILENT).encode(x=x, **look)
    levels = [{"label": label, "share": p, "text": percent(p)} for label, p in chance.items()]
    said = [alt.Tooltip("label:N", title="label"), alt.Tooltip("text:N", title="chance")]
    dashes = alt.Chart(inline(levels)).mark_rule(strokeDash=[3, 4], strokeWidth=1.2, clip=True, **SILENT)
    return [dashes.encode(tooltip=said, **look), lines]


def _written(names: list[dict[str, Any]], x: alt.X, y: alt.Y) -> list[alt.Chart]:
    """Return names beside the strongest points, on the side with room, legible over other points."""
    room = either(alt.OpacityValue, "width >= datum.narrowest", 1, 0)
    layers = []
    for side, offset in (("left", 7), ("right", -7)):
        beside = [name for name in names if name["align"] == side]
        base = alt.Chart(inline(beside)).encode(x=x, y=y, text=alt.Text("feature:N"), opacity=room)
        text = {"align": side, "dx": offset, "clip": True, "limit": 150, "tooltip": False, **SILENT}
        layers += [base.mark_text(style=style, **text) for style in ("halo", "name")]
    return layers


def _name_of(family: str, feature: str) -> str:
    """Return what a feature is called: words as they are, without quotation marks."""
    return str(shown(spoken_cue(family, feature).removeprefix("“").removesuffix("”")))


@dataclass(frozen=True)
class _Name:
    """A name beside a point that lies `at` along the map, from 0 to 1; on a map below `narrowest` it is not shown."""

    at: float
    height: float
    length: float
    align: str
    narrowest: float = 0.0

    def ends(self, width: float) -> tuple[float, float]:
        """Return where it begins and ends on a map of that width."""
        left = self.at * width - (self.length if self.align == "right" else 0.0)
        return left, left + self.length

    def is_clear(self, placed: Sequence[_Name], width: float) -> bool:
        """Return whether it lies within a map of that width, and over no name that is shown there."""
        left, right = self.ends(width)
        near = [one for one in placed if one.narrowest <= width and abs(one.height - self.height) <= 16]
        return (
            left >= 0
            and right <= width
            and all(right < begin or end < left for begin, end in (one.ends(width) for one in near))
        )

    def narrowest_among(self, placed: Sequence[_Name]) -> float:
        """Return the narrowest map on which it is clear, and on all wider ones; 0 where it is on none."""
        return min(takewhile(partial(self.is_clear, placed), _WIDTHS), default=0.0)


def _names(chart: CueMap) -> list[dict[str, Any]]:
    """Return the points to write a name beside: the strongest and those named elsewhere first, clear of others."""
    cues = chart.frame
    strong = cues.head(_NAME_CANDIDATES).filter("significant")
    if chart.named:
        # The very strongest are read off the map first, whether they are named elsewhere or not.
        strong = pl.concat([strong.head(_FIRST), cues.filter(chart.named), strong]).unique(
            ["family", "feature"], keep="first", maintain_order=True
        )
    lowest, highest = (log(max(1, end)) for end in _ends(cues))
    placed: list[_Name] = []
    written: list[dict[str, Any]] = []
    for i in saying_something_new(strong["family"].to_list(), strong["feature"].to_list()):
        row = strong.row(i, named=True)
        text = _name_of(row["family"], row["feature"])
        at = (log(max(1, row["n"])) - lowest) / max(highest - lowest, 1e-9)
        # On the side of its point where a narrower map still has room; on its right if both have.
        sides = ("left", "right") if at < 0.75 else ("right", "left")
        names = [_Name(at, row["share"] * _HEIGHT_OF_NAMES, 14 + 7.0 * len(text), side) for side in sides]
        clear = [replace(one, narrowest=width) for one in names if (width := one.narrowest_among(placed))]
        if not clear:
            continue
        name = min(clear, key=lambda one: one.narrowest)
        placed.append(name)
        written.append(
            {
                "feature": text,
                "covered": row["n"] / (chart.instances or 1),
                "share": row["share"],
                "align": name.align,
                "narrowest": name.narrowest,
            }
        )
    return written[:MOST_NAMES]
