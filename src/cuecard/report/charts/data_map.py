"""The data map: how sure a model was of every example, and how that changed (Swayamdipta et al. 2020)."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import polars as pl

from cuecard.report.charts.drawing import SHAPES, inline, percent_axis
from cuecard.wording import display_text

#: Points shown; more would only cover each other.
MOST_POINTS = 4_000
#: Correctness is shown in at most this many steps.
STEPS = 5
#: Where the three regions of the map lie: their names, the places as shares of the axes, and the side they begin on.
REGIONS = (
    ("easy to learn", 0.02, 0.97, "left"),
    ("hard to learn", 0.02, 0.03, "left"),
    ("ambiguous", 0.98, 0.5, "right"),
)


def data_map(dynamics: pl.DataFrame, *, of: str = "") -> alt.HConcatChart:
    """Return confidence against variability, coloured by correctness, beside how many examples lie where.

    `dynamics` has the columns confidence, variability and correctness, and may have example_id, label, premise and
    hypothesis to show. `of` says whose map it is. A seeded sample of the examples is drawn.
    """
    shown = dynamics.sample(min(MOST_POINTS, dynamics.height), seed=0, shuffle=True)
    steps = _steps(dynamics["correctness"])
    rows = [_point(row, steps) for row in shown.iter_rows(named=True)]
    scale = alt.Scale(domain=steps, scheme="viridis")
    shapes = alt.Scale(domain=steps, range=[SHAPES[i % len(SHAPES)] for i in range(len(steps))])
    widest = max(0.1, math.ceil(20 * max(dynamics["variability"].to_list(), default=0.0)) / 20)
    x = alt.X(
        "variability:Q", title="variability: standard deviation of the probability of the label over epochs"
    )
    y = alt.Y("confidence:Q", axis=percent_axis("confidence: mean probability of the label"))
    points = (
        alt.Chart(inline(rows))
        .mark_point(filled=True, size=26, opacity=0.6, aria=False)
        .encode(
            x=x.scale(domain=[0, widest], nice=False),
            y=y.scale(domain=[0, 1]),
            color=alt.Color("correct:N", scale=scale, legend=alt.Legend(title="correct in share of epochs")),
            shape=alt.Shape("correct:N", scale=shapes),
            tooltip=[
                alt.Tooltip(f"{name}:N", title=title)
                for name, title in (
                    ("example", "example"), ("label", "label"), ("premise", "premise"), ("text", "text")
                )
            ]
            + [
                alt.Tooltip("confidence:Q", format=".1%"),
                alt.Tooltip("variability:Q", format=".3f"),
                alt.Tooltip("correct:N", title="correct in epochs"),
            ],
        )
        .properties(width=640, height=460)
    )  # fmt: skip
    return alt.hconcat(
        alt.layer(points, *_regions(widest)), _counts(dynamics, steps, scale), spacing=16
    ).properties(
        title=alt.TitleParams(
            f"{of + ': data' if of else 'Data'} map of {dynamics.height:,} training examples"
            + (f" ({len(rows):,} drawn)" if len(rows) < dynamics.height else ""),
            anchor="start",
        )
    )


def _regions(widest: float) -> list[alt.Chart]:
    """Return the names of the regions, each over a halo that keeps it readable on top of points."""
    layers = []
    for name, variability, confidence, side in REGIONS:
        place = alt.Chart(
            inline([{"name": name, "variability": variability * widest, "confidence": confidence}])
        ).encode(x=alt.X("variability:Q"), y=alt.Y("confidence:Q"), text=alt.Text("name:N"))
        words = {"align": side, "fontWeight": "bold", "aria": False}
        layers += [place.mark_text(style=["name", "halo"], **words), place.mark_text(style="name", **words)]
    return layers


def _counts(dynamics: pl.DataFrame, steps: list[str], scale: alt.Scale) -> alt.Chart:
    """Return the number of examples by confidence, of all of them and not only those drawn."""
    binned = (
        dynamics.select(
            bin=(pl.col("confidence") * 20).floor().clip(0, 19) / 20,
            correct=pl.Series([_step(value, steps) for value in dynamics["correctness"]]),
        )
        .group_by("bin", "correct")
        .len("examples")
    )
    order = {step: i for i, step in enumerate(steps)}
    ended = binned.sort("bin", pl.col("correct").replace_strict(order, return_dtype=pl.Int64)).with_columns(
        to=pl.col("examples").cum_sum().over("bin")
    )
    rows = [
        {**row, "from": row["to"] - row["examples"], "end": row["bin"] + 0.05}
        for row in ended.iter_rows(named=True)
    ]
    return (
        alt.Chart(inline(rows))
        .mark_rect(aria=False)
        .encode(
            y=alt.Y("bin:Q", axis=None, scale=alt.Scale(domain=[0, 1])),
            y2=alt.Y2("end:Q"),
            x=alt.X("from:Q", title="examples", axis=alt.Axis(format=",d", tickCount=3)),
            x2=alt.X2("to:Q"),
            color=alt.Color("correct:N", scale=scale),
            tooltip=[
                alt.Tooltip("bin:Q", title="confidence from", format=".0%"),
                alt.Tooltip("correct:N", title="correct in epochs"),
                alt.Tooltip("examples:Q", format=","),
            ],
        )
        .properties(width=150, height=460)
    )


def _steps(correctness: pl.Series) -> list[str]:
    """Return the names of the shares to tell apart, lowest first."""
    values = sorted(correctness.unique().to_list())
    if len(values) > STEPS + 1:
        values = [i / STEPS for i in range(STEPS + 1)]
    return [f"{100 * value:.0f} %" for value in values]


def _step(value: float, steps: list[str]) -> str:
    """Return the step that a share is nearest to."""
    return min(steps, key=lambda step: abs(float(step.removesuffix(" %")) - 100 * value))


def _point(row: dict[str, Any], steps: list[str]) -> dict[str, Any]:
    return {
        "confidence": round(row["confidence"], 4),
        "variability": round(row["variability"], 4),
        "correct": _step(row["correctness"], steps),
        "example": display_text(row.get("example_id", ""), 40),
        "label": display_text(row.get("label", ""), 40),
        "premise": display_text(row.get("premise", ""), 160),
        "text": display_text(row.get("hypothesis", ""), 160),
    }
