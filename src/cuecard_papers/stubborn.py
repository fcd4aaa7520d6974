"""Stubborn's experiment: does training on balanced words take the reliance on words away? (Stubborn 5, Table 2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard._version import __version__
from cuecard.analysis import About, Finding, Measure, MeasureKind, Result, Row, Skip, Summary
from cuecard.cache import cached_arrays, content_key
from cuecard.data import TASKS, Instances, Task
from cuecard.errors import UsageError
from cuecard.models.fitted import fitted
from cuecard.models.recipe import Recipe, Tell, seedless_recipes, silently
from cuecard.probes import CueSet, PermutationTest, Predictions, check_test
from cuecard.registry import unknown_name
from cuecard.remedies import LexicalWeights
from cuecard.stats import format_p
from cuecard.stats.arrays import Floats
from cuecard.stats.weighted import effective_sample_share
from cuecard.wording import listed, percent, plural
from cuecard_papers.views import stubborn_view

#: Name of the weights → what balances them; None is every example alike.
WEIGHTS: dict[str, LexicalWeights | None] = {
    "uniform": None,
    "paper": LexicalWeights(solver="softmax"),
    "words": LexicalWeights(ridge="exact"),
    "bigrams": LexicalWeights(ngrams=2, ridge="exact"),
    "trigrams": LexicalWeights(ngrams=3, ridge="exact"),
}
#: Longer n-grams are rarer: those of this many train instances are balanced.
NGRAM_MIN_COUNT = 50
ACCURACY = MeasureKind(
    "accuracy.{model}.{weights}", "accuracy of {model}, {weights} weights", "share", "lower"
)
DIFFERENCE = MeasureKind(
    "difference.{model}.{weights}",
    "accuracy of {model} with usual minus unusual label, {weights} weights",
    "points",
    "higher",
)
P_VALUE = MeasureKind(
    "p.{model}.{weights}", "median p-value of the difference of {model}, {weights} weights", "p", "lower"
)
NO_PAPER_WEIGHTS = (
    "The paper's own weights were left out: they are not defined for examples of several choices."
)


@dataclass(frozen=True)
class StubbornExperiment:
    """Train on equal and on balanced weights, several seeds each, and test every model for its use of words.

    Every run is kept by content: what was finished before an interruption is not trained again. Without `cache`,
    nothing is kept and nothing that was kept is read.

    Args:
        models: registered models to train.
        settings: their parameters, such as "epochs=3".
        seeds: how many seeds, counted from `seed`.
        weights: "uniform", "paper" (the paper's own objective), "words", "bigrams" and "trigrams" (entropy
            balancing of n-grams up to that length).
        min_count: words with at least this many training instances are balanced; the bound of n-grams is 50 at most.
        per_label: words of highest z per label that the test looks at.
        alpha: level of the test.
        seed: the first seed to train with.
    """

    name: ClassVar[str] = "stubborn"
    title: ClassVar[str] = "Stubborn lexical bias"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    view = staticmethod(stubborn_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, DIFFERENCE, P_VALUE)
    about: ClassVar[About] = "experiment"

    models: tuple[str, ...] = ("fasttext",)
    settings: tuple[str, ...] = ()
    seeds: int = 3
    weights: tuple[str, ...] = ("uniform", "paper", "words", "bigrams")
    min_count: int = 100
    per_label: int = 50
    alpha: float = 0.05
    seed: int = 0
    cache: bool = field(default=True, metadata={"parameter": False}, repr=False, compare=False)
    tell: Tell = field(default=silently, metadata={"parameter": False}, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check every name at once, so that a typo costs no hours."""
        seedless_recipes(self.models, self.settings)
        for name in self.weights:
            if name not in WEIGHTS:
                raise unknown_name("weights", name, list(WEIGHTS))
        if self.seeds < 1 or not self.models or not self.weights:
            raise UsageError("The experiment needs at least one model, one kind of weights and one seed.")

    def run(self, data: Instances) -> Result:
        """Return a row per run: accuracy, accuracy with usual and unusual labels, and log10 of the p-value."""
        examples = check_test(data)
        weight_sets, weighing = self._weights(data)
        notes = [NO_PAPER_WEIGHTS] if "paper" in self.weights and "paper" not in weight_sets else []
        encoded = LexicalWeights().encode(data.train_and_test)
        cues = CueSet(examples, encoded, pl.DataFrame(), sparse.csr_matrix((len(examples), 0)))
        test = PermutationTest(per_label=self.per_label, alpha=self.alpha)
        rows: list[Summary] = []
        for recipe in seedless_recipes(self.models, self.settings):
            for name, weights in weight_sets.items():
                for seed in range(self.seed, self.seed + self.seeds):
                    predictions = self._predicted(recipe.with_options(seed=seed), data, name, weights)
                    rows.append(
                        {
                            "model": recipe.model,
                            "weights": name,
                            "seed": seed,
                            "accuracy": float(predictions.correct(examples).mean()),
                            **_tested(test, data, predictions, cues),
                        }
                    )
        table = pl.DataFrame(rows)
        grouped = summed_up(table)
        chance = majority_share(examples.gold)
        summary = {
            "runs": table.height,
            "test_examples": len(examples),
            "words": rows[0]["words"],
            "chance": chance,
            "groups": grouped.to_dicts(),
            "weighing": weighing.to_dicts(),
            "notes": notes,
        }
        tables = {"stubborn": grouped, "stubborn_runs": table, "stubborn_weights": weighing}
        findings = _findings(grouped, self.alpha, chance, notes)
        return Result(summary, tables, findings, measures=stubborn_measures(summary))

    def _predicted(
        self, recipe: Recipe, data: Instances, weights_name: str, weights: Floats | None
    ) -> Predictions:
        test = check_test(data).instances
        seed = recipe.options.get("seed", 0)
        title = f"{recipe.model}, {weights_name} weights, seed {seed}"
        with self.tell(title) as watch:
            [probabilities] = fitted(
                recipe, data.train, [test], weights=weights, watch=watch, cache=self.cache
            ).probabilities
        return Predictions(title, probabilities.argmax(axis=1), probabilities)

    def _weights(self, data: Instances) -> tuple[dict[str, Floats | None], pl.DataFrame]:
        """Return the row weights by name, and how much of the sample each leaves."""
        weight_sets: dict[str, Floats | None] = {}
        rows = []
        train = data.train
        for name in self.weights:
            remedy = WEIGHTS[name]
            if remedy is None:
                weight_sets[name] = None
                rows.append((name, 0, 1.0, 1.0))
                continue
            if train.grouped and name == "paper":
                continue
            with self.tell(f"balancing for {name} weights"):
                features, weights = _balanced(_remedy(remedy, name, self.min_count), train, cache=self.cache)
            weight_sets[name] = weights[train.example_codes]
            rows.append((name, features, effective_sample_share(weights), float(weights.max())))
        if not weight_sets:
            raise Skip("the paper's own weights are not defined for examples of several choices")
        columns = {"weights": pl.String, "features": pl.Int64, "ess": pl.Float64, "max_weight": pl.Float64}
        return weight_sets, pl.DataFrame(rows, schema=columns, orient="row")


