"""What the style audit shows: coefficients, slices, and win rates at equal style."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from cuecard.analysis import Summary
from cuecard.view import Axis, Chart, Column, Intervals, KeyFigure, Outcome, Table, View, interval_columns
from cuecard.wording import ci, count, fine, percent, plural

MOST_MODELS = 25
_COEFFICIENTS = {
    "feature": Column("Covariate"),
    "coefficient": Column("Log odds ratio", "decimal", "per standard deviation of the difference"),
    "low": Column("CI low", "decimal", "lower end of the 95 % CI over prompts"),
    "high": Column("CI high", "decimal", "upper end of the 95 % CI over prompts"),
    "differing": Column("Differ", "count", "preferences whose responses differ in it"),
    "error": Column("Error", "fine", "cluster-robust standard error", brief=False),
    "naive_error": Column(
        "Naive error", "fine", "standard error as if all rows were independent", brief=False
    ),
    "q_value": Column("q", "probability", "adjusted over all covariates"),
}
_SLICES = {
    "slice": Column("Slice"),
    "n": Column("Preferences", "count"),
    "accuracy": Column("Accuracy", "percent", "of the cross-fitted model of style"),
    **interval_columns(),
    "information": Column("Bits", "fine", "pointwise V-information"),
    "length": Column("Length", "decimal", "log odds ratio of length alone within the slice"),
    **interval_columns("length_", "decimal"),
}
_MODELS = {
    "model": Column("Model"),
    "n": Column("Comparisons", "count"),
    "plain": Column("Win rate", "percent", "against the mean of the other models"),
    "controlled": Column("At equal style", "percent"),
    "change": Column("Change", "points"),
    **interval_columns("change_", "points"),
    "rank": Column("Rank", "count"),
    "controlled_rank": Column("Rank at equal style", "count"),
    "rank_change_low": Column("Rank change CI low", "count", brief=False),
    "rank_change_high": Column("Rank change CI high", "count", brief=False),
}


def style_view(outcome: Outcome) -> View:
    """Return what the model of style explains, with one chart of its coefficients."""
    summary = outcome.summary
    accuracy, bits, chance = summary["accuracy"], summary["information"], percent(summary["chance"])
    lead = (
        f"Differences in style predict {percent(accuracy['value'])} of {count(summary['n'])} "
        f"preferences (chance {chance}), cross-fitted over {plural(summary['clusters'], 'prompt')}."
    )
    charts: list[Chart] = [_coefficients(summary["coefficients"], summary["alpha"])]
    tables = [Table("Covariates", "style_coefficients", _COEFFICIENTS)]
    if "style_slices" in outcome.tables:
        slices = outcome.tables["style_slices"].with_columns(slice=pl.format("{} = {}", "column", "value"))
        tables.append(Table("Style by slice", "style_slices", _SLICES, data=slices, most=60, searchable=True))
    if "style_models" in outcome.tables:
        charts.append(_win_rates(summary["models"]))
        tables.append(Table("Models", "style_models", _MODELS, most=60))
    notes = []
    if summary["left_out"]:
        notes.append(f"Too few responses differ in: {', '.join(summary['left_out']).replace('_', ' ')}.")
    if summary["penalty"]:
        notes.append(
            "A covariate separates chosen from rejected responses; coefficients are kept finite by a ridge penalty."
        )
    figures = [
        KeyFigure("style-only accuracy", percent(accuracy["value"]), f"chance {chance}"),
        KeyFigure("McFadden's pseudo-R²", fine(summary["pseudo_r2"])),
        KeyFigure("bits", fine(bits["value"]), ci(bits["low"], bits["high"], fine)),
    ]
    return View(lead=[lead], figures=figures, charts=charts, tables=tables, notes=notes)


def _coefficients(rows: Sequence[Summary], alpha: float) -> Intervals:
    """Return every covariate's log odds ratio with its interval; above 0 the preferred response has more of it."""
    shown = pl.DataFrame(
        [
            {
                "feature": row["feature"].replace("_", " "),
                **{key: row[key] for key in ("coefficient", "low", "high", "differing", "q_value")},
                "differs": row["q_value"] <= alpha,
            }
            for row in rows
        ]
    )
    return Intervals(
        title="What wins at equal other style",
        data=shown,
        y="feature",
        x=Axis("coefficient", "log odds ratio per standard deviation of the difference", "decimal"),
        low="low",
        high="high",
        line=0.0,
        differs="differs",
        tooltip={
            "differing": Column("preferences that differ in it", "count"),
            "q_value": Column("q-value", "probability"),
        },
        alt="Log odds ratio of every style covariate with its 95 % CI.",
        caption="● differs from 0, ▲ does not (q over all covariates) · 95 % CI over prompts",
        name="coefficients",
    )


def _win_rates(rows: Sequence[Summary]) -> Intervals:
    """Return every model's win rate as it stands and at equal style, with intervals."""
    ways = (("as it stands", "plain", "rank"), ("at equal style", "controlled", "controlled_rank"))
    shown = [
        {
            "model": row["model"],
            "kind": kind,
            "rate": row[key],
            "low": row[f"{key}_low"],
            "high": row[f"{key}_high"],
            "rank": row[rank],
        }
        for row in rows[:MOST_MODELS]
        for kind, key, rank in ways
    ]
    return Intervals(
        title="Win rates at equal style",
        data=pl.DataFrame(shown),
        y="model",
        x=Axis("rate", "win rate against the other models", "percent", zero=False),
        low="low",
        high="high",
        series="kind",
        tooltip={"rank": Column("rank", "count")},
        alt="Win rate of every model as it stands and at equal style.",
        caption="Bradley–Terry win rate against the other models, with 95 % CIs over prompts.",
        name="models",
    )
