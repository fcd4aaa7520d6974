"""Permutation test: is a model more often right where words have their usual label? (Stubborn 3.1, 3.2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Row, Severity, Skip, Summary, interval
from cuecard.data import Instances
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.cues.members import Membership, membership
from cuecard.probes.examples import for_model, nullable, tested_columns, versus, widened_within
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats import format_p, newcombe_difference
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.models.paired import deflated_log10_p, two_sided_design_effects
from cuecard.stats.models.permutation import PermutationResult, permutation_test, permutation_tests_by_feature
from cuecard.view import (
    Axis,
    Bars,
    Column,
    Intervals,
    Outcome,
    Table,
    View,
)
from cuecard.wording import (
    TRAINING_SET,
    ci,
    display_text,
    percent,
    plural,
    points,
    probability,
)

MOST_WORDS = 300
#: −log₁₀ of 0.05.
LEVEL = 1.30103
_ADJUSTED = "p-value adjusted for multiple tests (false discovery rate)"


def permutation_view(outcome: Outcome) -> View:
    """Return each model's accuracy on usual and unusual examples with its exact p-value."""
    summary, models = outcome.summary, outcome.summary["models"]
    lead = [
        f"{display_text(name, 60)} has an accuracy of {percent(test['usual_accuracy'])} on {test['usual']:,} "
        f"test examples that contain a strong word with its usual label, and "
        f"{percent(test['unusual_accuracy'])} on {test['unusual']:,} that contain one with another label: a "
        f"difference of {points(test['difference'])} points ({ci(test['low'], test['high'], points)}; "
        f"p = {probability(None, test['log10_p_decisive'])}, {_other_p(test)})."
        for name, test in models.items()
    ]
    return View(
        lead=lead,
        charts=[_usual(summary), _permutation_p(summary)],
        tables=[_words(outcome.tables["permutation_words"])],
        notes=[display_text(note, 400) for note in summary.get("notes", ())],
    )


def _other_p(test: Summary) -> str:
    """Return the p-values behind the one that decides, and the paper's, which does not discount shared texts."""
    plain, stratified = _both_p(test)
    return (
        f"the larger of {probability(None, plain)} over all examples and {probability(None, stratified)} stratified by "
        f"correct answer; by the paper's formula {probability(None, test['log10_p_exact'])}"
    )


def _both_p(test: Summary) -> tuple[float, float]:
    """Return log10 of the p-values over all examples and within each correct answer."""
    plain, stratified = (
        float(test[name] if name in test else test["log10_p"])
        for name in ("log10_p_unstratified", "log10_p_stratified")
    )
    return plain, stratified


def _usual(summary: Summary) -> Bars:
    """Return each model's accuracy where words have their usual label and where they have another."""
    rows = [
        {
            "model": name,
            "words have": kind,
            "accuracy": test[f"{key}_accuracy"],
            "n": test[key],
            "text": percent(test[f"{key}_accuracy"]),
        }
        for name, test in summary["models"].items()
        for kind, key in (("usual label", "usual"), ("another label", "unusual"))
    ]
    schema = {
        "model": pl.String,
        "words have": pl.String,
        "accuracy": pl.Float64,
        "n": pl.Int64,
        "text": pl.String,
    }
    return Bars(
        title="Usual and other labels",
        data=pl.DataFrame(rows, schema=schema),
        y="model",
        x=Axis("accuracy", "accuracy", "percent", domain=(0, 1.15), ticks=(0, 0.5, 1)),
        series="words have",
        text="text",
        tooltip={"n": Column("test examples", "count")},
        alt="Bars of each model's accuracy if words have their usual label and if they have another.",
        caption=f"{summary['words_in_test']} of {summary['words']} words occur in the test set; "
        f"{summary['both_sets']:,} examples are in both groups.",
        wide=False,
        name="usual",
    )


