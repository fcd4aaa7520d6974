"""Selection's experiment: biased and debiased training, each evaluated as it stands and under weights (5.2 to 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Result
from cuecard.audits.partial_input.baselines.judging import interval
from cuecard.data import Instances, Task
from cuecard.errors import InputError, UsageError
from cuecard.models.fitted import fitted_probabilities
from cuecard.models.recipe import Recipe, Tell, seedless_recipes, silently
from cuecard.probes import box_statistics, check_test, debiased_evaluation, identical_pairs
from cuecard.registry import unknown_name
from cuecard.remedies import NeutralWeights
from cuecard.reproduce.selection_means import BIASED, DEBIASED, means_over_seeds
from cuecard.stats.arrays import Floats
from cuecard.stats.models.paired import paired_comparison
from cuecard.wording import percent

#: Labels that say two sentences mean the same, the surest first.
MATCHES = (
    "duplicate",
    "paraphrase",
    "equivalent",
    "similar",
    "match",
    "entailment",
    "entails",
    "yes",
    "true",
    "1",
)

ACCURACY = MeasureKind("accuracy.{model}", "accuracy of {model}", "share", "lower")
WEIGHTED = MeasureKind("weighted_accuracy.{model}", "reweighted accuracy of {model}", "share", "lower")
DIFFERENCE = MeasureKind(
    "difference.{dataset}.{seed}",
    "debiased minus biased training on {dataset}, seed {seed}",
    "points",
    "lower",
)


@dataclass(frozen=True)
class SelectionExperiment:
    """Train with equal and with leakage-neutral weights; evaluate both as they stand, under weights and elsewhere.

    Every run is kept by content: what was finished before an interruption is not trained again. Without `cache`,
    nothing is kept and nothing that was kept is read.

    Args:
        model: the registered model to train; the paper's is a siamese LSTM.
        settings: its parameters, such as "epochs=3".
        seeds: how many seeds, counted from `seed`.
        match: the label that a sentence paired with itself should get; recognised by name.
        pool: whether the weights of all splits are estimated together, as Algorithm 1 is written.
        max_weight: largest leakage-neutral weight, in units of the mean.
        identical: number of distinct sentences that are paired with themselves, rare and frequent ones alike.
        seed: the first seed to train with; also that of the weights and of the sentences drawn.
        also: other sets with the same labels, on which both models are scored.
    """

    name: ClassVar[str] = "selection"
    title: ClassVar[str] = "Selection bias of pairs"
    tasks: ClassVar[frozenset[Task]] = frozenset({"pair"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, WEIGHTED, DIFFERENCE)
    about: ClassVar[About] = "experiment"

    model: str = "siamese-lstm"
    settings: tuple[str, ...] = ()
    seeds: int = 1
    match: str | None = None
    pool: bool = False
    max_weight: float | None = None
    identical: int = 5_000
    seed: int = 0
    also: tuple[Instances, ...] = field(default=(), metadata={"parameter": False}, repr=False, compare=False)
    cache: bool = field(default=True, metadata={"parameter": False}, repr=False, compare=False)
    tell: Tell = field(default=silently, metadata={"parameter": False}, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check every name at once, so that a typo costs no hours."""
        seedless_recipes([self.model], self.settings)
        if self.seeds < 1:
            raise UsageError(f"seeds must be at least 1, not {self.seeds}.")

    def run(self, data: Instances) -> Result:
        """Return the tables of evaluations, of other sets and of identical pairs, and what they say."""
        test = check_test(data).instances
        match = self._match(data)
        for other in self.also:
            _check_labels(data, other)
        with self.tell("leakage-neutral weights"):
            weighed = NeutralWeights(pool=self.pool, max_weight=self.max_weight, seed=self.seed).run(data)
        assert weighed.examples is not None  # a remedy always weighs examples
        train_weights = weighed.examples.filter(split="train")["weight"].to_numpy()
        themselves, frequency = self._identical(data, match)
        scored = [test, themselves, *(part.train for part in self.also)]
        [recipe] = seedless_recipes([self.model], self.settings)
        answers: list[pl.DataFrame] = []
        boxes: list[pl.DataFrame] = []
        elsewhere: list[dict[str, Any]] = []
        for seed in range(self.seed, self.seed + self.seeds):
            right = {}
            for training, weights in ((BIASED, None), (DEBIASED, train_weights)):
                fitted = self._fitted(recipe.with_options(seed=seed), data, scored, training, weights)
                name = f"{training} training" + (f", seed {seed}" if self.seeds > 1 else "")
                answers.append(_answers(test, fitted[0], name))
                boxes.append(frequency.with_columns(model=pl.lit(name), score=pl.Series(fitted[1][:, match])))
                right[training] = [
                    part.label_codes == probabilities.argmax(axis=1)
                    for part, probabilities in zip([test, *scored[2:]], [fitted[0], *fitted[2:]], strict=True)
                ]
            names = [f"{data.name} (test)", *(part.name for part in self.also)]
            elsewhere += [
                {"seed": seed, "dataset": name, **_compared(biased, debiased)}
                for name, biased, debiased in zip(names, right[BIASED], right[DEBIASED], strict=True)
            ]
        evaluation = debiased_evaluation(data, pl.concat(answers), weighed.examples)
        across = pl.DataFrame(elsewhere)
        box_table = box_statistics(pl.concat(boxes))
        summary = {
            "model": self.model,
            "match": data.labels[match],
            "weights": dict(weighed.summary),
            "evaluation": evaluation.to_dicts(),
            "across": across.to_dicts(),
            "identical_pairs": themselves.n_examples,
        }
        tables = {
            "selection_means": means_over_seeds(evaluation, across, pl.concat(boxes), weighed.summary),
            "selection": evaluation,
            "selection_across": across,
            "selection_identical": box_table,
        }
        findings = [_finding(self.model, evaluation, across)]
        return Result(summary, tables, findings, measures=selection_measures(summary))

    def _fitted(
        self, recipe: Recipe, data: Instances, scored: list[Instances], training: str, weights: Floats | None
    ) -> list[Floats]:
        with self.tell(f"{recipe.model}, {training}, seed {recipe.options.get('seed', 0)}") as watch:
            return fitted_probabilities(
                recipe, data.train, scored, weights=weights, watch=watch, cache=self.cache
            )

    def _match(self, data: Instances) -> int:
        """Return the number of the label that says two sentences mean the same."""
        lower = [label.lower() for label in data.labels]
        if self.match is not None:
            if self.match not in data.labels:
                raise unknown_name("label (match)", self.match, list(data.labels))
            return data.labels.index(self.match)
        position = next((lower.index(name) for name in MATCHES if name in lower), None)
        if position is None:
            raise UsageError(
                f"Which of the labels {', '.join(data.labels)} means that two sentences match? Name it with "
                "--match."
            )
        return position

    def _identical(self, data: Instances, match: int) -> tuple[Instances, pl.DataFrame]:
        """Return every distinct train sentence paired with itself, and how often it occurs."""
        pairs = identical_pairs(data, sample=self.identical, seed=self.seed)
        table = pairs.select(
            "example_id",
            position=pl.lit(0, dtype=data.table.schema["position"]),
            split=pl.lit("identical"),
            premise="premise",
            hypothesis="hypothesis",
            label=pl.lit(data.labels[match]).cast(pl.Enum(data.labels)),
        )
        return replace(data, table=table, name="identical pairs"), pairs.select("example_id", "frequency")


