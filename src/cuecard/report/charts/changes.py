"""Charts of what changed between two cards: measures with the interval of their change, cues before and after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from cuecard import wording
from cuecard.card.changes import CueChange, Movement
from cuecard.report.charts.drawing import inline, label_colour, label_shape, percent_axis
from cuecard.wording import display_text

VERDICTS = ("worse", "better", "within noise")
VERSIONS = ("before", "after")


def change_chart(judged: Sequence[Movement]) -> Any:
    """Return a dot with its interval for the change of every measure, in points."""
    rows = [
        {
            "name": display_text(one.after.label or one.after.name, 60),
            "label": one.direction,
            "change": one.change.difference,
            "low": one.change.low,
            "high": one.change.high,
            "text": f"{wording.points(one.change.difference)} points",
            "interval": f"{wording.points(one.change.low)} to {wording.points(one.change.high)}",
        }
        for one in judged
    ]
    order = list(dict.fromkeys(row["name"] for row in rows))
    axis = alt.Axis(title="change in points", labelExpr="format(100 * datum.value, '+~f')")
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=380)),
        color=label_colour(VERDICTS, title=None, orient="top"),
        tooltip=[
            alt.Tooltip("name:N", title="measure"),
            alt.Tooltip("label:N", title="verdict"),
            alt.Tooltip("text:N", title="change"),
            alt.Tooltip("interval:N", title="95 % CI"),
        ],
    )
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", axis=axis), x2=alt.X2("high:Q"))
    dots = base.mark_point(filled=True, size=70).encode(
        x=alt.X("change:Q", axis=axis), shape=label_shape(VERDICTS, title=None, orient="top")
    )
    none = alt.Chart(inline([{"at": 0.0}])).mark_rule(style="prior").encode(x=alt.X("at:Q", axis=axis))
    return alt.layer(none, spans, dots).properties(width="container", height=alt.Step(26))


def cue_change_chart(moved: Sequence[CueChange]) -> Any:
    """Return the share of every cue's label before and after, joined by a line."""
    rows, joined = [], []
    for one in moved:
        name = f"{display_text(one.feature, 40)} · {display_text(one.label, 30)}"
        shares = (one.share_before, one.share_after)
        for version, share in zip(VERSIONS, shares, strict=True):
            if share is not None:
                text = wording.percent(share)
                rows.append(
                    {"name": name, "label": version, "share": share, "text": text, "verdict": one.direction}
                )
        if None not in shares:
            joined.append({"name": name, "from": shares[0], "to": shares[1]})
    order = list(dict.fromkeys(row["name"] for row in rows))
    y = alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=320))
    axis = percent_axis("share of the label")
    lines = alt.Chart(inline(joined)).mark_rule(style="quiet", strokeWidth=2)
    dots = alt.Chart(inline(rows)).mark_point(filled=True, size=70)
    tooltip = [
        alt.Tooltip("name:N", title="cue"),
        alt.Tooltip("label:N", title="version"),
        alt.Tooltip("text:N", title="share"),
        alt.Tooltip("verdict:N"),
    ]
    return alt.layer(
        lines.encode(y=y, x=alt.X("from:Q", axis=axis), x2=alt.X2("to:Q")),
        dots.encode(
            y=y,
            x=alt.X("share:Q", axis=axis, scale=alt.Scale(domain=[0, 1])),
            color=label_colour(VERSIONS, title=None, orient="top"),
            shape=label_shape(VERSIONS, title=None, orient="top"),
            tooltip=tooltip,
        ),
    ).properties(width="container", height=alt.Step(24))