def _permutation_p(summary: Summary) -> Intervals:
    """Return the permutation test's p of every model on a logarithmic scale, with and without strata."""
    kinds = ["over all examples", "stratified by correct answer"]
    rows = [
        {"model": name, "shuffled": kind, "exponent": -value}
        for name, test in summary["models"].items()
        for kind, value in zip(kinds, _both_p(test), strict=True)
    ]
    schema = {"model": pl.String, "shuffled": pl.String, "exponent": pl.Float64}
    return Intervals(
        title="p-values",
        data=pl.DataFrame(rows, schema=schema),
        y="model",
        x=Axis("exponent", "p-value (logarithmic)", "log10_p"),
        series="shuffled",
        colours=kinds,
        line=LEVEL,
        alt="Points of each model's p-value on a logarithmic scale, over all examples and within labels.",
        caption="Further right is stronger evidence; the dashed line is 0.05.",
        wide=False,
        name="p_values",
    )


def _words(table: pl.DataFrame) -> Table:
    columns = {
        "feature": Column("Word"),
        "model": Column("Model", brief=table["model"].n_unique() > 1),
        "label": Column("Usual label", "label"),
        "usual_accuracy": Column("Acc. usual", "percent", "accuracy if the word has its usual label"),
        "unusual_accuracy": Column("Acc. other", "percent", "accuracy if it has another label"),
        "q_value": Column("q", "probability", _ADJUSTED),
        "usual": Column("Usual", "count", "test examples with the word and its usual label"),
        "unusual": Column("Other", "count", "test examples with the word and another label"),
        "z": Column("z", "decimal", "in the training set", brief=False),
    }
    shown = table.sort("log10_p", nulls_last=True, maintain_order=True)
    return Table("Word by word", "permutation_words", columns, data=shown, most=MOST_WORDS, searchable=True)


NAME = "permutation_test"
DIFFERENCE = MeasureKind(
    "difference.{model}", "accuracy of {model} with usual minus unusual label", "points", "higher"
)
P_VALUE = MeasureKind("p.{model}", "p-value of the permutation test of {model}", "p", "lower")
EXACT = MeasureKind(
    "exact_p.{model}", "p-value of {model} by the paper's formula, shared texts not discounted", "p", "lower"
)


def permutation_measures(summary: Row) -> list[Measure]:
    """Return how much better every model is where words have their usual label, and the p-value."""
    measures = []
    for model, part in summary["models"].items():
        n = part["pool"]
        measures.append(DIFFERENCE.of(NAME, **interval(part, "difference"), chance=0.0, n=n, model=model))
        measures.append(P_VALUE.of(NAME, part["log10_p_decisive"], n=n, model=model))
        measures.append(EXACT.of(NAME, part["log10_p_exact"], n=n, model=model))
    return measures


Reading = Literal["union", "twice", "difference"]


@dataclass(frozen=True)
class PermutationOutcome:
    """The tests of one model over all words.

    A model that is merely better at one class may look biased over all examples, and one that trades classes within
    them, so that the larger of the two p-values decides.
    """

    result: PermutationResult
    """Over all examples, with allowance for those that share a text."""
    stratified: float
    """Base-10 log of the p-value within each right answer, with the same allowance."""
    exact: float
    """The paper's: over all examples, which count in full although some share a text."""

    @property
    def decisive(self) -> float:
        """Base-10 log of the p-value that severity and sentence follow."""
        return max(self.result.log10_p, self.stratified)

    def summary(self, *, stratify: bool) -> dict[str, float | str]:
        """Return the numbers of the card; `log10_p` is of the test that was asked for."""
        plain = self.result
        asked = replace(plain, log10_p=self.stratified) if stratify else plain
        counts = (
            "usual",
            "unusual",
            "pool",
            "usual_accuracy",
            "unusual_accuracy",
            "difference",
            "low",
            "high",
        )
        return {
            "log10_p": asked.log10_p,
            "p_value": asked.p_value,
            "p": asked.p_text,
            **{name: getattr(asked, name) for name in counts},
            **(
                {"log10_p_unstratified": plain.log10_p}
                if stratify
                else {"log10_p_stratified": self.stratified}
            ),
            "log10_p_decisive": self.decisive,
            "log10_p_exact": self.exact,
        }


