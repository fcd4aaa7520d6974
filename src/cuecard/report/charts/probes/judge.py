"""The chart of judges: what their verdicts follow, as log odds ratios with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt

from cuecard import wording
from cuecard.report.charts.drawing import inline
from cuecard.wording import display_text

_NAMES = {
    "quality": "people's verdict",
    "length": "length",
    "formatting": "formatting",
    "first": "shown first",
}


def reliance(judges: Mapping[str, Any]) -> Any:
    """Return the log odds ratio of every covariate for every judge, with its interval."""
    rows = [
        {
            "judge": display_text(name, 30),
            "feature": _NAMES[row["feature"]],
            "value": row["coefficient"],
            "low": row["low"],
            "high": row["high"],
            "interval": f"{row['low']:+z.2f} to {row['high']:+z.2f}",
            "p": wording.probability(row["p_value"]),
        }
        for name, part in judges.items()
        if part["style"]
        for row in part["style"]["covariates"]
    ]
    axis = alt.Axis(title="log odds ratio per standard deviation")
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("feature:N", sort=list(_NAMES.values()), title=None),
        yOffset=alt.YOffset("judge:N"),
        color=alt.Color("judge:N", legend=alt.Legend(title=None)),
        tooltip=[
            alt.Tooltip("judge:N"),
            alt.Tooltip("feature:N"),
            alt.Tooltip("value:Q", title="log odds ratio", format="+.2f"),
            alt.Tooltip("interval:N", title="95 % CI"),
            alt.Tooltip("p:N", title="p-value"),
        ],
    )
    zero = (
        alt.Chart(inline([{"zero": 0.0}]))
        .mark_rule(style="prior", aria=False)
        .encode(x=alt.X("zero:Q", axis=axis))
    )
    span = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.4).encode(
        x=alt.X("low:Q", axis=axis), x2=alt.X2("high:Q")
    )
    point = base.mark_point(filled=True, size=70, opacity=1).encode(x=alt.X("value:Q", axis=axis))
    return alt.layer(zero, span, point).properties(width="container", height=alt.Step(36))
