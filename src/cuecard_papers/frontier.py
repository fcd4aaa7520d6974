"""The frontier of debiasing: accuracy against reliance on words, for every way to train and to correct a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard._version import __version__
from cuecard.analysis import About, Finding, Measure, MeasureKind, Result, Row, Summary
from cuecard.cache import cached_arrays, content_key
from cuecard.data import TASKS, Instances, Task
from cuecard.errors import UsageError
from cuecard.models.debiasing import AFTER_TRAINING, change_last_layer
from cuecard.models.fitted import answer_probabilities, fit_key, fitted_model
from cuecard.models.recipe import Recipe, Tell, seedless_recipes, silently
from cuecard.models.text_model import TextModel
from cuecard.probes import DebiasedEvaluation, Predictions, check_test
from cuecard.remedies import NeutralWeights
from cuecard.run.predicting import dev_as_test
from cuecard.stats import wilson
from cuecard.stats.arrays import Floats
from cuecard.wording import listed, percent, plural
from cuecard_papers.frontier_schemes import (
    DEFAULT,
    ENSEMBLE,
    NEUTRAL,
    PLAIN,
    FrontierCorrector,
    Scheme,
    beside_train,
    drawn_parts,
    own_bias,
)
from cuecard_papers.frontier_tests import FrontierTests, transfer_accuracy, with_labels_of
from cuecard_papers.stubborn import WEIGHTS, balanced_weights, majority_share
from cuecard_papers.views import frontier_view

ACCURACY = MeasureKind("accuracy.{model}.{method}", "accuracy of {model}, {method}", "share", "lower")
GAP = MeasureKind(
    "gap.{model}.{method}", "accuracy of {model} with usual minus unusual label, {method}", "points", "higher"
)
P_VALUE = MeasureKind("p.{model}.{method}", "median p-value of the gap of {model}, {method}", "p", "lower")


@dataclass(frozen=True)
class FrontierExperiment:
    """Train and correct models in every way, and test each for its use of words.

    Strengths of corrections are chosen on the dev split for the least loss of accuracy that closes the gap there. Every
    second listed word, the words that follow in the list, and bigrams are tested separately: a correction that only
    fits the words it knows shows there. Trained models and their outputs are kept by content.

    Args:
        models: registered models to train.
        settings: their parameters, such as "epochs=3".
        seeds: how many seeds, counted from `seed`.
        debias: ways to train ("plain", "words", "paper", "neutral", "product-of-experts", …) and to correct
            ("constraint", "expert", …); "words+constraint" corrects a model of another training, "ensemble" is the mean
            of all seeds. "product-of-experts:length" and "expert-length" say what the expert reads,
            "expert-hypothesis@0.5" sets a strength, "expert-other-premises" is the model itself with the premises of
            other examples. If one of them is about the pair graph, models are also evaluated
            under leakage-neutral weights.
        per_label: words of highest z per label that the test looks at.
        alpha: level of the test.
        seed: the first seed to train with.
        also: other sets with the same labels, on which every model is scored.
    """

    name: ClassVar[str] = "frontier"
    title: ClassVar[str] = "Debiasing frontier"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    view = staticmethod(frontier_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, GAP, P_VALUE)
    about: ClassVar[About] = "experiment"

    models: tuple[str, ...] = ("fasttext",)
    settings: tuple[str, ...] = ()
    seeds: int = 3
    debias: tuple[str, ...] = DEFAULT
    per_label: int = 50
    alpha: float = 0.05
    seed: int = 0
    also: tuple[Instances, ...] = field(default=(), metadata={"parameter": False}, repr=False, compare=False)
    cache: bool = field(default=True, metadata={"parameter": False}, repr=False, compare=False)
    tell: Tell = field(default=silently, metadata={"parameter": False}, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Check every name at once, so that a typo costs no hours."""
        seedless_recipes(self.models, self.settings)
        schemes = [Scheme.of(name) for name in self.debias]
        if self.seeds < 1 or not self.models or not schemes:
            raise UsageError("The frontier needs at least one model, one method and one seed.")

    def run(self, data: Instances) -> Result:
        """Return a row per run, and the means over the seeds of every method."""
        check_test(data)
        if "dev" not in data.splits:
            raise UsageError("Strengths are tuned on a dev split, and there is none: give it with --dev.")
        others = [with_labels_of(other.train, data.labels) for other in self.also]
        tests = FrontierTests.of(data, per_label=self.per_label)
        parts = [
            dev_as_test(data),
            data.train_and_test,
            *(beside_train(data.train, other) for other in others),
        ]
        corrector = FrontierCorrector(parts, tests.listed, tests.next, tests.bigrams)
        schemes = [Scheme.of(name) for name in self.debias]
        rows: list[Summary] = []
        answers: list[Predictions] = []
        for recipe in seedless_recipes(self.models, self.settings):
            for scheme in schemes:
                for seed, outputs in self._outputs(recipe, scheme, data, others):
                    plain, drawn = outputs[: len(parts)], outputs[len(parts) :]
                    bias = own_bias(drawn, len(parts)) if drawn else []
                    strengths, corrected = corrector.corrected(plain, scheme.corrections, bias)
                    rows.append(
                        {
                            "model": recipe.model,
                            "method": scheme.name,
                            "seed": seed,
                            "strength": ", ".join(strengths),
                            **tests.row(corrected[1]),
                            **self._transfer(corrected[2:], others),
                        }
                    )
                    answers.append(Predictions(str(len(answers)), corrected[1].argmax(axis=1), corrected[1]))
        runs = pl.DataFrame(rows)
        if any(scheme.about_graph for scheme in schemes):
            evaluated = DebiasedEvaluation().run(data.train_and_test, answers).tables["debiased_evaluation"]
            runs = runs.with_columns(neutral_accuracy=evaluated.tail(len(answers))["weighted_accuracy"])
        groups = summed_up(runs, len(check_test(data)))
        chance = majority_share(check_test(data).gold)
        summary = {
            "runs": runs.height,
            "test_examples": len(check_test(data)),
            "words": tests.listed.table.height,
            "chance": chance,
            "groups": groups.to_dicts(),
        }
        findings = _findings(groups, self.alpha, chance)
        tables = {"frontier": groups, "frontier_runs": runs}
        return Result(summary, tables, findings, measures=frontier_measures(summary))

    def _transfer(self, outputs: Sequence[Floats], others: Sequence[Instances]) -> dict[str, float]:
        return {
            f"on_{name}": transfer_accuracy(values, other)
            for name, other, values in zip(self._names, others, outputs, strict=True)
        }

    @property
    def _names(self) -> list[str]:
        """The names of the other sets, each once."""
        names = [other.name for other in self.also]
        return [
            name if names.count(name) == 1 else f"{name}_{names[:i].count(name) + 1}"
            for i, name in enumerate(names)
        ]

    def _outputs(
        self, recipe: Recipe, scheme: Scheme, data: Instances, others: Sequence[Instances]
    ) -> list[tuple[int, list[Floats]]]:
        """Return the probabilities of dev, test and the other sets, per seed; once for an ensemble.

        Those with other premises follow where a correction reads them.
        """
        seeds = range(self.seed, self.seed + self.seeds)
        if scheme.base == ENSEMBLE:
            plain = replace(scheme, base=PLAIN)
            each = [outputs for _, outputs in self._outputs(recipe, plain, data, others)]
            return [(self.seed, [np.mean(parts, axis=0) for parts in zip(*each, strict=True)])]
        return [(seed, self._trained(recipe.with_options(seed=seed), scheme, data, others)) for seed in seeds]

    def _weights(self, base: str, train: Instances) -> Floats | None:
        if base not in WEIGHTS and base != NEUTRAL:
            return None
        with self.tell(f"balancing for {base} weights"):
            if base == NEUTRAL:
                remedy = NeutralWeights(trees=200, max_weight=20.0)
                return remedy.run(train).tables["neutral_weights"]["weight"].to_numpy()
            return balanced_weights(base, train, cache=self.cache)

    def _trained(
        self, recipe: Recipe, scheme: Scheme, data: Instances, others: Sequence[Instances]
    ) -> list[Floats]:
        debias, base = scheme.debias, scheme.base
        changed = debias is not None and debias.method in AFTER_TRAINING
        if debias is not None and not changed:
            recipe = replace(recipe, debias=debias)
        scored = [data.split("dev"), check_test(data).instances, *others]
        if scheme.reads_other_premises:
            scored += drawn_parts(scored)
        weights = self._weights(base, data.train)

        @cache
        def model() -> TextModel:
            with self.tell(f"{recipe.model}, {base}, seed {recipe.options.get('seed', 0)}") as watch:
                trained = fitted_model(recipe, data.train, weights=weights, watch=watch, cache=self.cache)
                if changed and debias is not None:
                    change_last_layer(trained, debias, data.train)
            return trained

        def make(part: Instances) -> list[Floats]:
            return [answer_probabilities(model(), part)]

        outputs = []
        for part in scored:
            fit = fit_key(recipe.contents, data.train, weights, [part])
            key = content_key({"fit": fit, "base": base, "version": __version__})
            kept = partial(cached_arrays, "frontier", key, [part.n_examples])
            outputs += kept(partial(make, part)) if self.cache else make(part)
        return outputs


