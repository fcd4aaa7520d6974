"""What the papers' experiments show: what balanced or leakage-neutral training changes."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import polars as pl

from cuecard.probes.identical_pair_scores import LAST_FREQUENCY
from cuecard.probes.model_views import identical_pairs_chart
from cuecard.view import Axis, Column, Intervals, Outcome, Scatter, Table, View
from cuecard.wording import count, number, percent

#: Weights that leave less than this share of the sample make weighted figures uncertain.
FEW_EFFECTIVE = 0.05
_GROUPS = {
    "model": Column("Model"),
    "weights": Column("Weights"),
    "accuracy": Column("Accuracy", "percent", "mean over the seeds"),
    "accuracy_sd": Column("± sd", "percent", "standard deviation over the seeds", brief=False),
    "usual_accuracy": Column("Usual", "percent", "accuracy if a word has its usual label"),
    "unusual_accuracy": Column("Other", "percent", "accuracy if a word has another label"),
    "log10_p": Column("log₁₀ p", "decimal", "median over the seeds"),
    "log10_p_lowest": Column("lowest", "decimal", "over the seeds", brief=False),
    "log10_p_highest": Column("highest", "decimal", "over the seeds", brief=False),
    "log10_p_exact": Column("paper's formula", "decimal", "log₁₀ p, shared texts not discounted; median"),
    "log10_p_within_label": Column("within label", "decimal", "log₁₀ p, shuffled within each label; median"),
    "seeds": Column("Seeds", "count", brief=False),
}
_WEIGHTS = {
    "weights": Column("Weights"),
    "features": Column("Balanced", "count", "features with equal label shares after reweighting"),
    "ess": Column(
        "Effective sample size", "percent", "effective sample size, as a share of the training examples"
    ),
    "max_weight": Column("Largest", "number", "largest weight; the mean is 1"),
}
_RUNS = {
    "model": Column("Model"),
    "weights": Column("Weights"),
    "method": Column("Method"),
    "seed": Column("Seed", "count"),
    "accuracy": Column("Accuracy", "percent"),
    "usual_accuracy": Column("Usual", "percent"),
    "unusual_accuracy": Column("Other", "percent"),
    "log10_p": Column("log₁₀ p", "decimal"),
    "log10_p_exact": Column("paper's formula", "decimal", "shared texts not discounted"),
    "log10_p_within_label": Column("within label", "decimal"),
    "strength": Column("Strength"),
}
_EVALUATION = {
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
_ACROSS = {
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
_MEANS = {
    "model": Column("Training"),
    "accuracy": Column("Accuracy", "percent", "unweighted"),
    "weighted_accuracy": Column("Reweighted", "percent", "accuracy with leakage-neutral weights"),
    "identical": Column("Identical pairs", "percent", "share of sentences paired with themselves that match"),
    "rise": Column(
        "Rise", "decimal", "mean score of identical pairs: repeated sentences minus those that occur once"
    ),
}
_FRONTIER = {
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
}
_ACCURACY = {
    "accuracy": Column("accuracy", "percent"),
    "low": Column("CI low", "percent"),
    "high": Column("CI high", "percent"),
}


def stubborn_view(outcome: Outcome) -> View:
    """Return p-values and accuracies by model and weights, and what the weights leave of the sample."""
    summary = outcome.summary
    lead = (
        f"{count(summary['runs'])} models are trained and tested on "
        f"{count(summary['test_examples'])} examples. Is their accuracy higher if one of the "
        f"{count(summary['words'])} words with the highest z has its usual label?"
    )
    how = (
        "p: exact one-sided permutation test; correctness is shuffled over the examples with such a word. Within "
        "label: correctness is shuffled among examples of the same label, so a higher accuracy on one label does not "
        "count as bias. Words and usual labels always come from the unweighted training set."
    )
    return View(
        [lead],
        charts=[_evidence(outcome.tables["stubborn_runs"], outcome.parameters.get("alpha", 0.05))],
        tables=[
            Table("Effect of the weights", "stubborn", _GROUPS),
            Table("The weights", "stubborn_weights", _WEIGHTS, everywhere=True),
            Table("All runs", "stubborn_runs", _RUNS),
        ],
        notes=[how, *summary.get("notes", [])],
    )


def _evidence(runs: pl.DataFrame, alpha: float) -> Intervals:
    """Return −log10 p of every run by model and weights; left of the line nothing is shown."""
    tests = {"over all": "log10_p", "within each label": "log10_p_within_label"}
    several = runs["model"].n_unique() > 1
    line = pl.format("{}, {}", "model", "weights") if several else pl.col("weights")
    rows = pl.concat(
        runs.select(
            "seed", "accuracy", line=line, test=pl.lit(name), log10_p=pl.col(column), evidence=-pl.col(column)
        )
        for name, column in tests.items()
    )
    return Intervals(
        title="Reliance on words by weights",
        data=rows,
        y="line",
        x=Axis("evidence", "−log₁₀ p of the permutation test (larger: relies more on words)"),
        series="test",
        line=-log10(alpha),
        tooltip={
            "seed": Column("seed", "count"),
            "log10_p": Column("p-value", "log10_p"),
            "accuracy": Column("accuracy", "percent"),
        },
        alt="−log10 of the p-value of every run, by training weights.",
        caption="One point per seed. Differences to the left of the dashed line are not significant.",
    )


def selection_view(outcome: Outcome) -> View:
    """Return biased and debiased training: unweighted, reweighted, on other datasets, and on identical pairs."""
    summary, tables = outcome.summary, outcome.tables
    across = tables["selection_across"]
    lead = (
        f"{summary['model']} is trained with equal weights (biased) and with leakage-neutral weights (debiased). Both "
        "models are scored on the test set, unweighted and with leakage-neutral weights."
    )
    share, largest = summary["weights"]["effective_share"], summary["weights"]["largest"]
    notes = [
        f"The effective sample size of the weights is {percent(share)}; the largest weight is {number(largest)}.",
        f"A sentence paired with itself should be {summary['match']!r}. If the boxes rise or fall with sentence "
        "frequency, the model has learned sentence frequency.",
    ]
    if share < FEW_EFFECTIVE:
        notes.append(
            "The effective sample size is small, so weighted results are uncertain: try --max-weight 50."
        )
    identical = identical_pairs_chart(
        tables["selection_identical"],
        LAST_FREQUENCY,
        title="Identical pairs",
        alt="Tukey boxes of the score of sentences paired with themselves, by their frequency in the training set.",
        caption="Sentences of the training set paired with themselves, by frequency in the training set.",
        name="identical_pairs",
    )
    return View(
        [lead],
        charts=[_evaluations(tables["selection"]), _across(across), identical],
        tables=[
            Table("Biased and debiased evaluation", "selection", _EVALUATION),
            Table(
                "On every dataset",
                "selection_across",
                _ACROSS,
                data=_in_points(tables["selection_across"]),
                everywhere=True,
            ),
            *_means(outcome),
        ],
        notes=notes,
    )


def _in_points(across: pl.DataFrame) -> pl.DataFrame:
    return across.with_columns(
        points=100 * pl.col("difference"),
        points_low=100 * pl.col("difference_low"),
        points_high=100 * pl.col("difference_high"),
        p=pl.lit(10.0).pow(pl.col("log10_p")),
    )


def _means(outcome: Outcome) -> list[Table]:
    """Return the paper's Tables 3 and 4: every row a mean over seeds."""
    frame = outcome.rows("selection_means")
    datasets = [name for name in frame.columns if name not in (*_MEANS, "less_rise")]
    columns = _MEANS | {name: Column(name, "percent") for name in datasets}
    return [Table("Means over seeds", "selection_means", columns)] if frame.columns else []