@dataclass(frozen=True)
class PermutationTest(Probe):
    """Exact test of whether correctness is exchangeable between usual (U) and unusual (N) examples.

    Correctness is shuffled over all examples and within each right answer. The larger of the two p-values decides, so
    that a model that is merely better at one class is not called biased.

    Args:
        per_label: words of highest z per label in train that are looked at; stop words are left out.
        stratify: "label" reports the p-value within each right answer first, and tests words one by one within it
            where answers are choices; otherwise the examples in which a word has its usual label all have that answer.
        reading: "union" (the paper's closed form over U ∪ N), "twice" (an example in both sets counts twice)
            or "difference" (accuracy on U minus accuracy on N, by shuffling).
        prior: what z compares the share of a label with: its share in train, or 1 / number of labels ("uniform").
        guessing: whether a guess is as likely right for every answer ("equal"), or, for the p-value by the paper's
            formula, as likely as the model gives that answer ("predicted", the paper's footnote 1).
        alpha: level of the test over all words, and of the q-values of words one by one.
        draws: shuffles of the reading "difference".
        seed: seed of the shuffles.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Permutation test"
    view = staticmethod(permutation_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (DIFFERENCE, P_VALUE, EXACT)

    per_label: int = 50
    stratify: Literal["label"] | None = None
    reading: Reading = "union"
    prior: Literal["train", "uniform"] = "train"
    guessing: Literal["equal", "predicted"] = "equal"
    alpha: float = 0.05
    draws: int = 10_000
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return the test of every model over all words, and one test per word."""
        words = cues.words.highest(self.per_label, uniform=self.prior == "uniform")
        sets = membership(
            cues.words.having(words["feature"].to_list()), cues.examples, words["label"].to_list()
        )
        usual, unusual = (np.asarray(part.sum(axis=1)).ravel() > 0 for part in (sets.usual, sets.unusual))
        if not usual.any() or not unusual.any():
            raise Skip("needs test examples that contain a word with its usual label, and with another label")
        tests: dict[str, dict[str, float | str]] = {}
        findings, tables = [], []
        for model in predictions:
            outcome = self.outcome(model, cues, usual, unusual)
            tests[model.model] = outcome.summary(stratify=self.stratify is not None)
            findings.append(_finding(model.model, outcome, self.alpha))
            tables.append(self._by_word(model, cues, words, sets))
        present = np.asarray(sets.having.sum(axis=0)).ravel() > 0
        summary = {
            "models": tests,
            "words": words.height,
            "words_in_test": int(present.sum()),
            "reading": self.reading,
            "stratify": self.stratify,
            "both_sets": int((usual & unusual).sum()),
            "alpha": self.alpha,
            "notes": [*cues.words.notes, *self._notes(cues), *_source_note(cues)],
        }
        measures = permutation_measures(summary)
        return Result(summary, {"permutation_words": pl.concat(tables)}, findings, measures=measures)

    def outcome(
        self, model: Predictions, cues: CueSet, usual: Bools, unusual: Bools, *, two_sided: bool = False
    ) -> PermutationOutcome:
        """Return the tests of one model over examples in U and N, over all of them and within each right answer.

        `two_sided`: also against U being less accurate; the paper's p stays one-sided.
        """
        right = model.correct(cues.examples)
        test = partial(
            permutation_test, right, usual, unusual, reading=self.reading, draws=self.draws, seed=self.seed
        )
        exact = test()
        over_all = test(alternative="two-sided") if two_sided else exact
        within = test(strata=cues.examples.gold, alternative="two-sided" if two_sided else "greater")
        [effect] = two_sided_design_effects(right, versus(usual[:, None], unusual[:, None]), cues.shared)
        low, high = widened_within(exact.difference, exact.low, exact.high, effect)
        plain, stratified = (
            float(deflated_log10_p(result.log10_p, effect, sides=2 if two_sided else 1))
            for result in (over_all, within)
        )
        result = replace(exact, log10_p=plain, low=float(low), high=float(high))
        by_formula = (
            exact if self.guessing == "equal" else test(guessing=_guessing(model, cues.examples.gold))
        )
        return PermutationOutcome(result, stratified, by_formula.log10_p)

    def _by_word(
        self, model: Predictions, cues: CueSet, words: pl.DataFrame, sets: Membership
    ) -> pl.DataFrame:
        names = words.select(pl.lit("word").alias("family"), "feature", "label", "z")
        # Unless answers are choices, the usual examples of a word are all of one right answer: nothing to shuffle.
        stratified = self.stratify is not None and cues.examples.instances.grouped
        strata = cues.examples.gold if stratified else None
        right = model.correct(cues.examples)
        return usual_table(model, names, sets, right, alpha=self.alpha, strata=strata, shared=cues.shared)

    def _notes(self, cues: CueSet) -> list[str]:
        if self.stratify is None or cues.examples.instances.grouped:
            return []
        return [
            "All examples in which a word has its usual label have the same correct answer, so single words are tested "
            "without strata."
        ]


