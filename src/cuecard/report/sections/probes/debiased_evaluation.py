"""Accuracy of models as it stands, and under weights that take a leak out of the test split."""

from __future__ import annotations

from typing import Any

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, KeyFigure, SectionView, TableView
from cuecard.wording import display_text

MOST_LEADS = 4


@SECTION_VIEWS.register("debiased_evaluation")
def debiased_evaluation(card: Card, section: Section) -> SectionView:
    """Return both accuracies of every model beside the majority, and what the weights cost."""
    summary, table = section.summary, card.tables["debiased_evaluation"]

    def accuracies() -> Any:
        from cuecard.report.charts.probes.debiased_evaluation import accuracies_side_by_side

        return accuracies_side_by_side(table, {"unweighted": "", "reweighted": "weighted_"}, "weights")

    models = {name: row for name, row in summary["models"].items() if not row["baseline"]}
    return SectionView(
        lead=[_weights(summary), *(_sentence(name, row) for name, row in list(models.items())[:MOST_LEADS])],
        figures=[
            KeyFigure("effective sample size", wording.count(summary["effective_sample_size"]),
                      f"of {wording.plural(summary['n'], 'test example')}"),
            KeyFigure("largest weight", wording.number(summary["largest"]), "the mean is 1"),
        ],
        charts=[
            ChartView(
                "Accuracy with and without the leak",
                accuracies,
                alt="Unweighted and reweighted accuracy of every model, each with its 95 % CI.",
                caption="With 95 % CIs. Models that rely on the leak lose more accuracy.",
                name="accuracy",
            )
        ],
        tables=[_table(card)],
        notes=summary["notes"],
    )  # fmt: skip


def _weights(summary: dict[str, Any]) -> str:
    size = (
        f"the effective sample size is {wording.count(summary['effective_sample_size'])} of "
        f"{wording.plural(summary['n'], 'test example')}"
    )
    if summary["weights"] == "leakage-neutral":
        return f"With leakage-neutral weights, the pair graph does not predict the label; {size}."
    return f"With the weights of the column “{display_text(summary['weights'], 60)}”, {size}."


def _sentence(name: str, row: dict[str, Any]) -> str:
    return (
        f"{display_text(name, 60)} has an accuracy of {wording.percent(row['accuracy'])}, and "
        f"{wording.percent(row['weighted_accuracy'])} (95 % CI {wording.percent(row['weighted_low'])} to "
        f"{wording.percent(row['weighted_high'])}) on the reweighted test set."
    )


def _table(card: Card) -> TableView:
    frame = card.tables["debiased_evaluation"]
    columns = {
        "model": Column("Model"),
        "accuracy": Column("Accuracy", "percent"),
        "low": Column("CI low", "percent", "lower end of the 95 % CI", brief=False),
        "high": Column("CI high", "percent", "upper end of the 95 % CI", brief=False),
        "weighted_accuracy": Column(
            "Reweighted", "percent", "accuracy on the reweighted test set; leakage-neutral: doubly robust"
        ),
        "weighted_low": Column("CI low", "percent", "lower end of the 95 % CI"),
        "weighted_high": Column("CI high", "percent", "upper end of the 95 % CI"),
        "change": Column("Change", "points", "reweighted minus unweighted accuracy, in points"),
        "change_low": Column("CI low", "points", "lower end of the 95 % CI of the change"),
        "change_high": Column("CI high", "points", "upper end of the 95 % CI of the change"),
        "weights_alone": Column("Weights only", "percent", "weighted mean, no outcome model", brief=False),
        "effective_n": Column("Effective n", "count", "effective sample size of the estimate", brief=False),
    }
    return TableView.of(
        "Unweighted and reweighted accuracy",
        "debiased_evaluation",
        frame,
        columns,
        caption="The CI of the change is paired: both accuracies are on the same examples.",
    )
