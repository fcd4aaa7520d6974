"""Does a cue of train hold in test? Its label's share in one against the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.report.charts.drawing import ZOOM_EVENTS, inline, label_colour, label_shape, percent_axis
from cuecard.report.cue_rows import compared, with_test_share
from cuecard.wording import display_text

MOST_CUES = 500


def train_against_test(tables: Mapping[str, pl.DataFrame], labels: Sequence[str]) -> Any:
    """Return the significant cues by their label's share in train and in test; on the line both agree."""
    shown = confirmed_cues(tables["cues"], labels)
    names = [display_text(label, 60) for label in labels]
    rows = [
        {
            "feature": display_text(row["feature"], 60),
            "family": row["family"],
            "label": display_text(row["label"], 60),
            "share": round(row["share"], 4),
            "test_share": round(row["test_share"], 4),
            "test_count": row["test_count"],
            "train": f"{wording.percent(row['share'])} of {wording.count(compared(row))}",
            "test": f"{wording.percent(row['test_share'])} of {wording.count(row['test_count'])}",
        }
        for row in shown.iter_rows(named=True)
    ]
    scale = alt.Scale(domain=[0, 1.02], nice=False)
    ticks = [0, 0.2, 0.4, 0.6, 0.8, 1]
    x = alt.X("share:Q", scale=scale, axis=percent_axis("share in the training set", values=ticks))
    y = alt.Y("test_share:Q", scale=scale, axis=percent_axis("share in the test set", values=ticks))
    points = (
        alt.Chart(inline(rows))
        .mark_point(filled=True, clip=True, strokeWidth=0, opacity=0.65, aria=False)
        .encode(
            x=x,
            y=y,
            color=label_colour(names, symbolSize=90),
            shape=label_shape(names, symbolSize=90),
            size=alt.Size("test_count:Q", scale=alt.Scale(type="sqrt", range=[15, 300]), legend=None),
            tooltip=[alt.Tooltip(f"{name}:N") for name in ("feature", "family", "label", "train", "test")],
        )
        .add_params(alt.selection_interval(bind="scales", zoom=ZOOM_EVENTS, name="zoom_confirmation"))
    )
    ends = [{"share": 0.0, "test_share": 0.0}, {"share": 1.0, "test_share": 1.0}]
    line = alt.Chart(inline(ends)).mark_line(style="prior", aria=False).encode(x=x, y=y)
    return alt.layer(line, points).properties(width="container", height=360)


def confirmed_cues(cues: pl.DataFrame, labels: Sequence[str]) -> pl.DataFrame:
    """Return the significant cues that test has, strongest first."""
    kept = with_test_share(cues, labels).filter(pl.col("significant") & pl.col("test_share").is_not_null())
    return kept.head(MOST_CUES)
