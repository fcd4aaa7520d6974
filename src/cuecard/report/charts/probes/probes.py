"""Charts of the probes: gaps per model and cue, predicted labels on flat data, usual against unusual."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from cuecard import wording
from cuecard.card.card import Section
from cuecard.report.charts.drawing import inline, label_colour, percent_axis
from cuecard.wording import display_text

#: What the bars beside the models are called in a distribution chart.
FLAT_BAR = "balanced labels"


def _name(value: Any) -> str:
    return display_text(value, 40)


def gap_heatmap(table: pl.DataFrame) -> Any:
    """Return ΔAcc as a map of models × cues, significant gaps written in full."""
    rows = [
        {
            "model": _name(row["model"]),
            "cue": _name(row["feature"]),
            "gap": row["gap"],
            "text": f"{wording.points(row['gap'])}{'' if row['significant'] else '°'}",
            "interval": f"{wording.points(row['gap_low'])} to {wording.points(row['gap_high'])} points",
            "n": row["with_cue"],
            "p": wording.probability(None, row["log10_p"]),
        }
        for row in table.drop_nans("gap").iter_rows(named=True)
    ]
    cues = list(dict.fromkeys(row["cue"] for row in rows))
    models = list(dict.fromkeys(row["model"] for row in rows))
    # Wider than the gaps, so that no cell is too dark for its text.
    reach = 1.6 * max([abs(row["gap"]) for row in rows], default=0.1)
    base = alt.Chart(inline(rows)).encode(
        x=alt.X(
            "model:N", sort=models, title=None, axis=alt.Axis(orient="top", labelAngle=0, labelLimit=160)
        ),
        y=alt.Y("cue:N", sort=cues, title=None, axis=alt.Axis(labelLimit=180)),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("cue:N"),
            alt.Tooltip("gap:Q", title="accuracy gap", format="+.1%"),
            alt.Tooltip("interval:N", title="95 % CI"),
            alt.Tooltip("n:Q", title="test examples with the cue", format=","),
            alt.Tooltip("p:N", title="p-value"),
        ],
    )
    scale = alt.Scale(scheme="blueorange", domain=[-reach, reach], domainMid=0)
    cells = base.mark_rect(cornerRadius=2).encode(color=alt.Color("gap:Q", scale=scale, legend=None))
    # The middle of the colour scale is light in both schemes of the report, so the ink is always dark.
    text = base.mark_text(fontSize=11, color="#1c2128", aria=False).encode(text=alt.Text("text:N"))
    return alt.layer(cells, text).properties(width=alt.Step(110), height=alt.Step(22))


def weakness_bars(section: Section) -> Any:
    """Return Σ|Δ| of every model: raw, and without what noise adds, with its interval."""
    rows = [
        {
            "model": _name(name),
            "raw": scores["weakness"],
            "corrected": max(scores["weakness_corrected"], 0.0),
            "low": scores["weakness_low"],
            "high": scores["weakness_high"],
        }
        for name, scores in section.summary["models"].items()
        if "weakness" in scores
    ]
    order = [row["model"] for row in sorted(rows, key=lambda row: row["corrected"])]
    axis = alt.Axis(
        title="sum of absolute accuracy gaps, in points", labelExpr="format(100 * datum.value, '~f')"
    )
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("model:N", sort=order, title=None, axis=alt.Axis(labelLimit=180)),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("raw:Q", title="raw sum", format=".3f"),
            alt.Tooltip("corrected:Q", title="corrected for noise", format=".3f"),
            alt.Tooltip("low:Q", format=".3f"),
            alt.Tooltip("high:Q", format=".3f"),
        ],
    )
    raw = base.mark_bar(style="quiet", height=16).encode(x=alt.X("raw:Q", axis=axis))
    corrected = base.mark_bar(style="accent", height=16).encode(x=alt.X("corrected:Q", axis=axis))
    interval = base.mark_rule(style="name", strokeWidth=2).encode(
        x=alt.X("low:Q", axis=axis), x2=alt.X2("high:Q")
    )
    return alt.layer(raw, corrected, interval).properties(width="container", height=alt.Step(30))


def predicted_labels(
    shares: pl.DataFrame, labels: Sequence[str], family: str, feature: str, source: str = "training set"
) -> Any:
    """Return the labels that each model predicts on flattened examples of a cue, train and flat beside them."""
    train_bar = f"{source} (with the cue)"
    names = [_name(label) for label in labels]
    of_cue = shares.filter((pl.col("family") == family) & (pl.col("feature") == feature))
    first = of_cue.filter(pl.col("model") == of_cue["model"][0])
    rows: list[dict[str, Any]] = []
    for bar, column in ((train_bar, "train_share"), (FLAT_BAR, "flat")):
        rows += [_segment(bar, row, column) for row in first.iter_rows(named=True)]
    rows += [_segment(row["model"], row, "predicted_share") for row in of_cue.iter_rows(named=True)]
    order = [train_bar, FLAT_BAR, *(_name(model) for model in of_cue["model"].unique(maintain_order=True))]
    for row in rows:
        row["rank"] = names.index(row["label"])
    return (
        alt.Chart(inline(rows))
        .mark_bar(height=18)
        .encode(
            y=alt.Y("bar:N", sort=order, title=None, axis=alt.Axis(labelLimit=160)),
            x=alt.X("share:Q", stack="zero", scale=alt.Scale(domain=[0, 1]), axis=percent_axis(None)),
            color=label_colour(names, symbolType="square"),
            order=alt.Order("rank:Q"),
            tooltip=[
                alt.Tooltip("bar:N", title="model"),
                alt.Tooltip("label:N"),
                alt.Tooltip("share:Q", format=".1%"),
                alt.Tooltip("interval:N", title="95 % CI"),
            ],
        )
        .properties(width="container", height=alt.Step(26))
    )


def _segment(bar: str, row: Mapping[str, Any], column: str) -> dict[str, Any]:
    interval = ""
    if column == "predicted_share":
        interval = f"{wording.percent(row['low'])} to {wording.percent(row['high'])}"
    return {"bar": _name(bar), "label": _name(row["answer"]), "share": row[column], "interval": interval}


def usual_and_unusual(section: Section) -> Any:
    """Return each model's accuracy where words have their usual label and where they have another."""
    rows = []
    for name, test in section.summary["models"].items():
        for kind, key in (("usual label", "usual"), ("another label", "unusual")):
            rows.append(
                {
                    "model": _name(name),
                    "label": kind,
                    "accuracy": test[f"{key}_accuracy"],
                    "n": test[key],
                    "text": wording.percent(test[f"{key}_accuracy"]),
                }
            )
    kinds = ["usual label", "another label"]
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("model:N", title=None, sort=list(section.summary["models"]), axis=alt.Axis(labelLimit=180)),
        yOffset=alt.YOffset("label:N", sort=kinds),
        x=alt.X(
            "accuracy:Q", scale=alt.Scale(domain=[0, 1.08]), axis=percent_axis("accuracy", values=[0, 0.5, 1])
        ),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("label:N", title="words have"),
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip("n:Q", title="test examples", format=","),
        ],
    )
    bars = base.mark_bar().encode(color=label_colour(kinds, symbolType="square"))
    text = base.mark_text(style="figure", align="left", dx=5, aria=False).encode(text=alt.Text("text:N"))
    return alt.layer(bars, text).properties(width="container", height=alt.Step(20))


