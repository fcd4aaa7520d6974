"""Charts of the pair graph: accuracies, label shares by frequency, distributions by label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.report.charts.drawing import PERCENT_LABELS, inline, label_colour, legend_columns, percent_axis
from cuecard.wording import display_text

MOST_LABELS = 4
FEATURE_TITLES = {
    "s1_freq": "frequency of the first sentence",
    "s2_freq": "frequency of the second sentence",
    "s1s2_inter": "two-step walks",
    "similarity": "text similarity",
    "word_movers_distance": "Word Mover's Distance",
}


def accuracies(tables: Mapping[str, pl.DataFrame], names: Mapping[str, str]) -> Any:
    """Return a dot and an interval per set of features, and a line at chance."""
    rows = [
        {**row, "name": names.get(row["features"], row["features"]), "text": wording.percent(row["accuracy"])}
        for row in tables["pair_graph"].iter_rows(named=True)
    ]
    order = [row["name"] for row in rows]
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("name:N", sort=order, title=None, axis=alt.Axis(labelLimit=320))
    )
    scale = alt.Scale(zero=False, nice=True)
    tooltip = [
        alt.Tooltip("name:N", title="features"),
        alt.Tooltip("text:N", title="accuracy"),
        alt.Tooltip("n:Q", title="examples", format=","),
    ]
    span = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=scale, axis=percent_axis("accuracy")), x2=alt.X2("high:Q"), tooltip=tooltip
    )
    dot = base.mark_point(filled=True, size=70).encode(x=alt.X("accuracy:Q", scale=scale), tooltip=tooltip)
    chance = alt.Chart(inline(rows[:1])).mark_rule(strokeDash=[4, 3]).encode(x=alt.X("chance:Q", scale=scale))
    return (chance + span + dot).properties(width="container", height=30 * len(rows))


def frequency_grid(tables: Mapping[str, pl.DataFrame], labels: Sequence[str]) -> Any:
    """Return a grid of S1_freq × S2_freq per label, coloured by the label's share (Figure 2)."""
    # Two labels mirror each other, so one grid says it all.
    shown = list(labels)[:1] if len(labels) == 2 else list(labels)[:MOST_LABELS]
    frame = tables["pair_graph_grid"].filter(pl.col("label").is_in(shown))
    last = int(frame.select("s1_freq", "s2_freq").to_numpy().max(initial=1))
    rows = [
        {**row, "label": display_text(row["label"], 40), "text": wording.percent(row["share"])}
        for row in frame.iter_rows(named=True)
    ]
    steps = list(range(1, last + 1))
    chart = (
        alt.Chart(inline(rows))
        .mark_rect()
        .encode(
            x=alt.X(
                "s1_freq:O",
                title="frequency of the first sentence",
                scale=alt.Scale(domain=steps),
                axis=alt.Axis(labelAngle=0),
            ),
            y=alt.Y(
                "s2_freq:O", title="frequency of the second sentence", scale=alt.Scale(domain=steps[::-1])
            ),
            color=alt.Color(
                "share:Q",
                scale=alt.Scale(scheme="blueorange", domain=[0, 1], domainMid=1 / len(labels)),
                legend=alt.Legend(title="share", labelExpr=PERCENT_LABELS),
            ),
            tooltip=[
                alt.Tooltip("s1_freq:O", title="frequency of the first sentence"),
                alt.Tooltip("s2_freq:O", title="frequency of the second sentence"),
                alt.Tooltip("label:N", title="label"),
                alt.Tooltip("text:N", title="share"),
                alt.Tooltip("n:Q", title="pairs", format=","),
            ],
        )
        .properties(width=260, height=260)
    )
    return chart.facet(column=alt.Column("label:N", title=None))


def label_shares(tables: Mapping[str, pl.DataFrame], labels: Sequence[str]) -> Any:
    """Return the share of each label by how often a sentence occurs, with intervals (Figure 4)."""
    names = [display_text(label, 40) for label in labels]
    # A sentence that always occurs equally often has no curve.
    frequencies = tables["pair_graph_by_frequency"].filter(pl.col("from").n_unique().over("feature") > 1)
    rows = [
        {
            **row,
            "label": display_text(row["label"], 40),
            "feature": FEATURE_TITLES[row["feature"]],
            "times": str(row["from"]) if row["from"] == row["to"] else f"{row['from']}–{row['to']}",
            "text": wording.percent(row["share"]),
        }
        for row in frequencies.iter_rows(named=True)
    ]
    order = list(dict.fromkeys(row["times"] for row in sorted(rows, key=lambda row: row["from"])))
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("times:O", sort=order, title="sentence frequency", axis=alt.Axis(labelAngle=-40))
    )
    tooltip = [
        alt.Tooltip("times:N", title="frequency"),
        alt.Tooltip("label:N", title="label"),
        alt.Tooltip("text:N", title="share"),
        alt.Tooltip("n:Q", title="pairs", format=","),
    ]
    colour = label_colour(names, title=None, columns=legend_columns(names))
    band = base.mark_rule(opacity=0.5).encode(y=alt.Y("share_low:Q"), y2=alt.Y2("share_high:Q"), color=colour)
    line = base.mark_line(point=True).encode(
        y=alt.Y("share:Q", axis=percent_axis("share")), color=colour, tooltip=tooltip
    )
    chart = (band + line).properties(width=320, height=240).facet(column=alt.Column("feature:N", title=None))
    return chart.resolve_scale(x="independent")


def quantile_curves(quantiles: pl.DataFrame, labels: Sequence[str]) -> Any:
    """Return how each feature's quantiles are distributed within each label (Figure 1)."""
    names = [display_text(label, 40) for label in labels]
    rows = [
        {**row, "label": display_text(row["label"], 40), "feature": FEATURE_TITLES[row["feature"]]}
        for row in quantiles.iter_rows(named=True)
    ]
    return (
        alt.Chart(inline(rows))
        .mark_line(interpolate="step")
        .encode(
            x=alt.X("quantile:Q", title="quantile of the feature", axis=alt.Axis(values=[0, 0.5, 1])),
            y=alt.Y("share:Q", axis=percent_axis("share of the label's pairs")),
            color=label_colour(names, title=None, columns=legend_columns(names)),
            tooltip=[
                alt.Tooltip("label:N"),
                alt.Tooltip("quantile:Q", format=".2f"),
                alt.Tooltip("share:Q", format=".1%"),
            ],
        )
        .properties(width=190, height=180)
        .facet(facet=alt.Facet("feature:N", title=None, sort=list(FEATURE_TITLES.values())), columns=3)
        .resolve_axis(x="independent")  # otherwise an axis stands below every empty place of the last row
    )
