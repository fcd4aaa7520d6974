"""How much of a preference style explains: coefficients, slices, and win rates at equal style."""

from __future__ import annotations

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView, drawn

CHARTS = "audits.style"
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
    "low": Column("CI low", "percent", brief=False),
    "high": Column("CI high", "percent", brief=False),
    "information": Column("Bits", "fine", "pointwise V-information"),
    "length": Column("Length", "decimal", "log odds ratio of length alone within the slice"),
    "length_low": Column("CI low", "decimal", brief=False),
    "length_high": Column("CI high", "decimal", brief=False),
}
_MODELS = {
    "model": Column("Model"),
    "n": Column("Comparisons", "count"),
    "plain": Column("Win rate", "percent", "against the mean of the other models"),
    "controlled": Column("At equal style", "percent"),
    "change": Column("Change", "points"),
    "change_low": Column("CI low", "points", brief=False),
    "change_high": Column("CI high", "points", brief=False),
    "rank": Column("Rank", "count"),
    "controlled_rank": Column("Rank at equal style", "count"),
    "rank_change_low": Column("Rank change CI low", "count", brief=False),
    "rank_change_high": Column("Rank change CI high", "count", brief=False),
}


@SECTION_VIEWS.register("style")
def style(card: Card, section: Section) -> SectionView:
    """Return what the model of style explains, with one chart of its coefficients."""
    del card
    summary = section.summary
    accuracy, bits = summary["accuracy"], summary["information"]
    chance = wording.percent(summary["chance"])
    lead = (
        f"Differences in style predict {wording.percent(accuracy['value'])} of {wording.count(summary['n'])} "
        f"preferences (chance {chance}), cross-fitted over {wording.plural(summary['clusters'], 'prompt')}."
    )
    figures = [
        KeyFigure(
            "style-only accuracy",
            wording.percent(accuracy["value"]),
            f"chance {chance}",
        ),
        KeyFigure("McFadden's pseudo-R²", wording.fine(summary["pseudo_r2"])),
        KeyFigure(
            "bits",
            wording.fine(bits["value"]),
            f"95 % CI {wording.fine(bits['low'])} to {wording.fine(bits['high'])}",
        ),
    ]
    charts = [
        ChartView(
            "What wins at equal other style",
            drawn(CHARTS, "coefficients", summary["coefficients"], summary["alpha"]),
            alt="Log odds ratio of every style covariate with its 95 % CI.",
            caption="● differs from 0, ▲ does not (q over all covariates) · 95 % CI over prompts",
            name="coefficients",
        )
    ]
    tables = [TableView.of("Covariates", "style_coefficients", section["style_coefficients"], _COEFFICIENTS)]
    if "style_slices" in section.tables:
        slices = section["style_slices"].with_columns(slice=pl.format("{} = {}", "column", "value"))
        shown = {name: column for name, column in _SLICES.items() if name in slices.columns}
        tables.append(TableView.of("Style by slice", "style_slices", slices, shown, most=60, searchable=True))
    if "style_models" in section.tables:
        charts.append(
            ChartView(
                "Win rates at equal style",
                drawn(CHARTS, "win_rates", summary["models"]),
                alt="Win rate of every model as it stands and at equal style.",
                caption="Bradley–Terry win rate against the other models, with 95 % CIs over prompts.",
                name="models",
            )
        )
        tables.append(TableView.of("Models", "style_models", section["style_models"], _MODELS, most=60))
    notes = []
    if summary["left_out"]:
        notes.append(f"Too few responses differ in: {', '.join(summary['left_out']).replace('_', ' ')}.")
    if summary["penalty"]:
        notes.append(
            "A covariate separates chosen from rejected responses; coefficients are kept finite by a ridge penalty."
        )
    return SectionView(lead=[lead], figures=figures, charts=charts, tables=tables, notes=notes)
