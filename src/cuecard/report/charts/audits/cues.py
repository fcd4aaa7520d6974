"""Charts of the cues: where they lie, which are strongest, and what family they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from scipy.special import ndtri

from cuecard import wording
from cuecard.card.card import Section
from cuecard.report.charts.drawing import (
    PERCENT_LABELS,
    ZOOM_EVENTS,
    either,
    inline,
    label_colour,
    label_shape,
    percent_axis,
)
from cuecard.report.cue_rows import (
    compared,
    critical_p,
    prior_of,
    sample_for_map,
    saying_something_new,
    strongest,
    with_test_share,
)
from cuecard.wording import display_text

#: Names written into the map of cues, and the size of the chart they are kept apart for.
MOST_NAMES = 22
#: Labels whose chance and significance are drawn: all, or those with the most cues.
MOST_CURVES = 8
_NAME_CANDIDATES = 300
_MAP_SIZE = (860.0, 440.0)


def cue_map(section: Section, tables: Mapping[str, pl.DataFrame], labels: Sequence[str]) -> Any:
    """Return every feature by how often it occurs and how far its label's share lies above chance.

    After Gardner et al. (2021): above a label's curve the share is significant, given the number of tests.
    """
    names = [display_text(label, 60) for label in labels]
    cues = sample_for_map(with_test_share(tables["cues"], labels))
    rows = [_point(row) for row in cues.iter_rows(named=True)]
    lowest = min((row["n"] for row in rows), default=1)
    highest = max((row["n"] for row in rows), default=10)
    floor = min([*(row["share"] for row in rows), *prior_of(section).values()], default=0.0)
    x = alt.X(
        "n:Q",
        title="training instances with the feature (logarithmic)",
        scale=alt.Scale(type="log", domain=[max(1, lowest) * 0.9, max(highest, 10) * 1.4], nice=False),
        axis=alt.Axis(grid=False, format="~s", tickCount=6),
    )
    y = alt.Y(
        "share:Q",
        scale=alt.Scale(domain=[max(0.0, floor - 0.05), 1.04], nice=False),
        axis=percent_axis("share of the label", values=[0, 0.2, 0.4, 0.6, 0.8, 1]),
    )
    colour = label_colour(names, symbolSize=90)
    chosen = alt.selection_point(fields=["label"], bind="legend", name="chosen_label")
    zoom = alt.selection_interval(bind="scales", zoom=ZOOM_EVENTS, name="zoom")
    visible = either(alt.OpacityValue, chosen, 1, 0.06)
    base = alt.Chart(inline(rows)).encode(x=x, y=y)
    quiet = (
        base.transform_filter("!datum.significant")
        .mark_circle(style="quiet", size=14, opacity=0.7, clip=True, aria=False)
        .encode(tooltip=_tooltip())
    )
    loud = (
        base.transform_filter("datum.significant")
        .mark_point(filled=True, clip=True, strokeWidth=0, aria=False)
        .encode(
            color=colour,
            shape=label_shape(names, symbolSize=90),
            size=either(alt.SizeValue, "datum.is_cue", 34, 12),
            opacity=either(alt.OpacityValue, chosen, 0.62, 0.05),
            tooltip=_tooltip(),
        )
        .add_params(zoom)
    )
    curves = _curves(section, tables["cues"], labels, x, y, colour, visible)
    # The legend of a layered chart listens only to the selections of the first layer that has it.
    first, *rest = *curves, loud
    return alt.layer(first.add_params(chosen), quiet, *rest, *_written(rows, x, y)).properties(
        width="container", height=_MAP_SIZE[1]
    )


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "feature": display_text(row["feature"], 60),
        "family": row["family"],
        "label": display_text(row["label"], 60),
        "n": compared(row),
        "share": round(row["share"], 4),
        "train": f"{wording.percent(row['share'])} of {wording.count(compared(row))}",
        "interval": f"{wording.percent(row['share_low'])} to {wording.percent(row['share_high'])}",
        "lift": round(row["lift"], 3) if wording.is_number(row["lift"]) else None,
        "p": wording.probability(None, row["log10_p"]),
        "test": f"{wording.percent(row['test_share'])} of {wording.count(row['test_count'])}",
        "significant": row["significant"],
        "is_cue": row["is_cue"],
    }


def _tooltip() -> list[Any]:
    return [
        alt.Tooltip("feature:N", title="feature"),
        alt.Tooltip("family:N", title="family"),
        alt.Tooltip("label:N", title="label"),
        alt.Tooltip("train:N", title="training set"),
        alt.Tooltip("interval:N", title="95 % CI"),
        alt.Tooltip("test:N", title="test set"),
        alt.Tooltip("lift:Q", title="lift", format=".2f"),
        alt.Tooltip("p:N", title="p-value"),
    ]


def _written(rows: Sequence[Mapping[str, Any]], x: Any, y: Any) -> list[Any]:
    """Return names beside the strongest points, on the side with room, legible over other points."""
    # On a narrow screen only the strongest names have room.
    room = either(alt.OpacityValue, "datum.rank < width / 36", 1, 0)
    layers = []
    for side, offset in (("left", 7), ("right", -7)):
        names = [name for name in _names(rows) if name["align"] == side]
        chart = alt.Chart(inline(names)).encode(x=x, y=y, text=alt.Text("feature:N"), opacity=room)
        text = {"align": side, "dx": offset, "clip": True, "aria": False, "limit": 150, "tooltip": False}
        layers += [chart.mark_text(style=style, **text) for style in ("halo", "name")]
    return layers


def _names(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the points to write a name beside: the strongest, each kept clear of those before it."""
    strong = [row for row in rows[:_NAME_CANDIDATES] if row["significant"]]
    if not strong:
        return []
    width, height = _MAP_SIZE
    lowest, highest = (log(max(1, extreme(row["n"] for row in rows))) for extreme in (min, max))
    taken: list[tuple[float, float, float]] = []
    written: list[dict[str, Any]] = []
    for i in saying_something_new([row["family"] for row in strong], [row["feature"] for row in strong]):
        row = strong[i]
        at = (log(max(1, row["n"])) - lowest) / max(highest - lowest, 1e-9) * width
        length = 14 + 7.0 * len(row["feature"])
        align, left = ("left", at) if at < 0.75 * width else ("right", at - length)
        right, middle = left + length, row["share"] * height
        if all(right < a or b < left or abs(middle - m) > 16 for a, b, m in taken):
            taken.append((left, right, middle))
            name = {key: row[key] for key in ("feature", "n", "share")}
            written.append(name | {"align": align, "rank": len(written)})
    return written[:MOST_NAMES]


