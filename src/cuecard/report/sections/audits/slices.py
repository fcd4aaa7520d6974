"""Where a shortcut works better, or worse, than in the rest of the data."""

from __future__ import annotations

from typing import Any

import polars as pl

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, Column, SectionView, TableView

MOST_ROWS = 50


@SECTION_VIEWS.register("slices")
def slices(card: Card, section: Section) -> SectionView:
    """Return how many slices differ from chance, and the strongest ones."""
    return SectionView(lead=_lead(section.summary), tables=[_table(card)])


def _lead(summary: dict[str, Any]) -> list[str]:
    columns = ", ".join(display_text(name, 40) for name in summary["columns"])
    tests = numbers.plural(summary["tests"], "test")
    return [
        f"{tests} of {numbers.plural(len(summary['rules']), 'shortcut')} on the values of {columns}: "
        f"{numbers.count(summary['significant'])} differ from chance (q ≤ {summary['alpha']:g})."
    ]


def _table(card: Card) -> TableView:
    frame = card.tables["slices"]
    columns = [
        Column("Shortcut"),
        Column("Slice"),
        Column("Examples", "count"),
        Column("Accuracy", "percent"),
        Column("CI low", "percent", "95 % confidence interval of the accuracy"),
        Column("CI high", "percent", "95 % confidence interval of the accuracy"),
        Column("Chance", "percent"),
        Column("q", "probability", "p-value adjusted for multiple tests (false discovery rate)"),
    ]
    shown = frame.head(MOST_ROWS).select(
        pl.col("rule").str.replace_all("_only", "-only").str.replace_all("_", " "),
        pl.format("{} = {}", "column", "value"),
        *("n", "accuracy", "low", "high", "chance", "q_value"),
    )
    return TableView("Slices", columns, shown.rows(), frame.height, "tables/slices.parquet")
