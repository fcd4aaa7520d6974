"""How accurate would a model be if the pair graph said nothing about the label? (Selection, section 5)"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Need, Result, Row, Severity, Skip, interval
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import InputError, UsageError
from cuecard.features.pair_graph import graph_of, leakage_features
from cuecard.probes.examples import check_test, shared_texts
from cuecard.probes.model_views import debiased_evaluation_view
from cuecard.probes.predictions import Predictions, Probe
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.counted_forest import Forest, cross_fitted, fold_numbers
from cuecard.stats.neutral_weights import LeakageNeutralWeights, leakage_neutral_weights
from cuecard.stats.scores.doubly_robust import DebiasedAccuracy, accuracy_without_leak, steady_depth
from cuecard.stats.weighted import effective_sample_size, weighted_change, weighted_share
from cuecard.wording import only_applies_to, percent, plural, points

NAME = "debiased_evaluation"
SIZE = MeasureKind("effective_sample_size", "effective sample size of the test set", "share", "lower")
ACCURACY = MeasureKind("accuracy.{model}", "unweighted accuracy of {model}", "share", "lower")
WEIGHTED = MeasureKind("weighted_accuracy.{model}", "reweighted accuracy of {model}", "share", "lower")
CHANGE = MeasureKind("change.{model}", "change of accuracy of {model} after reweighting", "points", "lower")
BASELINE = MeasureKind("baseline.{model}", "unweighted accuracy of the baseline {model}", "share")
WEIGHTED_BASELINE = MeasureKind(
    "weighted_baseline.{model}", "reweighted accuracy of the baseline {model}", "share"
)
KINDS = (SIZE, ACCURACY, WEIGHTED, CHANGE, BASELINE, WEIGHTED_BASELINE)


def evaluation_measures(summary: Row) -> list[Measure]:
    """Return the accuracy of every model and baseline, unweighted and under the weights."""
    n = summary["n"]
    measures = [SIZE.of(NAME, summary["effective_share"], n=n)]
    for model, part in summary["models"].items():
        plain, weighted = (BASELINE, WEIGHTED_BASELINE) if part["baseline"] else (ACCURACY, WEIGHTED)
        for kind, prefix in ((plain, ""), (weighted, "weighted_")):
            measures.append(kind.of(NAME, **interval(part, f"{prefix}accuracy", prefix), n=n, model=model))
        if not part["baseline"]:
            change = interval(part, "change", "change_")
            measures.append(CHANGE.of(NAME, **change, chance=0.0, n=n, model=model))
    return measures


def accuracy_row(
    model: str,
    right: Bools,
    weights: Floats,
    *,
    weighted_right: Bools | None = None,
    robust: DebiasedAccuracy | None = None,
) -> dict[str, object]:
    """Return the accuracy of one model as it stands and without the leak.

    A majority may name another label under the weights, and `weighted_right` says where that one is right; the
    change is then no property of one model and has no interval. With `robust`, the estimate is the doubly robust one,
    and that of the weights alone stands beside it.
    """
    plain = weighted_share(right, np.ones(len(right)))
    weighted = weighted_share(right if weighted_right is None else weighted_right, weights)
    change: tuple[float | None, ...] = (weighted.share - plain.share, None, None)
    if robust is not None:
        estimate = (robust.accuracy, robust.low, robust.high, robust.effective_n)
        change = (robust.change, robust.change_low, robust.change_high)
    else:
        estimate = (weighted.share, weighted.low, weighted.high, weighted.effective_n)
        if weighted_right is None:
            change = weighted_change(right, weights)
    names = ("weighted_accuracy", "weighted_low", "weighted_high", "effective_n")
    return {
        "model": model,
        "n": plain.n,
        "accuracy": plain.share,
        "low": plain.low,
        "high": plain.high,
        **dict(zip(names, estimate, strict=True)),
        **dict(zip(("change", "change_low", "change_high"), change, strict=True)),
        "weights_alone": weighted.share,
    }


def weighted_accuracies(gold: pl.Series, weights: Floats, right: Mapping[str, Bools]) -> pl.DataFrame:
    """Return unweighted and weighted accuracy with intervals: a row for the majority, then one per model.

    Args:
        gold: the right answer of every example.
        weights: of the examples.
        right: where each model is right.
    """
    rows = [majority_row(gold, weights)]
    rows += [accuracy_row(model, correct, weights) for model, correct in right.items()]
    return pl.DataFrame(rows, schema_overrides=ROW_SCHEMA)


def majority_row(gold: pl.Series, weights: Floats) -> dict[str, object]:
    """Return the accuracy of always giving the most frequent answer, which may be another under the weights."""
    shares = pl.DataFrame({"gold": gold, "weight": weights}).group_by("gold").agg(
        n=pl.len(), weight=pl.col("weight").sum()
    )  # fmt: skip
    most = [shares.sort(column, "gold", descending=[True, False])["gold"][0] for column in ("n", "weight")]
    plain, weighted = ((gold == answer).to_numpy() for answer in most)
    return accuracy_row("majority", plain, weights, weighted_right=weighted)


#: Columns of the table whose values may all be missing.
ROW_SCHEMA = {"change_low": pl.Float64, "change_high": pl.Float64}


#: What the table calls a forest that sees the three leakage features and no word.
GRAPH_ALONE = "pair graph alone"

#: Folds of the forest that answers under the weights.
AGAIN_FOLDS = 20
#: A weighted accuracy from less than this many equally weighted examples' worth is rough.
SMALL_ESS = 200
#: How the label goes with the graph cannot be learnt well from fewer examples.
FEW_EXAMPLES = 5000
#: A loss gets a sentence of its own from here, by the end of its interval that is nearer to zero.
NOTABLE_LOSS, LARGE_LOSS = 0.01, 0.05
#: The intervals are simulated for test sets of this size or larger.
SIMULATED_FROM = 100


@dataclass(frozen=True)
class DebiasedEvaluation(Probe):
    """Every model's accuracy on the test split unweighted, and under weights that take a leak out of it.

    By default the weights are leakage-neutral: the graph is of all splits, and how it goes with the label is learnt
    by cross-fitting within the test split. The estimate is then doubly robust: how correct the model is for each label
    at each place of the graph is learnt by cross-fitting, too, and the weights correct what that leaves.

    Args:
        test_weights: extra column of the test split with weights of your own, such as `cuecard debias` writes;
            leakage-neutral ones by default.
        folds, trees, depth: of the leakage-neutral weights, see `leakage_neutral_weights`.
        max_weight: largest of these weights. In a test split a handful of examples that no forest expected would
            otherwise carry most of the weight; how many were cut is reported.
        seed: seed of folds and forests.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Debiased evaluation"
    view = staticmethod(debiased_evaluation_view)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions"})
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS

    test_weights: str | None = None
    folds: int = 100
    trees: int = 200
    depth: int = 8
    max_weight: float | None = 20.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the numbers at once, so that a typo costs no time."""
        if self.folds < 2 or self.trees < 1 or self.depth < 1:
            raise UsageError("debiased_evaluation needs at least 2 folds, 1 tree and a depth of 1.")
        if self.max_weight is not None and not self.max_weight > 1:
            raise UsageError(
                f"debiased_evaluation.max_weight must be above the mean of 1, not {self.max_weight}."
            )

    def run(self, data: Instances, predictions: Sequence[Predictions]) -> Result:
        """Return a row per model, beside the majority and what the pair graph alone gives."""
        examples = check_test(data)
        about: dict[str, object] = {"infinite": 0, "clipped": 0, "estimator": "weighted"}
        rows = []
        neutral: _Neutral | None = None
        if self.test_weights is not None:
            weights = _own_weights(examples, self.test_weights)
        else:
            neutral = self._neutral(data, examples)
            weights = neutral.weighting.weights
            about = {
                "infinite": neutral.weighting.infinite,
                "clipped": neutral.weighting.clipped,
                "estimator": "doubly robust",
            }
            rows.append(accuracy_row(GRAPH_ALONE, neutral.guessed, weights, weighted_right=neutral.again))
        names = pl.Series([examples.answer_names[i] for i in examples.gold], dtype=pl.String)
        rows.insert(0, majority_row(names, weights))
        baselines = len(rows)
        for model in predictions:
            right = model.correct(examples)
            robust = None if neutral is None else self._robust(right, neutral)
            rows.append(accuracy_row(model.model, right, weights, robust=robust))
        table = pl.DataFrame(rows, schema_overrides=ROW_SCHEMA)
        table = table.with_columns(baseline=pl.Series([i < baselines for i in range(len(rows))]))
        size = effective_sample_size(weights)
        summary = {
            "weights": self.test_weights or "leakage-neutral",
            "n": len(examples),
            "effective_sample_size": size,
            "effective_share": size / len(examples),
            "smallest": float(weights.min()),
            "largest": float(weights.max()),
            "largest_share": float(weights.max() / weights.sum()),
            **about,
            "models": {row.pop("model"): row for row in table.drop("n").to_dicts()},
        }
        summary["notes"] = _notes(summary, own=self.test_weights is not None)
        findings, measures = _findings(table, summary), evaluation_measures(summary)
        return Result(summary, {NAME: table}, findings, measures=measures)

    def _robust(self, right: Bools, neutral: _Neutral) -> DebiasedAccuracy:
        """Return the doubly robust accuracy of a model where the graph says nothing about the label."""
        return accuracy_without_leak(
            right, neutral.labels, neutral.features, neutral.steady, rougher_weights=neutral.weighting.weights,
            folds=AGAIN_FOLDS, forest=Forest(self.trees, self.depth, self.seed), units=neutral.units,
        )  # fmt: skip

    def _neutral(self, data: Instances, examples: Examples) -> _Neutral:
        """Return leakage-neutral weights of the test pairs, and where forests are right.

        The forest that made the weights gives its own errors the large ones, so under them another one answers, which
        learnt from weighted examples in other folds.
        """
        if data.task != "pair":
            raise Skip(
                f"{only_applies_to({'pair'}, data.task)}; use your own weights with --test-weights COLUMN"
            )
        graph = graph_of(data)
        if not (graph.frequency > 1).any():
            raise Skip("no sentence occurs twice, so the pair graph cannot predict the label")
        labels = examples.gold
        if len(np.unique(labels)) < 2:
            raise Skip("needs at least two labels; all test examples have the same one")
        in_test = (data.table["split"].cast(pl.String) == "test").to_numpy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said in the notes instead
            features = leakage_features(graph)[in_test]
            try:
                weighting, steady = (
                    leakage_neutral_weights(
                        labels, features, folds=min(self.folds, len(labels)), trees=self.trees,
                        depth=depth, max_weight=self.max_weight, seed=self.seed,
                    )
                    for depth in (self.depth, steady_depth(len(labels), self.depth))
                )  # fmt: skip
            except ValueError as error:
                raise UsageError(str(error)) from None
        guessed = np.asarray(weighting.labels)[weighting.probabilities.argmax(axis=1)] == labels
        folds = fold_numbers(len(labels), min(AGAIN_FOLDS, len(labels)), seed=self.seed + 1)
        answers = cross_fitted(
            features, labels, n_labels=int(labels.max()) + 1, folds=folds,
            forest=Forest(self.trees, self.depth, self.seed + 1), weights=weighting.weights,
        )  # fmt: skip
        codes = np.unique(labels, return_inverse=True)[1].astype(np.int64)
        return _Neutral(
            weighting,
            steady.weights,
            codes,
            features,
            guessed,
            answers.argmax(axis=1) == labels,
            shared_texts(examples),
        )


@dataclass(frozen=True, eq=False)
class _Neutral:
    """Leakage-neutral weights of the test pairs with what they were made from."""

    weighting: LeakageNeutralWeights
    steady: Floats
    """Such weights from trees with enough examples in every leaf."""
    labels: Ints
    """Codes in the order of `weighting.labels`."""
    features: Floats
    guessed: Bools
    """Where the forest behind the weights is right."""
    again: Bools
    """Where a forest that learnt under the weights is right."""
    units: list[Ints]
    """Codes that pairs with the same premise share, and pairs with the same hypothesis."""


def _own_weights(examples: Examples, column: str) -> Floats:
    """Return the weight of every test example from an extra column, with mean one."""
    table = examples.instances.table
    if column not in table.columns:
        raise unknown_name("column of weights", column, table.columns)
    values = table[column].gather(examples.right_rows)
    if not values.dtype.is_numeric():
        raise InputError(
            f"Column {column!r} has the type {values.dtype}; weights must be numbers: name another column."
        )
    weights = values.cast(pl.Float64).fill_null(np.nan).to_numpy()
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise InputError(
            f"Column {column!r} holds {values[row]!r} for the test example {examples.ids[row]!r}: a weight is a "
            "number that is not negative; the test file needs one in every row."
        )
    if not weights.sum() > 0:
        raise InputError(f"Column {column!r} has no weight above 0 in the test split.")
    return np.asarray(weights / weights.mean())


def _notes(summary: Row, *, own: bool) -> list[str]:
    """Return why the weighted accuracies are uncertain, in sentences."""
    n, size = summary["n"], summary["effective_sample_size"]
    notes = (
        []
        if own
        else [
            "The estimate is doubly robust: it is valid if either the weights or the outcome model (both fitted on the "
            "test set) is correct. The CIs treat both as fixed."
        ]
    )
    if size < SMALL_ESS or size < n / 5:
        notes.append(
            f"The estimate is rough: the effective sample size is {size:,.0f} of {plural(n, 'test example')}, and the "
            f"largest weight is {percent(summary['largest_share'])} of the total."
        )
    if not own and n < FEW_EXAMPLES:
        notes.append(
            f"The weights are estimated from only {plural(n, 'test example')}; the CIs are widened for this."
            if n >= SIMULATED_FROM
            else f"{plural(n, 'test example')} are too few to estimate weights from: the coverage of these CIs "
            f"is only tested from {SIMULATED_FROM}."
        )
    if summary["infinite"]:
        notes.append(
            f"{plural(summary['infinite'], 'weight')} would be infinite, because the forest predicts the label of the "
            "example with probability 0; the smallest probability of a forest is used instead."
        )
    if summary["clipped"]:
        were = "was" if summary["clipped"] == 1 else "were"
        notes.append(
            f"{plural(summary['clipped'], 'weight')} above {summary['largest']:,.0f} {were} clipped "
            "(--set debiased_evaluation.max_weight=none keeps them)."
        )
    return notes


def _findings(table: pl.DataFrame, summary: Row) -> list[Finding]:
    """Return a sentence for every model, serious where it loses accuracy beyond chance."""
    world = (
        "if sentence frequency did not predict the label"
        if summary["weights"] == "leakage-neutral"
        else f"with the weights of the column {summary['weights']!r}"
    )
    findings = []
    for row in table.filter(~pl.col("baseline")).iter_rows(named=True):
        loss = -row["change_high"]
        severity: Severity = "medium" if loss >= LARGE_LOSS else "low" if loss >= NOTABLE_LOSS else "info"
        text = (
            f"{row['model']} has an accuracy of {percent(row['accuracy'])} on {plural(row['n'], 'test example')}, and "
            f"an estimated {percent(row['weighted_accuracy'])} (95 % CI {percent(row['weighted_low'])} to "
            f"{percent(row['weighted_high'])}) {world}: a change of {points(row['change'])} points "
            f"(95 % CI {points(row['change_low'])} to {points(row['change_high'])})."
        )
        loses = severity != "info"
        title = f"{row['model']} loses accuracy" if loses else f"Accuracy of {row['model']}"
        title, text = f"{title} without the leak", " ".join([text, *summary["notes"][:2]])
        ends = interval(row, "weighted_accuracy", "weighted_")
        findings.append(Finding(NAME, severity, title, text, **ends, n=row["n"], key=row["model"]))
    return findings