def _curves(
    section: Section,
    cues: pl.DataFrame,
    labels: Sequence[str],
    x: Any,
    y: Any,
    colour: Any,
    visible: Any,
) -> list[Any]:
    """Return the prior of every label as a dashed line, and the share at which significance begins."""
    priors = prior_of(section)
    cued = cues.filter("significant")["label"].cast(pl.String).value_counts(sort=True)["label"].to_list()
    curved = set(labels if len(labels) <= MOST_CURVES else cued[:MOST_CURVES])
    prior = {
        display_text(label, 60): priors[label] for label in labels if label in priors and label in curved
    }
    z = -float(ndtri(max(critical_p(section, cues), 1e-300) / 2))
    counts = cues["share_n" if "share_n" in cues.columns else "train_count"].drop_nulls().to_numpy()
    if not len(counts):
        return []
    grid = np.geomspace(max(float(counts.min()), 1.0) * 0.9, max(float(counts.max()), 10.0) * 1.4, 60)
    bounds: list[dict[str, Any]] = [
        {"label": label, "n": float(n), "share": float(p + z * np.sqrt(p * (1 - p) / n))}
        for label, p in prior.items()
        for n in grid
    ]
    lines = (
        alt.Chart(inline([b for b in bounds if b["share"] <= 1.04]))
        .mark_line(strokeWidth=1.4, clip=True, aria=False)
        .encode(x=x, y=y, color=colour, opacity=visible)
    )
    chance = (
        alt.Chart(
            inline({"label": label, "share": p, "text": wording.percent(p)} for label, p in prior.items())
        )
        .mark_rule(strokeDash=[3, 4], strokeWidth=1.2, clip=True, aria=False)
        .encode(
            y=y,
            color=colour,
            opacity=visible,
            tooltip=[
                alt.Tooltip("label:N", title="label"),
                alt.Tooltip("text:N", title="share in the training set"),
            ],
        )
    )
    return [chance, lines]