def selection_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return every model's accuracy without and with leakage-neutral weights, and what training with them changes."""
    name, measures = "selection", []
    for row in summary["evaluation"]:
        for kind, prefix in ((ACCURACY, ""), (WEIGHTED, "weighted_")):
            ends = {"low": row[f"{prefix}low"], "high": row[f"{prefix}high"], "n": row["n"]}
            measures.append(kind.of(name, row[f"{prefix}accuracy"], **ends, model=row["model"]))
    for row in summary["across"]:
        ends = {"low": row["difference_low"], "high": row["difference_high"], "n": row["n"]}
        of = {"dataset": row["dataset"], "seed": str(row["seed"])}
        measures.append(DIFFERENCE.of(name, row["difference"], **ends, chance=0.0, **of))
    return measures


def _check_labels(data: Instances, other: Instances) -> None:
    unknown = sorted(set(other.labels) - set(data.labels))
    if other.task != "pair" or unknown:
        what = f"has the label {unknown[0]!r}" if unknown else f"is {other.task} data"
        raise InputError(
            f"{other.name} {what}, and the models know {', '.join(data.labels)}: use the same label names with "
            "--labels."
        )


def _answers(test: Instances, probabilities: Floats, name: str) -> pl.DataFrame:
    labels = pl.Series(test.labels, dtype=pl.String)
    return test.table.select("example_id").with_columns(
        prediction=labels.gather(probabilities.argmax(axis=1)), model=pl.lit(name)
    )


def _compared(biased: Any, debiased: Any) -> dict[str, Any]:
    comparison = paired_comparison(debiased, biased)
    ends = {BIASED: interval(biased.astype(np.float64)), DEBIASED: interval(debiased.astype(np.float64))}
    return {
        "n": comparison.n,
        "biased_accuracy": comparison.accuracy_b,
        "biased_low": ends[BIASED][0],
        "biased_high": ends[BIASED][1],
        "debiased_accuracy": comparison.accuracy_a,
        "debiased_low": ends[DEBIASED][0],
        "debiased_high": ends[DEBIASED][1],
        "difference": comparison.difference,
        "difference_low": comparison.low,
        "difference_high": comparison.high,
        "log10_p": comparison.log10_p,
    }


def _finding(model: str, evaluation: pl.DataFrame, across: pl.DataFrame) -> Finding:
    rows = evaluation.filter(pl.col("model") != "majority").to_dicts()
    accuracies = [
        f"{row['model']} has an accuracy of {percent(row['accuracy'])}, and {percent(row['weighted_accuracy'])} with "
        "leakage-neutral weights"
        for row in rows
    ]
    text = f"{model}: {'; '.join(accuracies)}."
    others = across.filter(pl.col("dataset") != across["dataset"][0]).to_dicts()
    if others:
        moved = ", ".join(f"{row['dataset']} {100 * row['difference']:+z.1f} points" for row in others)
        text += f" Debiased minus biased training on other datasets: {moved}."
    first = rows[0]
    return Finding(
        "selection", "info", f"{model}: effect of leakage-neutral weights", text, first["weighted_accuracy"],
        first["weighted_low"], first["weighted_high"], evaluation["weighted_accuracy"][0], first["n"], key=model,
    )  # fmt: skip