def _guessing(model: Predictions, gold: Ints) -> Floats:
    """Return how likely the model gives the right answer of every example, were its answers drawn by their shares.

    Laplace's rule keeps an answer that it never gives from being impossible.
    """
    answers = max(int(gold.max()), int(model.answers.max(initial=0))) + 1
    given = np.bincount(model.answers[model.answers >= 0], minlength=answers)
    shares: Floats = (given + 1) / (given.sum() + answers)
    return shares[gold]


def _source_note(cues: CueSet) -> list[str]:
    """Return whose usual labels the words have, where there is no training set."""
    return [] if cues.source == TRAINING_SET else [f"The usual label of a word is that in {cues.source}."]


def usual_table(
    model: Predictions,
    names: pl.DataFrame,
    sets: Membership,
    correct: Bools,
    *,
    alpha: float,
    strata: Ints | None = None,
    shared: Sequence[Ints] = (),
) -> pl.DataFrame:
    """Return accuracy with the usual label and with another for every feature, tested one by one.

    `shared` has codes of examples that share a text, one array per kind.
    """
    tests = permutation_tests_by_feature(correct, sets.usual, sets.unusual, strata=strata)
    tested = (tests.usual > 0) & (tests.unusual > 0)
    effects = two_sided_design_effects(correct, versus(sets.usual, sets.unusual), shared)
    log_p = deflated_log10_p(np.where(tested, tests.log10_p, np.nan), effects, sides=1)
    ends = newcombe_difference(
        np.round(np.nan_to_num(tests.usual_accuracy) * tests.usual),
        tests.usual,
        np.round(np.nan_to_num(tests.unusual_accuracy) * tests.unusual),
        tests.unusual,
    )
    difference = tests.usual_accuracy - tests.unusual_accuracy
    low, high = widened_within(difference, *ends, effects)
    return for_model(names, model.model).with_columns(
        usual=tests.usual,
        unusual=tests.unusual,
        usual_accuracy=nullable(tests.usual_accuracy),
        unusual_accuracy=nullable(tests.unusual_accuracy),
        difference=nullable(difference),
        difference_low=nullable(np.where(tested, low, np.nan)),
        difference_high=nullable(np.where(tested, high, np.nan)),
        **tested_columns(log_p, alpha),
    )


def _finding(model: str, outcome: PermutationOutcome, alpha: float) -> Finding:
    result, level = outcome.result, np.log10(alpha)
    severity: Severity = "info"
    title = f"No evidence that {model} is more accurate if words have their usual label"
    if (
        outcome.decisive <= level and result.difference > 0 >= result.low
    ):  # a one-sided test, a two-sided interval
        title = f"It is undecided whether {model} is more accurate if words have their usual label"
    elif outcome.decisive <= level and result.difference > 0:
        severity = "high" if result.difference >= 0.10 else "medium" if result.difference >= 0.03 else "low"
        title = f"{model} is more accurate if words have their usual label"
    text = (
        f"{model} has an accuracy of {percent(result.usual_accuracy)} on {plural(result.usual, 'test example')} that "
        f"contain a strong word with its usual label, and {percent(result.unusual_accuracy)} on {result.unusual:,} "
        f"that contain one with another label: a difference of {points(result.difference)} points (95 % CI "
        f"{points(result.low)} to {points(result.high)}; permutation test p = {format_p(outcome.decisive)}, the larger "
        f"of {result.p_text} over all examples and {format_p(outcome.stratified)} within each correct answer)."
    )
    if result.log10_p <= level < outcome.stratified:
        text += (
            " The accuracy differs between correct answers, which explains the difference over all examples."
        )
    difference = interval(vars(result) | {"difference": result.difference}, "difference")
    return Finding(
        NAME, severity, title, text, **difference, chance=0.0, n=result.pool, unit="points", key=model
    )
