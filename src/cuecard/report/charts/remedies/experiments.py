"""Charts of the papers' experiments: p-values by weights, and accuracies of biased and debiased training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from cuecard import wording
from cuecard.report.charts.drawing import SHAPES, inline, percent_axis
from cuecard.wording import display_text

PLAIN, WITHIN = "over all", "within each label"
AS_IT_STANDS, UNDER_WEIGHTS = "unweighted", "leakage-neutral weights"


def p_values(runs: pl.DataFrame, alpha: float) -> Any:
    """Return −log10 p of every run by weights, a row of panels per model; left of the line nothing is shown."""
    rows = [
        {
            "model": display_text(row["model"], 40),
            "weights": row["weights"],
            "test": name,
            "evidence": -row[column],
            "seed": row["seed"],
            "p": wording.probability(None, row[column]),
            "accuracy": row["accuracy"],
            "level": -float(np.log10(alpha)),
        }
        for row in runs.iter_rows(named=True)
        for name, column in ((PLAIN, "log10_p"), (WITHIN, "log10_p_within_label"))
    ]
    order = list(dict.fromkeys(row["weights"] for row in rows))
    base = alt.Chart().encode(
        x=alt.X("evidence:Q", title="−log₁₀ p of the permutation test (larger: relies more on words)"),
        y=alt.Y("weights:N", sort=order, title=None),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("weights:N"),
            alt.Tooltip("test:N", title="shuffled"),
            alt.Tooltip("seed:Q"),
            alt.Tooltip("p:N", title="p-value"),
            alt.Tooltip("accuracy:Q", title="accuracy", format=".1%"),
        ],
    )
    points = base.mark_point(filled=True, size=80, opacity=0.8, aria=False).encode(
        yOffset=alt.YOffset("test:N", sort=[PLAIN, WITHIN]),
        color=alt.Color("test:N", scale=alt.Scale(domain=[PLAIN, WITHIN])),
        shape=alt.Shape("test:N", scale=alt.Scale(domain=[PLAIN, WITHIN], range=list(SHAPES[:2]))),
    )
    level = alt.Chart().mark_rule(style="prior", aria=False).encode(x=alt.X("level:Q"))
    models = list(dict.fromkeys(row["model"] for row in rows))
    panel = (points + level).properties(width=520, height=alt.Step(24))
    return panel.facet(
        data=inline(rows),
        row=alt.Row(
            "model:N", sort=models, title=None, header=alt.Header(labelOrient="top", labelAnchor="start")
        ),
    )


def frontier(groups: pl.DataFrame, against: str, alpha: float) -> Any:
    """Return accuracy against the gap in points, or against −log10 p, a point per model and method with its CIs."""
    by_gap = against == "gap"
    rows = [
        {
            "model": display_text(row["model"], 40),
            "method": display_text(row["method"], 40),
            "accuracy": row["accuracy"],
            "low": row["low"],
            "high": row["high"],
            "x": 100 * row["gap"] if by_gap else -row["log10_p"],
            "x_low": 100 * row["gap_low"] if by_gap else -row["log10_p"],
            "x_high": 100 * row["gap_high"] if by_gap else -row["log10_p_lowest"],
            "level": 0.0 if by_gap else -float(np.log10(alpha)),
        }
        for row in groups.iter_rows(named=True)
    ]
    title = "gap in points (usual minus unusual label)" if by_gap else "−log₁₀ p of the permutation test"
    models = list(dict.fromkeys(row["model"] for row in rows))
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("x:Q", title=title),
        y=alt.Y("accuracy:Q", axis=percent_axis("accuracy"), scale=alt.Scale(zero=False)),
        color=alt.Color("model:N", scale=alt.Scale(domain=models)),
        tooltip=[
            alt.Tooltip("model:N"),
            alt.Tooltip("method:N"),
            alt.Tooltip("accuracy:Q", format=".1%"),
            alt.Tooltip("x:Q", title="gap" if by_gap else "−log₁₀ p", format=".1f"),
        ],
    )
    wide = base.mark_rule(opacity=0.35, aria=False).encode(x="x_low:Q", x2="x_high:Q")
    tall = base.mark_rule(opacity=0.35, aria=False).encode(y="low:Q", y2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=0.9, aria=False).encode(
        shape=alt.Shape("model:N", scale=alt.Scale(domain=models, range=list(SHAPES[: len(models)])))
    )
    names = base.mark_text(align="left", dx=7, dy=-6, fontSize=10, aria=False).encode(text="method:N")
    level = alt.Chart(inline(rows[:1])).mark_rule(style="prior", aria=False).encode(x="level:Q")
    return (wide + tall + level + points + names).properties(width="container", height=420)


def evaluations(table: pl.DataFrame) -> Any:
    """Return the accuracy of every model as the test set stands and under weights, with 95 % CIs."""
    rows = []
    for row in table.iter_rows(named=True):
        for name, prefix in ((AS_IT_STANDS, ""), (UNDER_WEIGHTS, "weighted_")):
            rows.append(
                {
                    "model": display_text(row["model"], 40),
                    "evaluated": name,
                    "accuracy": row[f"{prefix}accuracy"],
                    "low": row[f"{prefix}low"],
                    "high": row[f"{prefix}high"],
                }
            )
    return _dots(rows, "model", "evaluated", [AS_IT_STANDS, UNDER_WEIGHTS])


def across_sets(table: pl.DataFrame) -> Any:
    """Return the accuracy of biased and debiased training on every set, with 95 % CIs."""
    seeds = table["seed"].n_unique()
    rows = [
        {
            "dataset": display_text(row["dataset"], 40) + (f", seed {row['seed']}" if seeds > 1 else ""),
            "training": f"{training} training",
            "accuracy": row[f"{training}_accuracy"],
            "low": row[f"{training}_low"],
            "high": row[f"{training}_high"],
        }
        for row in table.iter_rows(named=True)
        for training in ("biased", "debiased")
    ]
    return _dots(rows, "dataset", "training", ["biased training", "debiased training"])


def _dots(rows: Sequence[Mapping[str, Any]], line: str, kind: str, kinds: Sequence[str]) -> Any:
    order = list(dict.fromkeys(row[line] for row in rows))
    base = alt.Chart(inline(rows)).encode(
        y=alt.Y(f"{line}:N", sort=order, title=None, axis=alt.Axis(labelLimit=220)),
        yOffset=alt.YOffset(f"{kind}:N", sort=list(kinds)),
        color=alt.Color(f"{kind}:N", scale=alt.Scale(domain=list(kinds))),
        tooltip=[
            alt.Tooltip(f"{line}:N"),
            alt.Tooltip(f"{kind}:N"),
            alt.Tooltip("accuracy:Q", title="accuracy", format=".1%"),
            alt.Tooltip("low:Q", title="CI low", format=".1%"),
            alt.Tooltip("high:Q", title="CI high", format=".1%"),
        ],
    )
    x = alt.X("low:Q", axis=percent_axis("accuracy, with 95 % CI"), scale=alt.Scale(zero=False))
    lines = base.mark_rule(strokeWidth=2, aria=False).encode(x=x, x2=alt.X2("high:Q"))
    points = base.mark_point(filled=True, size=80, opacity=1, aria=False).encode(
        x=alt.X("accuracy:Q"),
        shape=alt.Shape(f"{kind}:N", scale=alt.Scale(domain=list(kinds), range=list(SHAPES[: len(kinds)]))),
    )
    return (lines + points).properties(width="container", height=alt.Step(24))
