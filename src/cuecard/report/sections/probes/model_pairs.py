"""Two models compared: where they agree, and which is better."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, SectionView, TableView
from cuecard.wording import display_text

MOST_PAIRS = 6


@SECTION_VIEWS.register("agreement")
def agreement(card: Card, section: Section) -> SectionView:
    """Return how far the answers of every two models coincide."""
    lead = [
        f"{display_text(pair['normal'], 60)} and {display_text(pair['biased'], 60)} give the same answer to "
        f"{wording.percent(pair['nba'])} of the test examples; {wording.percent(pair['expected_nba'])} is expected by "
        "chance."
        for pair in section.summary["pairs"][:MOST_PAIRS]
    ]
    columns = {
        "normal": Column("Model"),
        "biased": Column("Other"),
        "nba": Column("Agree", "percent", "share of test examples with the same answer (NBA)"),
        "expected_nba": Column("Chance", "percent", "agreement expected from label frequencies"),
        "kappa": Column("κ", "decimal", "Cohen's kappa: agreement beyond chance"),
        "nbr": Column("NBR", "percent", "both correct / agreements"),
        "nbr_released": Column("NBR released", "percent", "both correct / first model correct"),
        "n": Column("Examples", "count"),
    }
    table = card.tables["agreement"]
    view = TableView.of("Agreement of models", "agreement", table, columns)
    return SectionView(lead, tables=[view])


@SECTION_VIEWS.register("paired_comparison")
def paired_comparison(card: Card, section: Section) -> SectionView:
    """Return the difference of every two models on the same examples, in all and per cue."""
    lead = [
        f"{display_text(pair['model_a'], 60)} minus {display_text(pair['model_b'], 60)}: "
        f"{wording.points(pair['difference'])} points (95 % CI {wording.points(pair['low'])} to "
        f"{wording.points(pair['high'])}; McNemar p = {wording.probability(None, pair['log10_p'])})."
        for pair in section.summary["pairs"][:MOST_PAIRS]
    ]
    whole, by_cue = card.tables["paired_comparison"], card.tables["paired_by_cue"]
    charts = [
        _pair_chart(whole, by_cue, a, b)
        for a, b in whole.select("model_a", "model_b").head(MOST_PAIRS).rows()
    ]
    columns = {
        "feature": Column("Cue"),
        "model_a": Column("A", brief=whole.height > 1),
        "model_b": Column("B", brief=whole.height > 1),
        "difference": Column("A−B", "points", "difference in accuracy, in points"),
        "low": Column("CI low", "points", "lower end of the 95 % CI"),
        "high": Column("CI high", "points", "upper end of the 95 % CI"),
        "q_value": Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
        "only_a": Column("Only A", "count", "test examples that only A answers correctly"),
        "only_b": Column("Only B", "count", "test examples that only B answers correctly"),
        "n": Column("With cue", "count", "test examples with the cue"),
    }
    shown = by_cue.sort("log10_p", nulls_last=True, maintain_order=True)
    view = TableView.of("Per cue", "paired_by_cue", shown, columns, total=by_cue.height, searchable=True)
    return SectionView(lead, charts=charts, tables=[view])


def _pair_chart(whole: pl.DataFrame, by_cue: pl.DataFrame, a: str, b: str) -> ChartView:
    def draw() -> Any:
        from cuecard.report.charts.probes.probes import paired_differences

        same = (pl.col("model_a") == a) & (pl.col("model_b") == b)
        columns = ["model_a", "model_b", "feature", "difference", "low", "high", "n", "log10_p"]
        total = whole.filter(same).with_columns(feature=pl.lit(None, dtype=pl.String)).select(columns)
        return paired_differences(
            pl.concat([total, by_cue.filter(same).select(columns)], how="vertical_relaxed")
        )

    return ChartView(
        f"{display_text(a, 40)} minus {display_text(b, 40)}",
        draw,
        alt="Differences in accuracy of two models with 95 % CIs, overall and for each cue.",
        caption="To the right of zero, the first model is more accurate.",
    )