def stubborn_measures(summary: Row) -> list[Measure]:
    """Return accuracy, difference and p-value of every model under every kind of weights."""
    n, measures = summary["test_examples"], []
    for row in summary["groups"]:
        of = {"model": row["model"], "weights": row["weights"]}
        measures.append(ACCURACY.of("stubborn", row["accuracy"], chance=summary["chance"], n=n, **of))
        measures.append(DIFFERENCE.of("stubborn", row["difference"], chance=0.0, n=n, **of))
        measures.append(P_VALUE.of("stubborn", row["log10_p"], n=n, **of))
    return measures


def summed_up(runs: pl.DataFrame) -> pl.DataFrame:
    """Return a row per model and weights: means over the seeds, and the median and range of log10 p."""
    return runs.group_by("model", "weights", maintain_order=True).agg(
        seeds=pl.len(),
        accuracy=pl.col("accuracy").mean(),
        accuracy_sd=pl.col("accuracy").std(),
        usual_accuracy=pl.col("usual_accuracy").mean(),
        unusual_accuracy=pl.col("unusual_accuracy").mean(),
        difference=pl.col("difference").mean(),
        log10_p=pl.col("log10_p").median(),
        log10_p_lowest=pl.col("log10_p").min(),
        log10_p_highest=pl.col("log10_p").max(),
        log10_p_exact=pl.col("log10_p_exact").median(),
        log10_p_within_label=pl.col("log10_p_within_label").median(),
        log10_p_within_label_lowest=pl.col("log10_p_within_label").min(),
        log10_p_within_label_highest=pl.col("log10_p_within_label").max(),
    )


