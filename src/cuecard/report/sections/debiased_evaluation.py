"""Accuracy of models as it stands, and under weights that take a leak out of the test split."""

from __future__ import annotations

from typing import Any

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.texts import display_text
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView

MOST_LEADS = 4


@SECTION_VIEWS.register("debiased_evaluation")
def debiased_evaluation(card: Card, section: Section) -> SectionView:
    """Return both accuracies of every model beside the majority, and what the weights cost."""
    summary, table = section.summary, card.tables["debiased_evaluation"]

    def accuracies() -> Any:
        from cuecard.report.charts.debiased_evaluation import both_accuracies

        return both_accuracies(table)

    models = {name: row for name, row in summary["models"].items() if not row["baseline"]}
    return SectionView(
        lead=[_weights(summary), *(_sentence(name, row) for name, row in list(models.items())[:MOST_LEADS])],
        figures=[
            KeyFigure("effective sample size", numbers.count(summary["effective_sample_size"]),
                      f"of {numbers.plural(summary['n'], 'test example')}"),
            KeyFigure("largest weight", numbers.number(summary["largest"]), "the mean is 1"),
        ],
        charts=[
            ChartView(
                "Accuracy with and without the leak",
                accuracies,
                alt="Accuracy of every model as it stands and under the weights, each with its interval.",
                caption="With 95 % intervals. Models that lean on the leak lose more than others.",
                name="accuracy",
            )
        ],
        tables=[_table(card)],
        notes=summary["notes"],
    )  # fmt: skip


def _weights(summary: dict[str, Any]) -> str:
    worth = (
        f"{numbers.plural(summary['n'], 'test example')}, worth {numbers.count(summary['effective_sample_size'])} "
        "equally weighted ones"
    )
    if summary["weights"] == "leakage-neutral":
        return f"Leakage-neutral weights make the pair graph say nothing about the label: {worth}."
    return f"Weights of the column “{display_text(summary['weights'], 60)}”: {worth}."


def _sentence(name: str, row: dict[str, Any]) -> str:
    return (
        f"{display_text(name, 60)} is right on {numbers.percent(row['accuracy'])} as it stands and on "
        f"{numbers.percent(row['weighted_accuracy'])} ({numbers.percent(row['weighted_low'])} to "
        f"{numbers.percent(row['weighted_high'])}) under the weights."
    )


def _table(card: Card) -> TableView:
    frame = card.tables["debiased_evaluation"]
    columns = {
        "model": Column("Model"),
        "accuracy": Column("Accuracy", "percent"),
        "low": Column("from", "percent", "lower end of the 95 % interval", brief=False),
        "high": Column("to", "percent", "upper end of the 95 % interval", brief=False),
        "weighted_accuracy": Column(
            "Without the leak", "percent", "accuracy under the weights; leakage-neutral: doubly robust"
        ),
        "weighted_low": Column("from", "percent", "lower end of the 95 % interval"),
        "weighted_high": Column("to", "percent", "upper end of the 95 % interval"),
        "change": Column("Change", "points", "without the leak minus as it stands, in points"),
        "change_low": Column("from", "points", "lower end of the 95 % interval of the change"),
        "change_high": Column("to", "points", "upper end of the 95 % interval of the change"),
        "weights_alone": Column("Weights alone", "percent", "weighted mean, no outcome model", brief=False),
        "effective_n": Column("Worth", "count", "equally weighted answers with the same error", brief=False),
    }
    return TableView(
        title="Accuracy as it stands and under the weights",
        columns=list(columns.values()),
        rows=frame.select(list(columns)).rows(),
        total=frame.height,
        source="tables/debiased_evaluation.parquet",
        caption="The interval of the change knows that both accuracies are about the same examples.",
    )
