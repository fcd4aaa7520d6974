"""Scores of sentences paired with themselves, by how often the sentence occurs."""

from __future__ import annotations

from typing import Any

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, SectionView, TableView
from cuecard.wording import display_text


@SECTION_VIEWS.register("identical_pairs")
def identical_pairs(card: Card, section: Section) -> SectionView:
    """Return the boxes by frequency, one series per model."""
    summary, boxes = section.summary, card.tables["identical_pairs"]

    def draw() -> Any:
        from cuecard.report.charts.probes.identical_pairs import identical_pairs_chart

        return identical_pairs_chart(boxes, last=summary["last"])

    return SectionView(
        lead=[
            f"{wording.plural(summary['pairs'], 'sentence')} of the training set, each paired with itself. All of them "
            "match, so a score that depends on sentence frequency does not come from reading the pair.",
            *(_sentence(name, scores) for name, scores in summary["models"].items()),
        ],
        charts=[
            ChartView(
                "Score by sentence frequency",
                draw,
                alt="Tukey boxes of each model's score of identical pairs by the sentence's frequency.",
                caption="Box: middle 50 %; line: median; whiskers: most extreme scores within 1.5 box lengths.",
                name="scores",
            )
        ],
        tables=[_table(card, summary["last"])],
    )


def _sentence(name: str, scores: dict[str, Any]) -> str:
    trend = (
        ""
        if scores["rho"] is None
        else f"; Spearman's ρ with frequency is {scores['rho']:+z.2f} (p = {wording.probability(scores['p_value'])})"
    )
    return (
        f"{display_text(name, 60)} gives {wording.percent(scores['matched'])} of them a score of at least 0.5; the "
        f"mean score is {scores['mean']:z.2f}{trend}."
    )


def _table(card: Card, last: int) -> TableView:
    # Models beside each other at each frequency: where only the first rows are shown, all models are among them.
    frame = card.tables["identical_pairs"].sort("frequency", maintain_order=True)
    columns = [
        Column("Model"),
        Column("Occurs", "text", "how often the sentence occurs in the training set"),
        Column("Sentences", "count"),
        Column("Low", "decimal", "end of the lower whisker"),
        Column("Q1", "decimal", "first quartile"),
        Column("Median", "decimal"),
        Column("Q3", "decimal", "third quartile"),
        Column("High", "decimal", "end of the upper whisker"),
        Column("Mean", "decimal"),
        Column("Match", "percent", "share of scores of at least 0.5"),
        Column("Outliers", "count", "scores beyond the whiskers", brief=False),
    ]
    rows = [
        (
            row["model"],
            f"{row['frequency']}{'+' if row['frequency'] >= last else ''}",
            row["n"],
            row["low"],
            row["q1"],
            row["median"],
            row["q3"],
            row["high"],
            row["mean"],
            row["matched"],
            row["outliers"],
        )
        for row in frame.iter_rows(named=True)
    ]
    return TableView(
        title="Scores of identical pairs by frequency",
        columns=columns,
        rows=rows,
        total=frame.height,
        source="tables/identical_pairs.parquet",
    )