def p_values(section: Section) -> Any:
    """Return the permutation test's p of every model on a logarithmic scale, with and without strata."""
    rows = []
    other = "stratified by correct answer" if section.summary["stratify"] is None else "over all examples"
    tested = "over all examples" if section.summary["stratify"] is None else "stratified by correct answer"
    for name, test in section.summary["models"].items():
        second = test.get("log10_p_stratified", test.get("log10_p_unstratified"))
        for kind, value in ((tested, test["log10_p"]), (other, second)):
            rows.append(
                {
                    "model": _name(name),
                    "label": kind,
                    "exponent": -value,
                    "p": wording.probability(None, value),
                }
            )
    kinds = ["over all examples", "stratified by correct answer"]
    axis = alt.Axis(title="p-value (logarithmic)", labelExpr="datum.value == 0 ? '1' : '1e-' + datum.value")
    x = alt.X("exponent:Q", axis=axis, scale=alt.Scale(zero=True))
    points = (
        alt.Chart(inline(rows))
        .mark_point(filled=True, size=90, opacity=1)
        .encode(
            y=alt.Y(
                "model:N", title=None, sort=list(section.summary["models"]), axis=alt.Axis(labelLimit=180)
            ),
            x=x,
            color=label_colour(kinds, symbolSize=90),
            shape=alt.Shape(
                "label:N", scale=alt.Scale(domain=kinds, range=["circle", "diamond"]), legend=None
            ),
            tooltip=[alt.Tooltip("model:N"), alt.Tooltip("label:N", title="shuffled"), alt.Tooltip("p:N")],
        )
    )
    level = alt.Chart(inline([{"exponent": 1.30103}])).mark_rule(style="prior", aria=False).encode(x=x)
    return alt.layer(level, points).properties(width="container", height=alt.Step(34))


def paired_differences(table: pl.DataFrame) -> Any:
    """Return the accuracy difference of two models with its interval, in all and within each cue."""
    rows = [
        {
            "pair": f"{_name(row['model_a'])} − {_name(row['model_b'])}",
            "cue": _name(row["feature"]) if row["feature"] is not None else "all test examples",
            "difference": row["difference"],
            "low": row["low"],
            "high": row["high"],
            "n": row["n"],
            "p": wording.probability(None, row["log10_p"]),
        }
        for row in table.iter_rows(named=True)
    ]
    axis = alt.Axis(title="difference in accuracy, in points", labelExpr="format(100 * datum.value, '~f')")
    x = alt.X("difference:Q", axis=axis)
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y("cue:N", sort=[row["cue"] for row in rows], title=None, axis=alt.Axis(labelLimit=180)),
        tooltip=[
            alt.Tooltip("pair:N", title="models"),
            alt.Tooltip("cue:N"),
            alt.Tooltip("difference:Q", format="+.1%"),
            alt.Tooltip("n:Q", format=","),
            alt.Tooltip("p:N", title="McNemar p"),
        ],
    )
    zero = alt.Chart(inline([{"difference": 0}])).mark_rule(style="prior", aria=False).encode(x=x)
    interval = base.mark_rule(style="accent", strokeWidth=3, opacity=0.4).encode(
        x=alt.X("low:Q", axis=axis), x2=alt.X2("high:Q")
    )
    points = base.mark_point(style="accent", filled=True, size=60, opacity=1).encode(x=x)
    return alt.layer(zero, interval, points).properties(width="container", height=alt.Step(22))