def _evaluations(table: pl.DataFrame) -> Intervals:
    """Return the accuracy of every model as the test set stands and under weights."""
    rows = [
        table.select("model", pl.lit(name).alias("evaluated"), **_of(prefix))
        for name, prefix in (("unweighted", ""), ("leakage-neutral weights", "weighted_"))
    ]
    return _accuracies(
        rows,
        "model",
        "evaluated",
        "Evaluation",
        "Accuracy of biased and debiased training, unweighted and reweighted.",
    )


def _across(table: pl.DataFrame) -> Intervals:
    """Return the accuracy of biased and debiased training on every set."""
    several = table["seed"].n_unique() > 1
    name = pl.format("{}, seed {}", "dataset", "seed") if several else pl.col("dataset")
    rows = [
        table.select(
            dataset=name,
            training=pl.lit(f"{way} training"),
            **{key: pl.col(f"{way}_{key}") for key in _ACCURACY},
        )
        for way in ("biased", "debiased")
    ]
    return _accuracies(
        rows,
        "dataset",
        "training",
        "Other datasets",
        "Accuracy of biased and debiased training on every dataset.",
    )


def _of(prefix: str) -> dict[str, pl.Expr]:
    return {key: pl.col(f"{prefix}{key}") for key in _ACCURACY}


