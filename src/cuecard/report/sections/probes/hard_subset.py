"""Accuracy of models on the examples that no partial input gives away, and on the others."""

from __future__ import annotations

from typing import Any

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView
from cuecard.wording import display_text, listed

MOST_LEADS = 4


@SECTION_VIEWS.register("hard_subset")
def hard_subset(card: Card, section: Section) -> SectionView:
    """Return both accuracies of every model, and how the test examples are divided."""
    summary, table = section.summary, card.tables["hard_subset"]
    solvers = listed([display_text(name.replace("_", " "), 40) for name in summary["solvers"]])
    lead = [
        f"No partial input ({solvers}) gives {summary['hard']:,} of {wording.plural(summary['n'], 'test example')} "
        "away; these are the hard subset."
    ]
    for name, row in list(summary["models"].items())[:MOST_LEADS]:
        lead.append(
            f"{display_text(name, 60)} has an accuracy of {wording.percent(row['hard_accuracy'])} on the hard subset "
            f"and {wording.percent(row['easy_accuracy'])} on the easy one (difference "
            f"{wording.points(row['difference'])} points, 95 % CI {wording.points(row['low'])} to "
            f"{wording.points(row['high'])})."
        )

    def accuracies() -> Any:
        from cuecard.report.charts.probes.debiased_evaluation import accuracies_side_by_side

        return accuracies_side_by_side(table, {"hard": "hard_", "easy": "easy_"}, "subset")

    columns = {
        "model": Column("Model"),
        "hard_accuracy": Column("Hard", "percent", "accuracy on the hard subset"),
        "hard_low": Column("CI low", "percent", "lower end of the 95 % CI"),
        "hard_high": Column("CI high", "percent", "upper end of the 95 % CI"),
        "easy_accuracy": Column("Easy", "percent", "accuracy on the easy subset"),
        "easy_low": Column("CI low", "percent", "lower end of the 95 % CI", brief=False),
        "easy_high": Column("CI high", "percent", "upper end of the 95 % CI", brief=False),
        "difference": Column("Difference", "points", "easy minus hard, in points"),
        "low": Column("CI low", "points", "lower end of the 95 % CI of the difference"),
        "high": Column("CI high", "points", "upper end of the 95 % CI of the difference"),
    }
    majority = (
        f"The most frequent answer has an accuracy of {wording.percent(summary['hard_majority'])} on the hard subset "
        f"and {wording.percent(summary['easy_majority'])} on the easy one."
    )
    return SectionView(
        lead,
        [
            KeyFigure(
                "hard examples",
                wording.count(summary["hard"]),
                f"of {wording.plural(summary['n'], 'test example')}",
            )
        ],
        [
            ChartView(
                "Accuracy on the hard and the easy subset",
                accuracies,
                alt="Accuracy of every model on the hard and on the easy subset, each with its 95 % CI.",
                caption="With 95 % CIs. Models that rely on a partial input lose more on the hard subset.",
                name="accuracy",
            )
        ],
        [TableView.of("Hard and easy subset", "hard_subset", table, columns)],
        [majority],
    )
