"""The papers' experiments on the user's data: what balanced or leakage-neutral training changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import SECTION_VIEWS, ChartView, Column, SectionView, TableView, drawn

#: Weights that leave less than this share of the sample make weighted figures uncertain.
FEW_EFFECTIVE = 0.05


@SECTION_VIEWS.register("stubborn")
def stubborn(card: Card, section: Section) -> SectionView:
    """Return p-values and accuracies by model and weights, and what the weights leave of the sample."""
    summary, parameters = section.summary, section.parameters
    lead = [
        f"{wording.count(summary['runs'])} models are trained and tested on "
        f"{wording.count(summary['test_examples'])} examples. Is their accuracy higher if one of the "
        f"{wording.count(summary['words'])} words with the highest z has its usual label?"
    ]
    notes = [
        "p: exact one-sided permutation test; correctness is shuffled over the examples with such a word. Within "
        "label: correctness is shuffled among examples of the same label, so a higher accuracy on one label does not "
        "count as bias. Words and usual labels always come from the unweighted training set.",
        *summary.get("notes", []),
    ]
    chart = ChartView(
        "Reliance on words by weights",
        drawn(
            "remedies.experiments", "p_values", card.tables["stubborn_runs"], parameters.get("alpha", 0.05)
        ),
        alt="−log10 of the p-value of every run, by training weights.",
        caption="One point per seed. Differences to the left of the dashed line are not significant.",
    )
    tables = [_groups(card), _weighing(card), _runs(card, "stubborn_runs")]
    return SectionView(lead, charts=[chart], tables=tables, notes=notes)


def _groups(card: Card) -> TableView:
    columns = {
        "model": Column("Model"),
        "weights": Column("Weights"),
        "accuracy": Column("Accuracy", "percent", "mean over the seeds"),
        "accuracy_sd": Column("± sd", "percent", "standard deviation over the seeds", brief=False),
        "usual_accuracy": Column("Usual", "percent", "accuracy if a word has its usual label"),
        "unusual_accuracy": Column("Other", "percent", "accuracy if a word has another label"),
        "log10_p": Column("log₁₀ p", "decimal", "median over the seeds"),
        "log10_p_lowest": Column("lowest", "decimal", "over the seeds", brief=False),
        "log10_p_highest": Column("highest", "decimal", "over the seeds", brief=False),
        "log10_p_within_label": Column(
            "within label", "decimal", "log₁₀ p, shuffled within each label; median"
        ),
        "seeds": Column("Seeds", "count", brief=False),
    }
    return TableView.of("Effect of the weights", "stubborn", card.tables["stubborn"], columns)


def _weighing(card: Card) -> TableView:
    columns = {
        "weights": Column("Weights"),
        "features": Column("Balanced", "count", "features with equal label shares after reweighting"),
        "ess": Column(
            "Effective sample size", "percent", "effective sample size, as a share of the training examples"
        ),
        "max_weight": Column("Largest", "number", "largest weight; the mean is 1"),
    }
    return TableView.of(
        "The weights", "stubborn_weights", card.tables["stubborn_weights"], columns, everywhere=True
    )


def _runs(card: Card, name: str) -> TableView:
    """Return every run of an experiment with the columns that its table has."""
    columns = {
        "model": Column("Model"),
        "weights": Column("Weights"),
        "method": Column("Method"),
        "seed": Column("Seed", "count"),
        "accuracy": Column("Accuracy", "percent"),
        "usual_accuracy": Column("Usual", "percent"),
        "unusual_accuracy": Column("Other", "percent"),
        "log10_p": Column("log₁₀ p", "decimal"),
        "log10_p_within_label": Column("within label", "decimal"),
        "strength": Column("Strength"),
    }
    table = card.tables[name]
    return TableView.of("All runs", name, table, {c: columns[c] for c in columns if c in table.columns})


@SECTION_VIEWS.register("selection")
def selection(card: Card, section: Section) -> SectionView:
    """Return biased and debiased training: unweighted, reweighted, on other datasets, and on identical pairs."""
    summary = section.summary
    lead = [
        f"{summary['model']} is trained with equal weights (biased) and with leakage-neutral weights (debiased). Both "
        "models are scored on the test set, unweighted and with leakage-neutral weights."
    ]
    kept, largest = summary["weights"]["effective_share"], summary["weights"]["largest"]
    notes = [
        f"The effective sample size of the weights is {wording.percent(kept)}; the largest weight is "
        f"{wording.number(largest)}.",
        f"A sentence paired with itself should be {summary['match']!r}. If the boxes rise or fall with sentence "
        "frequency, the model has learned sentence frequency.",
    ]
    if kept < FEW_EFFECTIVE:
        notes.append(
            "The effective sample size is small, so weighted results are uncertain: try --max-weight 50."
        )
    charts = [
        ChartView(
            "Evaluation",
            drawn("remedies.experiments", "evaluations", card.tables["selection"]),
            alt="Accuracy of biased and debiased training, unweighted and reweighted.",
        ),
        ChartView(
            "Other datasets",
            drawn("remedies.experiments", "across_sets", card.tables["selection_across"]),
            alt="Accuracy of biased and debiased training on every dataset.",
        ),
        ChartView(
            "Identical pairs",
            _identical(card.tables["selection_identical"]),
            alt="Tukey boxes of the score of sentences paired with themselves, by their frequency in the training set.",
            caption="Sentences of the training set paired with themselves, by frequency in the training set.",
        ),
    ]
    means = [_means(card)] if "selection_means" in card.tables else []
    tables = [_evaluation(card), _across(card), *means]
    return SectionView(lead, charts=charts, tables=tables, notes=notes)


def _evaluation(card: Card) -> TableView:
    columns = {
        "model": Column("Training"),
        "accuracy": Column("Accuracy", "percent", "unweighted"),
        "low": Column("CI low", "percent"),
        "high": Column("CI high", "percent"),
        "weighted_accuracy": Column("Reweighted", "percent", "accuracy with leakage-neutral weights"),
        "weighted_low": Column("CI low", "percent"),
        "weighted_high": Column("CI high", "percent"),
        "effective_n": Column("Effective n", "count"),
        "n": Column("Examples", "count", brief=False),
    }
    return TableView.of("Biased and debiased evaluation", "selection", card.tables["selection"], columns)


def _means(card: Card) -> TableView:
    """Return the paper's Tables 3 and 4: every row a mean over seeds."""
    frame = card.tables["selection_means"]
    columns = {
        "model": Column("Training"),
        "accuracy": Column("Accuracy", "percent", "unweighted"),
        "weighted_accuracy": Column("Reweighted", "percent", "accuracy with leakage-neutral weights"),
        "identical": Column(
            "Identical pairs", "percent", "share of sentences paired with themselves that match"
        ),
        "rise": Column(
            "Rise", "decimal", "mean score of identical pairs: repeated sentences minus those that occur once"
        ),
        **{name: Column(name, "percent") for name in frame.columns if name not in _MEANS},
    }
    return TableView.of("Means over seeds", "selection_means", frame, columns)