def _accuracies(rows: Sequence[pl.DataFrame], line: str, series: str, title: str, alt: str) -> Intervals:
    return Intervals(
        title=title,
        data=pl.concat(rows, how="vertical_relaxed"),
        y=line,
        x=Axis("accuracy", "accuracy, with 95 % CI", "percent", zero=False),
        low="low",
        high="high",
        series=series,
        alt=alt,
    )


def frontier_view(outcome: Outcome) -> View:
    """Return accuracy against the gap of every way to train and correct, and what each does on other cues."""
    summary, table = outcome.summary, outcome.tables["frontier"]
    alpha = outcome.parameters.get("alpha", 0.05)
    lead = (
        f"{count(summary['runs'])} sets of predictions of {count(summary['test_examples'])} examples: "
        "what does it cost to be as accurate if words have another label as if they have their usual one? Strengths "
        "are tuned on the dev split."
    )
    note = (
        "Gap: accuracy on examples with a listed word and its usual label minus accuracy on those with another label. "
        "Other half: every second listed word, which methods that end in “-half” do not know, and “tuned-on-half” is "
        "not tuned on. Next words: those that follow the listed ones in z, which only “constraint-bands” knows. Hard: "
        "examples that a linear model of partial input gets wrong."
    )
    gaps = [name for name in ("gap", "half_gap", "next_gap", "bigram_gap") if name in table.columns]
    on_sets = {
        name: Column(name.removeprefix("on_"), "percent", "accuracy on this dataset", brief=False)
        for name in table.columns
        if name.startswith("on_")
    }
    shown = table.with_columns(pl.col(gaps) * 100)
    return View(
        [lead],
        charts=[_against_gap(table), _against_evidence(table, alpha)],
        tables=[
            Table("All methods", "frontier", _FRONTIER | on_sets, data=shown),
            Table("All runs", "frontier_runs", _RUNS),
        ],
        notes=[note],
    )


def _against_gap(table: pl.DataFrame) -> Scatter:
    rows = table.with_columns(
        x=100 * pl.col("gap"), x_low=100 * pl.col("gap_low"), x_high=100 * pl.col("gap_high")
    )
    return _frontier(
        rows,
        Axis("x", "gap in points (usual minus unusual label)"),
        0.0,
        title="Accuracy against the gap",
        alt="Accuracy of every method by the gap that it leaves.",
        caption="Means over the seeds, with 95 % CIs. The best methods are at the top, at a gap of zero or less.",
    )


def _against_evidence(table: pl.DataFrame, alpha: float) -> Scatter:
    rows = table.with_columns(
        x=-pl.col("log10_p"), x_low=-pl.col("log10_p"), x_high=-pl.col("log10_p_lowest")
    )
    return _frontier(
        rows,
        Axis("x", "−log₁₀ p of the permutation test"),
        -log10(alpha),
        title="Accuracy against the evidence of the permutation test",
        alt="Accuracy of every method by −log10 p.",
        caption="Left of the dashed line, the difference is not significant.",
    )


def _frontier(rows: pl.DataFrame, x: Axis, line: float, *, title: str, alt: str, caption: str) -> Scatter:
    return Scatter(
        title=title,
        data=rows,
        x=x,
        y=Axis("accuracy", "accuracy", "percent", zero=False),
        colour="model",
        text="method",
        x_low="x_low",
        x_high="x_high",
        low="low",
        high="high",
        line=line,
        alt=alt,
        caption=caption,
    )
