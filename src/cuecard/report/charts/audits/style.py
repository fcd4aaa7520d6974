"""Charts of style: the coefficients with their intervals, and win rates of models before and after control."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from cuecard import wording
from cuecard.report.charts.drawing import inline
from cuecard.wording import display_text

MOST_MODELS = 25


def coefficients(rows: Sequence[Mapping[str, Any]], alpha: float) -> Any:
    """Return every covariate's log odds ratio with its interval; above 0 the preferred response has more of it."""
    shown = [
        {
            "feature": row["feature"].replace("_", " "),
            "value": row["coefficient"],
            "low": row["low"],
            "high": row["high"],
            "text": f"{row['coefficient']:+z.2f}",
            "interval": f"{row['low']:+z.2f} to {row['high']:+z.2f}",
            "differing": row["differing"],
            "q": wording.probability(row["q_value"]),
            "differs": row["q_value"] <= alpha,
        }
        for row in rows
    ]
    axis = alt.Axis(title="log odds ratio per standard deviation of the difference")
    base = alt.Chart(inline(shown)).encode(
        y=alt.Y("feature:N", sort=[row["feature"] for row in shown], title=None),
        tooltip=[
            alt.Tooltip("feature:N"),
            alt.Tooltip("text:N", title="log odds ratio"),
            alt.Tooltip("interval:N", title="95 % CI"),
            alt.Tooltip("differing:Q", title="preferences that differ in it", format=","),
            alt.Tooltip("q:N", title="q-value"),
        ],
    )
    zero = (
        alt.Chart(inline([{"zero": 0.0}]))
        .mark_rule(style="prior", aria=False)
        .encode(x=alt.X("zero:Q", axis=axis))
    )
    span = base.mark_rule(style="accent", strokeWidth=3, strokeCap="round", opacity=0.4).encode(
        x=alt.X("low:Q", axis=axis), x2=alt.X2("high:Q")
    )
    point = base.mark_point(style="accent", filled=True, size=80, opacity=1).encode(
        x=alt.X("value:Q", axis=axis),
        shape=alt.Shape(
            "differs:N", scale=alt.Scale(domain=[True, False], range=["circle", "triangle-up"]), legend=None
        ),
    )
    return alt.layer(zero, span, point).properties(width="container", height=alt.Step(28))


def win_rates(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return every model's win rate as it stands and at equal style, with intervals."""
    long = [
        {
            "model": display_text(row["model"], 30),
            "kind": kind,
            "rate": row[key],
            "low": row[f"{key}_low"],
            "high": row[f"{key}_high"],
            "rank": row[rank],
        }
        for row in rows[:MOST_MODELS]
        for kind, key, rank in (
            ("as it stands", "plain", "rank"),
            ("at equal style", "controlled", "controlled_rank"),
        )
    ]
    order = list(dict.fromkeys(row["model"] for row in long))
    axis = alt.Axis(title="win rate against the other models", format="%")
    base = alt.Chart(inline(long)).encode(
        y=alt.Y("model:N", sort=order, title=None),
        yOffset=alt.YOffset("kind:N"),
        color=alt.Color("kind:N", legend=alt.Legend(title=None)),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("kind:N"),
            alt.Tooltip("rate:Q", format=".1%"),
            alt.Tooltip("low:Q", title="CI low", format=".1%"),
            alt.Tooltip("high:Q", title="CI high", format=".1%"),
            alt.Tooltip("rank:Q"),
        ],
    )
    scale = alt.Scale(zero=False)
    span = base.mark_rule(strokeWidth=3, opacity=0.4).encode(
        x=alt.X("low:Q", axis=axis, scale=scale), x2=alt.X2("high:Q")
    )
    point = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("rate:Q", axis=axis, scale=scale))
    return alt.layer(span, point).properties(width="container", height=alt.Step(34))
