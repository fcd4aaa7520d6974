"""Can the label be guessed without reading what matters? (SPEC section 3; Poliak et al. 2018, PECO)"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
import polars as pl

from cuecard.analysis import MeasureKind, Result, Skip, Summary
from cuecard.audits.cues import Cues
from cuecard.audits.partial_input.carried import Carried, carried, explained_input
from cuecard.audits.partial_input.cross_fit import Evaluation, Trainer, curve, trainer
from cuecard.audits.partial_input.findings import partial_findings
from cuecard.audits.partial_input.folds import Folds, Grouping, Members, make_folds
from cuecard.audits.partial_input.guesses import Guesses, gold_of
from cuecard.audits.partial_input.judging import TESTED_KINDS, Baseline, chance_of, judged, smallest_q
from cuecard.audits.partial_input.leak_scores import (
    Scored,
    examples_of,
    leak_histogram,
    leak_summary,
    leak_table,
    most_leaking,
)
from cuecard.audits.partial_input.learner_pair import (
    PARTIAL_NAMES,
    learner_pairs,
    pair_finding,
    pairs_summary,
)
from cuecard.audits.partial_input.measures import CAVEAT, KINDS, NAME, partial_measures
from cuecard.audits.partial_input.rules import (
    Battery,
    InputFeatures,
    blind_rules,
    conditions,
    input_line,
    length_rules,
    null_probability,
    rows_of,
    rule_lines,
)
from cuecard.audits.partial_input.slices import (
    lengths_of,
    outside_accuracy,
    premise_words,
    slice_columns,
    slice_table,
    with_words,
)
from cuecard.audits.partial_input.view import partial_input_view
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.data.examples import Examples
from cuecard.data.weights import unequal_weights
from cuecard.models.linear.input_features import InputRows
from cuecard.models.recipe import Recipe, Tell, recipes, silently
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Floats, Ints, counted
from cuecard.text import language_of, suggested_tokeniser

#: Fewer examples than this say nothing about what can be guessed.
FEWEST_EXAMPLES = 20
#: Some dozens of bins are learned from as well as they can be with this many examples.
BLIND_TRAIN = 20_000


@dataclass(frozen=True)
class PartialInput:
    """Score every guess that should not be possible, beside the full input.

    Trained on train and scored on test where both exist, otherwise cross-fitted on train. Leak scores of train
    examples are always cross-fitted.

    Args:
        tokens: tokenisation of the n-grams; what suits the language by default.
        ngrams: longest n-gram of the learner, in words.
        strength: inverse of the learner's penalty.
        folds: folds of the cross-fit.
        grouping: what stays on one side of a fold: examples that share a "sentence" (the default), their
            "premise", or only each "example" with itself.
        cross_fit: whether training examples get leak scores too where there is a test split.
        inflation: also cross-fit with grouping "example", to show by how much shared sentences raise the score.
        learning_curve: whether to learn from smaller samples as well.
        max_train: examples to learn from at most, drawn by the seed.
        shown_examples: how many of the most leaking examples to list.
        learner: names of trained models to ask as well, with the full and with partial input (bilstm, …).
        learner_condition: the partial input of those models: "hypothesis", "premise" or "choices"; by default the one
            that should not be enough for the task.
        outside: extra column that tells how often a model from elsewhere is correct on an example, as true and false, a
            share, or a percentage: its accuracy is A_SOTA, and %R_S is what partial input recovers of it.
        learner_settings: their parameters, such as "epochs=3" or "bilstm.epochs=3".
        cache: whether what learners gave before may come from the user's cache folder, and this go there.
        alpha: a score differs from chance if its q-value over all baselines is at most this.
        seed: of folds, samples and the learners, unless `learner_settings` give one.
        weights: extra column that holds every example's weight, by which it counts where a learner is fitted and where
            it is scored; examples of weight 0 are left out.
        expect: families of cues that are a part of the task: of these, "overlap" is no shortcut.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Partial input"
    view = staticmethod(partial_input_view)
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    caveat: ClassVar[str] = CAVEAT

    tokens: str | None = None
    ngrams: int = 2
    strength: float = 1.0
    folds: int = 5
    grouping: Grouping = "sentence"
    cross_fit: bool = True
    inflation: bool = False
    learning_curve: bool = True
    max_train: int = 100_000
    shown_examples: int = 50
    learner: tuple[str, ...] = ()
    learner_settings: tuple[str, ...] = ()
    learner_condition: Literal["hypothesis", "premise", "choices"] | None = None
    outside: str | None = None
    cache: bool = field(default=True, metadata={"parameter": False})
    alpha: float = 0.05
    seed: int = 0
    weights: str | None = None
    expect: tuple[str, ...] = ()
    tell: Tell = field(default=silently, metadata={"parameter": False}, repr=False, compare=False)

    @property
    def parallel(self) -> bool:
        """Whether it may run beside other audits: trained models use all cores and show a bar of their own."""
        return not self.learner

    def __post_init__(self) -> None:
        """Check the names of learners and their parameters at once, so that a typo costs no time."""
        self._recipes()
        partial = PARTIAL_NAMES.keys()
        if self.learner_condition is not None and self.learner_condition not in partial:
            raise unknown_name("condition (learner_condition)", self.learner_condition, list(partial))

    @property
    def any_size(self) -> bool:
        """Whether it sees all examples of any dataset: trained models need texts in memory."""
        return not self.learner

    def run(self, data: Instances) -> Result:
        """Return the battery of baselines, leak scores, slices and the learning curve."""
        whole = data
        used = data.in_splits("train", "test")
        row_weights = unequal_weights(data, self.weights)
        if row_weights is not None:
            used &= row_weights > 0
            row_weights = row_weights[used]
        data = data.rows(used)
        examples = Examples.of_rows(data, row_weights)
        train, test = (examples.of_split(name) for name in ("train", "test"))
        if len(train) < FEWEST_EXAMPLES:
            raise Skip(f"needs at least {FEWEST_EXAMPLES} training examples, found {len(train)}")
        rows = rows_of(data, tokens=self.tokens)
        primary = primary_input(data.task)
        folds = self._folds(data, examples, train)
        scored = test if len(test) else train
        null = null_probability(examples, train, scored)
        rules = blind_rules(examples, train, test)
        learned = self._learned(rows, examples, train, test, folds, null)
        guesses, cross_fitted = learned.guesses, learned.cross_fitted
        baselines = judged([*rule_lines(examples, rules, train, scored), *learned.lines], self.alpha)
        blind = {b.name: guesses[b.name] for b in learned.lines if b.kind in TESTED_KINDS}
        Battery(examples, scored, rules | blind, {n: learned.inflation[n] for n in blind}, self.weights).keep(
            whole
        )
        about = {
            name: [
                Scored(scored, guesses[name], null),
                *(
                    [Scored(train, cross_fitted[name], null_probability(examples, train, train))]
                    if name in cross_fitted
                    else []
                ),
            ]
            for name in [b.name for b in learned.lines if b.kind == "partial" or b.name == primary]
        }
        leaks = leak_table(examples, about, primary, examples_of(examples, whole.shown_rows))
        leaking = most_leaking(examples, about[primary], self.shown_examples)
        lengths = data.space.gathered(lengths_of(examples, rows), scored)
        tables = {
            "baselines": pl.DataFrame([b.as_json() for b in baselines], infer_schema_length=None),
            "partial_input_slices": slice_table(examples, scored, guesses[primary], lengths),
            "leaking_examples": leaking,
            "leak_histogram": leak_histogram(examples, about[primary]),
        }
        if learned.carried is not None:
            tables["carried"] = learned.carried.table
        if learned.curve is not None:
            tables["learning_curve"] = learned.curve
        evaluated = "test" if len(test) else "train"
        strict = {n: _accuracy((cross_fitted if len(test) else guesses)[n]) for n in learned.inflated}
        leak = leak_summary(guesses[primary])
        summary = self._summary(baselines, primary, folds, evaluated, leak, learned.inflated, strict)
        summary["task"] = data.task
        summary["carried"] = None if learned.carried is None else learned.carried.as_json()
        if data.fixed_options:
            summary["fixed_options"] = _fixed_options(data, examples, scored)
        findings = partial_findings(summary, baselines, leaking, data.task, self.expect)
        search = Cues(
            features=("word",), scope="premise", tokens=self.tokens, alpha=self.alpha, weights=self.weights
        )
        words = premise_words(baselines, lambda: search.run(data))
        if words is not None:
            tables["premise_words"] = words
            findings = with_words(findings, words)
        if self.outside is not None:
            summary["outside"] = outside_accuracy(examples, self.outside, scored)
        if self.learner:
            pairs, missing = learner_pairs(
                self._recipes(),
                data,
                folds,
                condition=self.learner_condition,
                weights=row_weights,
                alpha=self.alpha,
                tell=self.tell,
                cache=self.cache,
            )
            summary |= pairs_summary(pairs, missing)
            findings += [pair_finding(pair) for pair in pairs]
            if pairs:
                tables["learner_answers"] = pl.concat([pair.answers for pair in pairs])
            shown = [pair.shown_maps for pair in pairs if pair.shown_maps is not None]
            if shown:
                tables["saliency_maps"] = pl.concat(shown)
        language = language_of(data)
        return Result(
            summary,
            tables,
            findings,
            leaks,
            partial_measures(summary),
            {"tokens": self.tokens or suggested_tokeniser(language), "language": language},
            smallest_q=smallest_q(baselines, self.expect),
        )

    def _learned(
        self, rows: InputRows, examples: Examples, train: Ints, test: Ints, folds: Folds, null: Floats
    ) -> _Learned:
        """Return what was learned from every input; this function frees features and models."""
        data, primary = examples.instances, primary_input(examples.instances.task)
        extra = slice_columns(examples, without=(self.weights, self.outside, data.cluster))
        inputs = conditions(rows, examples, ngrams=self.ngrams, extra=extra)
        with trainer(examples, strength=self.strength, max_train=self.max_train, seed=self.seed) as fit:
            promised = {c.name: _evaluation(fit, c, train, test, folds) for c in inputs}
            on_train: dict[str, Callable[[], Evaluation]] = {}
            if self.cross_fit and len(test):
                on_train = {
                    c.name: fit.cross_fit(c.matrix, train, folds.fold, forward=False)
                    for c in inputs
                    if c.kind == "partial" or c.name == primary
                }
            matrix = next(c.matrix for c in inputs if c.name == primary)
            get_curve = self._curve(fit, matrix, train, test, folds) if self.learning_curve else None
            loose = self._loose(fit, inputs, train) if self.inflation else {}
            learned = _Learned()
            # What was promised holds all that was learned: it is freed as soon as its accuracy is known.
            for c in inputs:
                done = promised.pop(c.name)().weighted(examples, c.unit)
                learned.lines.append(input_line(examples, c, done, null))
                learned.guesses[c.name], learned.inflation[c.name] = done.guesses, done.inflation
                if c.name == explained_input(data.task):
                    learned.carried = carried(rows, examples, c, done, train, seed=self.seed)
                del done
            for name in [*on_train]:
                learned.cross_fitted[name] = on_train.pop(name)().weighted(examples).guesses
            learned.curve = get_curve() if get_curve else None
            for name, get in loose.items():
                learned.inflated[name] = _accuracy(get().weighted(examples).guesses)
        return learned

    def _recipes(self) -> list[Recipe]:
        return [
            recipe.with_defaults(seed=self.seed) for recipe in recipes(self.learner, self.learner_settings)
        ]

    def _folds(self, data: Instances, examples: Examples, train: Ints) -> Folds:
        # Chance is 1/k per question, so the place of the right choice must stay free to vary between folds.
        strata = np.broadcast_to(np.int64(0), len(train)) if data.grouped else gold_of(examples, train)
        return make_folds(data.train, strata, folds=self.folds, grouping=self.grouping, seed=self.seed)

    def _curve(
        self, fit: Trainer, matrix: Any, train: Ints, test: Ints, folds: Folds
    ) -> Callable[[], pl.DataFrame]:
        learn: Ints | Members = train
        guess = test
        if not len(test):
            others = np.flatnonzero(counted(folds.fold)[1:]) + 1
            learn, guess = Members(train, folds.fold, [others.tolist()]), train[folds.fold == 0]
        examples = fit.examples
        if examples.grouped:
            chance = chance_of(length_rules(examples, guess)["longest"], examples.gold[guess], grouped=True)
        else:
            sums = examples.label_sums(guess)
            chance = float((sums / sums.sum()).max())
        return curve(fit, matrix, learn, guess, chance)

    def _loose(
        self, fit: Trainer, inputs: list[InputFeatures], train: Ints
    ) -> dict[str, Callable[[], Evaluation]]:
        examples = fit.examples
        loose = replace(self, grouping="example")._folds(examples.instances, examples, train)
        return {
            c.name: fit.cross_fit(c.matrix, train, loose.fold, forward=False)
            for c in inputs
            if c.kind == "partial"
        }

    def _summary(
        self,
        baselines: list[Baseline],
        primary: str,
        folds: Folds,
        evaluated: str,
        leak: Summary,
        inflated: dict[str, float],
        strict: dict[str, float],
    ) -> Summary:
        return {
            "baselines": [b.as_json() for b in baselines],
            "primary": primary,
            "evaluated": evaluated,
            "scheme": "train to test" if evaluated == "test" else f"{folds.count}-fold cross-fit",
            "folds": {
                "count": folds.count,
                "grouping": folds.grouping,
                "largest_group": folds.largest_group,
                "note": folds.note,
            },
            "leak": leak,
            "inflation": {
                name: {folds.grouping: strict[name], "example": value, "difference": value - strict[name]}
                for name, value in inflated.items()
            },
            "alpha": self.alpha,
        }