_MEANS = ("model", "accuracy", "weighted_accuracy", "identical", "rise", "less_rise")


def _across(card: Card) -> TableView:
    columns = {
        "dataset": Column("Dataset"),
        "biased_accuracy": Column("Biased", "percent", "accuracy of biased training"),
        "debiased_accuracy": Column("Debiased", "percent", "accuracy of debiased training"),
        "points": Column("Difference", "decimal", "debiased minus biased, in points"),
        "points_low": Column("CI low", "decimal"),
        "points_high": Column("CI high", "decimal"),
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
    return TableView.of("On every dataset", "selection_across", shown, columns, everywhere=True)


def _identical(boxes: pl.DataFrame) -> Callable[[], Any]:
    def draw() -> Any:
        from cuecard.report.charts.probes.identical_pairs import identical_pairs_chart

        return identical_pairs_chart(boxes)

    return draw


@SECTION_VIEWS.register("frontier")
def frontier(card: Card, section: Section) -> SectionView:
    """Return accuracy against the gap of every way to train and correct, and what each does on other cues."""
    summary, parameters = section.summary, section.parameters
    lead = [
        f"{wording.count(summary['runs'])} sets of predictions of {wording.count(summary['test_examples'])} examples: "
        "what does it cost to be as accurate if words have another label as if they have their usual one? Strengths "
        "are tuned on the dev split."
    ]
    notes = [
        "Gap: accuracy on examples with a listed word and its usual label minus accuracy on those with another label. "
        "Other half: every second listed word, which methods that end in “-half” do not know, and “tuned-on-half” is "
        "not tuned on. Next words: those that follow the listed ones in z, which only “constraint-bands” knows. Hard: "
        "examples that a linear model of partial input gets wrong.",
    ]
    charts = [
        ChartView(
            "Accuracy against the gap",
            drawn(
                "remedies.experiments",
                "frontier",
                card.tables["frontier"],
                "gap",
                parameters.get("alpha", 0.05),
            ),
            alt="Accuracy of every method by the gap that it leaves.",
            caption="Means over the seeds, with 95 % CIs. The best methods are at the top, at a gap of zero or less.",
        ),
        ChartView(
            "Accuracy against the evidence of the permutation test",
            drawn(
                "remedies.experiments",
                "frontier",
                card.tables["frontier"],
                "p",
                parameters.get("alpha", 0.05),
            ),
            alt="Accuracy of every method by −log10 p.",
            caption="Left of the dashed line, the difference is not significant.",
        ),
    ]
    tables = [_frontier(card), _runs(card, "frontier_runs")]
    return SectionView(lead, charts=charts, tables=tables, notes=notes)


def _frontier(card: Card) -> TableView:
    table = card.tables["frontier"]
    gaps = [name for name in ("gap", "half_gap", "next_gap", "bigram_gap") if name in table.columns]
    shown = table.with_columns((100 * pl.col(name)).alias(name) for name in gaps)
    columns = {
        "model": Column("Model"),
        "method": Column("Method"),
        "accuracy": Column("Accuracy", "percent", "mean over the seeds"),
        "hard_accuracy": Column("Hard", "percent", "accuracy where partial input is wrong"),
        "neutral_accuracy": Column(
            "Leak-neutral", "percent", "accuracy if the pair graph did not predict the label"
        ),
        "gap": Column("Gap", "decimal", "points, listed words"),
        "log10_p": Column("log₁₀ p", "decimal", "listed words, median over the seeds"),
        "log10_p_within_label": Column("within label", "decimal", "shuffled within each label"),
        "half_gap": Column("Other half", "decimal", "gap over every second listed word, in points"),
        "half_log10_p": Column("log₁₀ p", "decimal", "over every second listed word"),
        "next_gap": Column("Next words", "decimal", "gap over the words that follow, in points"),
        "bigram_gap": Column("Bigrams", "decimal", "gap over bigrams, in points", brief=False),
        "worst_group_accuracy": Column("Worst group", "percent", brief=False),
        "accuracy_sd": Column("± sd", "percent", "of accuracy over the seeds", brief=False),
        "strength": Column("Strength", hint="of the first seed", brief=False),
        "seeds": Column("Seeds", "count", brief=False),
        **{
            name: Column(name.removeprefix("on_"), "percent", "accuracy on this dataset", brief=False)
            for name in table.columns
            if name.startswith("on_")
        },
    }
    present = {name: column for name, column in columns.items() if name in shown.columns}
    return TableView.of("All methods", "frontier", shown, present)