def summed_up(runs: pl.DataFrame, test_examples: int) -> pl.DataFrame:
    """Return a row per model and method: means over the seeds, and the median and lowest log10 p."""
    numbers = [name for name, dtype in runs.schema.items() if dtype.is_float()]
    logs = [name for name in numbers if "log10_p" in name]
    means = [name for name in numbers if name not in logs and name not in ("low", "high")]
    groups = runs.group_by("model", "method", maintain_order=True).agg(
        pl.len().alias("seeds"),
        *(pl.col(name).mean() for name in means),
        *(pl.col(name).median() for name in logs),
        *(pl.col(name).min().alias(f"{name}_lowest") for name in logs),
        *(pl.col(name).abs().max().alias(f"{name}_furthest") for name in means if name.endswith("gap")),
        pl.col("accuracy").std().alias("accuracy_sd"),
        pl.col("strength").first(),
    )
    low, high = wilson(
        (groups["accuracy"] * test_examples).round().to_numpy(), np.full(groups.height, test_examples)
    )
    return groups.with_columns(pl.Series("low", low), pl.Series("high", high))


def frontier_measures(summary: Row) -> list[Measure]:
    """Return accuracy, gap and p-value of every model and method."""
    n, measures = summary["test_examples"], []
    for row in summary["groups"]:
        of = {"model": row["model"], "method": row["method"].replace("+", "-with-")}
        measures.append(ACCURACY.of("frontier", row["accuracy"], low=row["low"], high=row["high"], n=n, **of))
        ends = {"low": row["gap_low"], "high": row["gap_high"]}
        measures.append(GAP.of("frontier", row["gap"], **ends, chance=0.0, n=n, **of))
        measures.append(P_VALUE.of("frontier", row["log10_p"], n=n, **of))
    return measures