@dataclass(eq=False)
class _Learned:
    """How every input does, by name, and its guesses: of scored examples, and of training examples beside these."""

    lines: list[Baseline] = field(default_factory=list)
    guesses: dict[str, Guesses] = field(default_factory=dict)
    inflation: dict[str, float] = field(default_factory=dict)
    cross_fitted: dict[str, Guesses] = field(default_factory=dict)
    curve: pl.DataFrame | None = None
    #: What carries the score of the model of one of the inputs.
    carried: Carried | None = None
    #: Accuracies with folds of single examples.
    inflated: dict[str, float] = field(default_factory=dict)


def _fixed_options(data: Instances, examples: Examples, scored: Ints) -> Summary:
    """Return the options that nearly all questions offer, and which of them is right most often."""
    right = data.table["hypothesis"].gather(examples.first_rows[scored] + examples.gold[scored])
    answer, count = right.value_counts(sort=True).row(0)
    return {
        "options": list(data.fixed_options),
        "in_order": data.fixed_order,
        "most_frequent": answer,
        "share": count / len(scored),
    }


def primary_input(task: Task) -> str:
    """Return the partial input whose probabilities are the leak scores of a task."""
    return {"pair": "hypothesis_only", "text": "length"}.get(task, "choices_only")


def _evaluation(
    fit: Trainer, condition: InputFeatures, train: Ints, test: Ints, folds: Folds
) -> Callable[[], Evaluation]:
    if condition.kind in ("content-blind", "relation"):
        fit = fit.limited(BLIND_TRAIN)
    if len(test):
        return fit.held_out(condition.matrix, train, test)
    return fit.cross_fit(condition.matrix, train, folds.fold)


def _accuracy(guesses: Guesses) -> float:
    return guesses.mean(guesses.score)
