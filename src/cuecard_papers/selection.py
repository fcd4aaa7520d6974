"""Selection's experiment: biased and debiased training, each evaluated with and without weights, and its Theorem 1."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Result, Row, Summary
from cuecard.audits.partial_input.judging import interval
from cuecard.data import Instances, Task
from cuecard.errors import InputError, UsageError
from cuecard.models.fitted import fitted
from cuecard.models.recipe import Recipe, Tell, seedless_recipes, silently
from cuecard.probes import box_statistics, check_test
from cuecard.probes.debiased_evaluation import weighted_accuracies
from cuecard.probes.identical_pair_scores import identical_pairs
from cuecard.registry import unknown_name
from cuecard.remedies import NeutralWeights
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import paired_comparison
from cuecard.stats.weighted import weighted_share
from cuecard.wording import percent
from cuecard_papers.views import selection_view

BIASED, DEBIASED = "biased", "debiased"


def means_over_seeds(
    evaluation: pl.DataFrame, across: pl.DataFrame, identical: pl.DataFrame, weights: Row
) -> pl.DataFrame:
    """Return accuracy without and with weights, on identical pairs and on every other dataset.

    `rise` is by how much the mean score of identical pairs is higher for sentences that occur more than once than for
    those that occur once (Figures 5 and 6).

    Args:
        evaluation: accuracy and weighted_accuracy of the majority and of every model.
        across: biased_accuracy and debiased_accuracy of every seed and dataset, the test set first.
        identical: model, frequency and score of every identical pair.
        weights: the summary of leakage-neutral weights.
    """
    leakage = weights["leakage_accuracy"]
    plain, weighted = (leakage[when]["accuracy"] for when in ("unweighted", "weighted"))
    rows: list[Summary] = [
        {"model": "majority", **evaluation.filter(model="majority").select(*_ACCURACIES).row(0, named=True)},
        {"model": "leakage", **dict(zip(_ACCURACIES, (plain, weighted), strict=True))},
    ]
    others = across["dataset"].unique(maintain_order=True).to_list()[1:]
    for training in (BIASED, DEBIASED):
        of_training = pl.col("model").str.starts_with(training)
        scores = identical.filter(of_training)
        frequent = pl.col("frequency") > 1
        rows.append(
            {
                "model": training,
                **evaluation.filter(of_training).select(pl.col(*_ACCURACIES).mean()).row(0, named=True),
                "identical": scores.select((pl.col("score") >= 0.5).mean()).item(),
                "rise": _difference(
                    scores.filter(frequent)["score"].mean(), scores.filter(~frequent)["score"].mean()
                ),
                **{name: across.filter(dataset=name)[f"{training}_accuracy"].mean() for name in others},
            }
        )
    means = pl.DataFrame(rows, infer_schema_length=None)
    biased_rise = rows[2]["rise"]
    return means.with_columns(less_rise=biased_rise - pl.col("rise"))


_ACCURACIES = ("accuracy", "weighted_accuracy")


def _difference(first: Any, second: Any) -> float | None:
    return None if first is None or second is None else float(first - second)


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
    view = staticmethod(selection_view)
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
        scored = [test, themselves, *self.also]
        [recipe] = seedless_recipes([self.model], self.settings)
        in_test: dict[str, Bools] = {}
        boxes: list[pl.DataFrame] = []
        elsewhere: list[Summary] = []
        for seed in range(self.seed, self.seed + self.seeds):
            right = {}
            for training, weights in ((BIASED, None), (DEBIASED, train_weights)):
                fitted = self._fitted(recipe.with_options(seed=seed), data, scored, training, weights)
                name = f"{training} training" + (f", seed {seed}" if self.seeds > 1 else "")
                boxes.append(frequency.with_columns(model=pl.lit(name), score=pl.Series(fitted[1][:, match])))
                right[training] = [
                    part.label_codes == probabilities.argmax(axis=1)
                    for part, probabilities in zip([test, *scored[2:]], [fitted[0], *fitted[2:]], strict=True)
                ]
                in_test[name] = right[training][0]
            names = [f"{data.name} (test)", *(part.name for part in self.also)]
            elsewhere += [
                {"seed": seed, "dataset": name, **_compared(biased, debiased)}
                for name, biased, debiased in zip(names, right[BIASED], right[DEBIASED], strict=True)
            ]
        test_weights = weighed.examples.filter(split="test")["weight"].to_numpy()
        evaluation = weighted_accuracies(test.table["label"].cast(pl.String), test_weights, in_test)
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
            return fitted(
                recipe, data.train, scored, weights=weights, watch=watch, cache=self.cache
            ).probabilities

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


def selection_measures(summary: Row) -> list[Measure]:
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


def _compared(biased: Any, debiased: Any) -> Summary:
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


#: P(S = 1 | l), the chance that a draw of leakage 1, 2, 3 or 4 is wanted with label 1.
INTENTION: Floats = np.array([0.15, 0.3, 0.7, 0.85])
#: Accuracy of the simulated model where the leakage points to the label, and where it does not.
RIGHT = (0.9, 0.6)
#: Its accuracy in the neutral world, where both are equally frequent.
TRUTH = sum(RIGHT) / 2


@dataclass(frozen=True)
class Selected:
    """Draws that the intention rule keeps: label, leakage, whether the model is right, and P(S = 1 | l)."""

    label: Ints
    leak: Ints
    right: Bools
    intention: Floats


@dataclass(frozen=True)
class TheoremCheck:
    """Mean accuracies over the repetitions, and how often the 95 % CI covers the accuracy of the neutral world."""

    truth: float
    weighted: float
    unweighted: float
    weighted_coverage: float
    unweighted_coverage: float
    repetitions: int


def select(n: int, rng: np.random.Generator) -> Selected:
    """Draw labels and leakage independently, and keep a draw if the wanted label S is its label Y."""
    label = (rng.random(n) < 0.5).astype(np.int64)
    leak = rng.integers(1, len(INTENTION) + 1, n)
    points_to_label = (leak > len(INTENTION) / 2) == (label == 1)
    right = rng.random(n) < np.where(points_to_label, *RIGHT)
    intention = INTENTION[leak - 1]
    kept = (rng.random(n) < intention) == (label == 1)
    return Selected(label[kept], leak[kept], right[kept], intention[kept])


def theorem_by_simulation(*, repetitions: int = 600, n: int = 1200, seed: int = 0) -> TheoremCheck:
    """Return what accuracy with the weights 1 / P(S = y | l) estimates, and what it estimates without them."""
    rng = np.random.default_rng(seed)
    shares, covered = np.zeros((2, repetitions)), np.zeros((2, repetitions))
    for i in range(repetitions):
        drawn = select(n, rng)
        weights = 1 / np.where(drawn.label == 1, drawn.intention, 1 - drawn.intention)
        for j, used in enumerate((weights, np.ones(len(weights)))):
            score = weighted_share(drawn.right, used)
            shares[j, i], covered[j, i] = score.share, score.low <= TRUTH <= score.high
    weighted, unweighted = shares.mean(axis=1)
    in_weighted, in_unweighted = covered.mean(axis=1)
    return TheoremCheck(
        TRUTH, float(weighted), float(unweighted), float(in_weighted), float(in_unweighted), repetitions
    )
