"""The papers' experiments on the user's data: what balanced or leakage-neutral training changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from cuecard.card.card import Card, Section
from cuecard.report import numbers
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, SectionView, TableView

#: Weights that leave less than this share of the sample make weighted figures uncertain.
FEW_EFFECTIVE = 0.05


@SECTION_VIEWS.register("stubborn")
def stubborn(card: Card, section: Section) -> SectionView:
    """Return p-values and accuracies by model and weights, and what the weights leave of the sample."""
    summary, parameters = section.summary, section.parameters
    lead = [
        f"{numbers.count(summary['runs'])} models were trained and tested on "
        f"{numbers.count(summary['test_examples'])} examples: are they right more often where one of the "
        f"{numbers.count(summary['words'])} words of highest z has its usual label?"
    ]
    notes = [
        "p: correctness shuffled over the examples that have such a word (one-sided, exact). Within each label: the "
        "same, shuffled among examples of the same label, so that a model that is merely better at one label is not "
        "called biased. Words and labels are those of the unweighted train split under all weights.",
        *summary.get("notes", []),
    ]
    chart = ChartView(
        "Reliance on words by weights",
        _drawn("p_values", card.tables["stubborn_runs"], parameters.get("alpha", 0.05)),
        alt="−log10 of the p-values of every run by the weights of its training.",
        caption="A point per seed. Left of the broken line a difference is not significant.",
    )
    return SectionView(
        lead, charts=[chart], tables=[_groups(card), _weighing(card), _runs(card)], notes=notes
    )


def _groups(card: Card) -> TableView:
    columns = {
        "model": Column("Model"),
        "weights": Column("Weights"),
        "accuracy": Column("Right", "percent", "mean over the seeds"),
        "accuracy_sd": Column("± sd", "percent", "standard deviation over the seeds", brief=False),
        "usual_accuracy": Column("Usual", "percent", "right where a word has its usual label"),
        "unusual_accuracy": Column("Other", "percent", "right where a word has another label"),
        "log10_p": Column("log₁₀ p", "decimal", "median over the seeds"),
        "log10_p_lowest": Column("lowest", "decimal", "over the seeds", brief=False),
        "log10_p_highest": Column("highest", "decimal", "over the seeds", brief=False),
        "log10_p_within_label": Column(
            "within label", "decimal", "log₁₀ p, shuffled within each label; median"
        ),
        "seeds": Column("Seeds", "count", brief=False),
    }
    return _view("What weights change", card.tables["stubborn"], columns, "stubborn")


def _weighing(card: Card) -> TableView:
    columns = {
        "weights": Column("Weights"),
        "features": Column("Balanced", "count", "features whose label shares are equal under the weights"),
        "ess": Column("Effective sample", "percent", "effective sample size, of the train examples"),
        "max_weight": Column("Largest", "number", "largest weight; the mean is 1"),
    }
    return _view("The weights", card.tables["stubborn_weights"], columns, "stubborn_weights", everywhere=True)


def _runs(card: Card) -> TableView:
    columns = {
        "model": Column("Model"),
        "weights": Column("Weights"),
        "seed": Column("Seed", "count"),
        "accuracy": Column("Right", "percent"),
        "usual_accuracy": Column("Usual", "percent"),
        "unusual_accuracy": Column("Other", "percent"),
        "log10_p": Column("log₁₀ p", "decimal"),
        "log10_p_within_label": Column("within label", "decimal"),
    }
    return _view("Every run", card.tables["stubborn_runs"], columns, "stubborn_runs")


@SECTION_VIEWS.register("selection")
def selection(card: Card, section: Section) -> SectionView:
    """Return biased and debiased training as they stand, under weights, elsewhere, and on identical pairs."""
    summary = section.summary
    lead = [
        f"{summary['model']} was trained with equal weights (biased) and with leakage-neutral weights (debiased), "
        "and both were scored on the test set as it stands and under leakage-neutral weights."
    ]
    kept, largest = summary["weights"]["effective_share"], summary["weights"]["largest"]
    notes = [
        f"The weights keep {numbers.percent(kept)} of the effective sample size; the largest is "
        f"{numbers.number(largest)}.",
        f"A sentence paired with itself should be {summary['match']!r}: boxes that rise or fall with the sentence's "
        "frequency show that a model learned how often sentences were drawn.",
    ]
    if kept < FEW_EFFECTIVE:
        notes.append(
            "So few examples carry the weight that weighted figures are uncertain: try --max-weight 50."
        )
    charts = [
        ChartView(
            "Evaluation",
            _drawn("evaluations", card.tables["selection"]),
            alt="Right answers of biased and debiased training, as the test set stands and under weights.",
        ),
        ChartView(
            "Other sets",
            _drawn("across_sets", card.tables["selection_across"]),
            alt="Right answers of biased and debiased training on every set.",
        ),
        ChartView(
            "Identical pairs",
            _identical(card.tables["selection_identical"]),
            alt="Tukey boxes of the score of sentences paired with themselves, by their frequency in train.",
            caption="Sentences of the train split paired with themselves, by how often they occur there.",
        ),
    ]
    tables = [_evaluation(card), _across(card)]
    return SectionView(lead, charts=charts, tables=tables, notes=notes)


def _evaluation(card: Card) -> TableView:
    columns = {
        "model": Column("Training"),
        "accuracy": Column("Right", "percent", "as the test set stands"),
        "low": Column("from", "percent"),
        "high": Column("to", "percent"),
        "weighted_accuracy": Column("Weighted", "percent", "under leakage-neutral weights"),
        "weighted_low": Column("from", "percent"),
        "weighted_high": Column("to", "percent"),
        "effective_n": Column("Effective n", "count"),
        "n": Column("Examples", "count", brief=False),
    }
    return _view("Biased and debiased evaluation", card.tables["selection"], columns, "selection")


def _across(card: Card) -> TableView:
    columns = {
        "dataset": Column("Set"),
        "biased_accuracy": Column("Biased", "percent", "right answers of biased training"),
        "debiased_accuracy": Column("Debiased", "percent", "right answers of debiased training"),
        "points": Column("Difference", "decimal", "debiased minus biased, in points"),
        "points_low": Column("from", "decimal"),
        "points_high": Column("to", "decimal"),
        "p": Column("p", "probability", "exact McNemar test"),
        "n": Column("Examples", "count"),
        "seed": Column("Seed", "count", brief=False),
    }
    shown = card.tables["selection_across"].with_columns(
        points=100 * pl.col("difference"),
        points_low=100 * pl.col("difference_low"),
        points_high=100 * pl.col("difference_high"),
        p=pl.lit(10.0).pow(pl.col("log10_p")),
    )
    return _view("On every set", shown, columns, "selection_across", everywhere=True)


def _view(
    title: str, frame: pl.DataFrame, columns: dict[str, Column], table: str, *, everywhere: bool = False
) -> TableView:
    rows = frame.select(list(columns)).rows()
    source = f"tables/{table}.parquet"
    return TableView(title, list(columns.values()), rows, len(rows), source, everywhere=everywhere)


def _drawn(name: str, *arguments: Any) -> Callable[[], Any]:
    def draw() -> Any:
        from cuecard.report.charts import experiments

        return getattr(experiments, name)(*arguments)

    return draw


def _identical(boxes: pl.DataFrame) -> Callable[[], Any]:
    def draw() -> Any:
        from cuecard.report.charts.identical_pairs import identical_pairs_chart

        return identical_pairs_chart(boxes)

    return draw