def _tested(permutation: PermutationTest, data: Instances, predictions: Predictions, cues: CueSet) -> Summary:
    summary = permutation.run(data, [predictions], cues).summary
    test = summary["models"][predictions.model]
    kept = (
        "usual",
        "unusual",
        "pool",
        "usual_accuracy",
        "unusual_accuracy",
        "difference",
        "log10_p",
        "log10_p_exact",
    )
    return {
        **{name: test[name] for name in kept},
        "log10_p_within_label": test["log10_p_stratified"],
        "words": summary["words"],
    }


def balanced_weights(name: str, train: Instances, *, min_count: int = 100, cache: bool = True) -> Floats:
    """Return the weight of every training row under weights of a name, kept by content."""
    remedy = WEIGHTS[name]
    assert remedy is not None
    return _balanced(_remedy(remedy, name, min_count), train, cache=cache)[1][train.example_codes]


def _remedy(remedy: LexicalWeights, name: str, min_count: int) -> LexicalWeights:
    """Return the remedy with the smallest count that fits the length of its n-grams."""
    fewest = min_count if name in ("paper", "words") else min(min_count, NGRAM_MIN_COUNT)
    return replace(remedy, min_count=fewest)


def _balanced(remedy: LexicalWeights, train: Instances, *, cache: bool) -> tuple[int, Floats]:
    """Return how many features were balanced and the weight of every train example, kept by content."""
    made_from = {"remedy": repr(remedy), "train": train.fingerprint, "labels": list(train.labels)}
    key = content_key({**made_from, "version": __version__})

    def make() -> Sequence[Floats]:
        balanced = remedy.balance(train)
        return [balanced.weights, np.array([float(balanced.problem.with_every_label().sum())])]

    weights, features = cached_arrays("weights", key, [train.n_examples, 1], make) if cache else list(make())
    return int(features[0]), weights


def majority_share(gold: npt.NDArray[np.int64]) -> float:
    """Return how often the commonest answer of the test set is right."""
    return float(np.bincount(gold).max() / len(gold))


def _findings(groups: pl.DataFrame, alpha: float, chance: float, notes: Sequence[str]) -> list[Finding]:
    findings = []
    for (model,), rows in groups.group_by("model", maintain_order=True):
        differences = listed([_difference(row) for row in rows.iter_rows(named=True)])
        # A model that is merely better at one label differs over all examples, but not within each label.
        gone = rows.filter(pl.col("log10_p_within_label_lowest") > np.log10(alpha))["weights"].to_list()
        end = (
            f"Within each label, the difference is not significant with {listed(gone)} weights in any seed."
            if gone
            else "Within each label, it is significant with all weights in at least one seed."
        )
        idle = rows.filter(pl.col("accuracy") <= chance)["weights"].to_list()
        if idle:
            # A model that has learned nothing uses no words either; that is no success of the weights.
            end += (
                f" With {listed(idle)} weights, accuracy is not above the majority baseline ({percent(chance)}), so a "
                "smaller difference there is not informative."
            )
        text = (
            f"Accuracy of {model} if a word has its usual label minus if it has another: {differences}. "
            f"p-values are medians of {plural(rows['seeds'][0], 'seed')}. {end}"
        )
        title = f"{model}: effect of balanced words"
        findings.append(Finding("stubborn", "info", title, " ".join([text, *notes]), key=str(model)))
    return findings


def _difference(row: Summary) -> str:
    return (
        f"{100 * row['difference']:+z.1f} points with {row['weights']} weights (p = {_p(row['log10_p'])}, by the "
        f"paper's formula {_p(row['log10_p_exact'])}, within each label {_p(row['log10_p_within_label'])}; accuracy "
        f"{percent(row['accuracy'])})"
    )


def _p(log10: float) -> str:
    return format_p(min(0.0, log10))
