"""The chart of scores net of the leak: every model in up to three ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from cuecard.report.charts.drawing import inline, percent_axis
from cuecard.wording import display_text

_WAYS = {"accuracy": "as it stands", "neutral": "leak-neutral", "unsolved": "no shortcut solves it"}


def scores(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return every model's accuracies with intervals, the best model first."""
    ordered = sorted(rows, key=lambda row: -row["accuracy"])
    long = [
        {
            "model": display_text(row["model"], 30),
            "way": name,
            "value": row[way],
            "low": row[f"{way}_low"],
            "high": row[f"{way}_high"],
        }
        for row in ordered
        for way, name in _WAYS.items()
        if way in row
    ]
    axis = percent_axis("accuracy")
    base = alt.Chart(inline(long)).encode(
        y=alt.Y("model:N", sort=list(dict.fromkeys(row["model"] for row in long)), title=None),
        yOffset=alt.YOffset("way:N", sort=list(_WAYS.values())),
        color=alt.Color("way:N", sort=list(_WAYS.values()), legend=alt.Legend(title=None)),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("way:N"),
            alt.Tooltip("value:Q", title="accuracy", format=".1%"),
            alt.Tooltip("low:Q", title="CI low", format=".1%"),
            alt.Tooltip("high:Q", title="CI high", format=".1%"),
        ],
    )
    span = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.4).encode(
        x=alt.X("low:Q", axis=axis), x2=alt.X2("high:Q")
    )
    point = base.mark_point(filled=True, size=60, opacity=1).encode(x=alt.X("value:Q", axis=axis))
    return alt.layer(span, point).properties(width="container", height=alt.Step(40))