def closed(groups: pl.DataFrame, alpha: float, prefix: str = "") -> pl.DataFrame:
    """Return the methods for which neither test is significant in any seed, the most accurate first."""
    level = float(np.log10(alpha))
    both = (pl.col(f"{prefix}{name}_lowest") > level for name in ("log10_p", "log10_p_within_label"))
    return groups.filter(*both).sort("accuracy", descending=True)


def closed_everywhere(groups: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Return the methods that close the gap of every set of words in every seed, the most accurate first.

    No test rejects after Holm's correction, which is that no p is at most alpha / sets, and no gap is beyond
    `NEAR_ZERO` in either direction.
    """
    passed = closed(groups, alpha / len(ABOUT))
    for prefix in ABOUT:
        near = passed.filter(pl.col(f"{prefix}gap_furthest") <= NEAR_ZERO)
        passed = closed(near, alpha / len(ABOUT), prefix)
    return passed


def _findings(groups: pl.DataFrame, alpha: float, chance: float) -> list[Finding]:
    findings = []
    for (model,), rows in groups.group_by("model", maintain_order=True):
        informative = pl.col("low") > chance
        able = rows.filter(informative)
        sentences = [_best(closed(able, alpha, prefix), about) for prefix, about in ABOUT.items()]
        sentences.append(_best(closed_everywhere(able, alpha), EVERYWHERE))
        idle = rows.filter(~informative)["method"].to_list()
        if idle:
            # A model that has learned nothing uses no words either.
            sentences.append(
                f"The accuracy of {listed(idle)} is not above the majority baseline ({percent(chance)}), so a smaller "
                "gap there is not informative."
            )
        plain = rows.filter(method=PLAIN)
        if plain.height:
            row = plain.row(0, named=True)
            start = f"Plain {model} has an accuracy of {percent(row['accuracy'])} and a gap of"
            sentences.insert(0, f"{start} {100 * row['gap']:+z.1f} points.")
        sentences.append(f"Figures are means over {plural(max(rows['seeds'].to_list()), 'seed')}.")
        findings.append(
            Finding("frontier", "info", f"{model}: what debiasing costs", " ".join(sentences), key=str(model))
        )
    return findings


#: Prefix of a test → what its sentence speaks of.
ABOUT = {
    "": "the listed words",
    "half_": "every second listed word",
    "next_": "the words that follow in the list",
    "bigram_": "bigrams",
}


#: Where the gaps of all sets of words are closed, none is further from zero, in either direction.
NEAR_ZERO = 0.03
EVERYWHERE = "all four sets of words (Holm's correction, gaps within 3 points)"


def _best(passed: pl.DataFrame, about: str) -> str:
    if passed.is_empty():
        return f"Over {about}, every method above the baseline leaves a significant difference in at least one seed."
    row = passed.row(0, named=True)
    names = [f"{name} ({percent(accuracy)})" for name, accuracy in passed.select("method", "accuracy").rows()]
    end = f"; {row['method']} costs least" if len(names) > 1 else ""
    return f"Over {about}, the difference is not significant in any seed with {listed(names)}{end}."