def top_cues(
    section: Section, tables: Mapping[str, pl.DataFrame], labels: Sequence[str], label: str, top: int
) -> Any:
    """Return the strongest cues of one label: train share with interval, test share and prior."""
    names = [display_text(name, 60) for name in labels]
    cues = strongest(with_test_share(tables["cues"], labels), label, top)
    rows = [
        {
            **_point(row),
            "low": row["share_low"],
            "high": row["share_high"],
            "test_share": row["test_share"],
        }
        for row in cues.iter_rows(named=True)
    ]
    order = [row["feature"] for row in rows]
    start = min([row["low"] for row in rows] + [prior_of(section).get(label, 0.0)], default=0.0)
    scale = alt.Scale(domain=[max(0.0, min(start - 0.05, 0.5)), 1.0], nice=False)
    axis = alt.Axis(title=None, labelExpr=PERCENT_LABELS, tickCount=4, orient="top", labelFlush=False)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("feature:N", sort=order, title=None, axis=alt.Axis(labelLimit=130)),
        color=label_colour(names),
        tooltip=_tooltip(),
    )
    share = alt.X("share:Q", scale=scale, axis=axis)
    prior = (
        alt.Chart(inline([{"share": prior_of(section).get(label)}]))
        .mark_rule(style="prior", aria=False)
        .encode(x=share)
    )
    interval = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.4).encode(
        x=alt.X("low:Q", scale=scale, axis=axis), x2=alt.X2("high:Q")
    )
    train = base.mark_point(filled=True, size=75, opacity=1, shape="circle").encode(x=share)
    test = base.mark_point(style="hollow", size=55, shape="diamond", strokeWidth=1.8, opacity=1).encode(
        x=alt.X("test_share:Q", scale=scale, axis=axis)
    )
    return alt.layer(prior, interval, train, test).properties(width="container", height=alt.Step(25))


def family_counts(section: Section) -> Any:
    """Return for every family which share of its features is significant, and which share is a cue."""
    rows = []
    for name, family in section.summary.get("families", {}).items():
        tested = family.get("features") or 0
        if family.get("skipped") or not tested:
            continue
        rows.append(
            {
                "family": name,
                "significant": family["significant"] / tested,
                "cues": family["cues"] / tested,
                "said": wording.percent(family["significant"] / tested),
                "text": f"{wording.count(family['cues'])} of {wording.count(tested)}",
            }
        )
    scale = alt.Scale(domain=[0, 1.2], nice=False)
    axis = percent_axis("share of the features tested", values=[0, 0.25, 0.5, 0.75, 1])
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("family:N", title=None, sort=[row["family"] for row in rows]),
        tooltip=[
            alt.Tooltip("family:N", title="family"),
            alt.Tooltip("text:N", title="cues / features tested"),
            alt.Tooltip("said:N", title="significant"),
        ],
    )
    significant = base.mark_bar(style="quiet", height=14, cornerRadiusEnd=2).encode(
        x=alt.X("significant:Q", scale=scale, axis=axis)
    )
    listed = base.mark_bar(style="accent", height=14, cornerRadiusEnd=2).encode(
        x=alt.X("cues:Q", scale=scale, axis=axis)
    )
    text = base.mark_text(style="figure", align="left", dx=6, aria=False).encode(
        x=alt.X("significant:Q", scale=scale, axis=axis), text=alt.Text("text:N")
    )
    return alt.layer(significant, listed, text).properties(width="container", height=alt.Step(28))
