"""Permutation test: is a model more often right where words have their usual label? (Stubborn 3.1, 3.2)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Row, Severity, Skip, interval
from cuecard.data import Instances
from cuecard.probes.cue_members import Membership, membership
from cuecard.probes.cue_set import CueSet
from cuecard.probes.cue_views import permutation_view
from cuecard.probes.examples import for_model, nullable, tested_columns, versus, widened_within
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats import newcombe_difference
from cuecard.stats.arrays import Bools, Ints
from cuecard.stats.models.design_effect import deflated_log10_p, two_sided_design_effects
from cuecard.stats.models.permutation import PermutationResult, permutation_test, permutation_tests_by_feature
from cuecard.wording import TRAINING_SET, percent, plural, points

NAME = "permutation_test"
DIFFERENCE = MeasureKind(
    "difference.{model}", "accuracy of {model} with usual minus unusual label", "points", "higher"
)
P_VALUE = MeasureKind("p.{model}", "p-value of the permutation test of {model}", "p", "lower")


def permutation_measures(summary: Row) -> list[Measure]:
    """Return how much better every model is where words have their usual label, and the p-value."""
    measures = []
    for model, part in summary["models"].items():
        n = part["pool"]
        measures.append(DIFFERENCE.of(NAME, **interval(part, "difference"), chance=0.0, n=n, model=model))
        measures.append(P_VALUE.of(NAME, part["log10_p"], n=n, model=model))
    return measures


Reading = Literal["union", "twice", "difference"]


@dataclass(frozen=True)
class PermutationTest(Probe):
    """Exact test of whether correctness is exchangeable between usual (U) and unusual (N) examples.

    Args:
        per_label: words of highest z per label in train that are looked at; stop words are left out.
        stratify: "label" shuffles within each right answer, so that a model that is merely better at one class
            is not called biased. Words one by one are not stratified unless answers are choices: the examples in
            which a word has its usual label all have that right answer.
        reading: "union" (the paper's closed form over U ∪ N), "twice" (an example in both sets counts twice)
            or "difference" (accuracy on U minus accuracy on N, by shuffling).
        alpha: level of the test over all words, and of the q-values of words one by one.
        draws: shuffles of the reading "difference".
        seed: seed of the shuffles.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Permutation test"
    view = staticmethod(permutation_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (DIFFERENCE, P_VALUE)
    measured = staticmethod(permutation_measures)

    per_label: int = 50
    stratify: Literal["label"] | None = None
    reading: Reading = "union"
    alpha: float = 0.05
    draws: int = 10_000
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return the test of every model over all words, and one test per word."""
        words = cues.words.highest(self.per_label)
        sets = membership(
            cues.words.having(words["feature"].to_list()), cues.examples, words["label"].to_list()
        )
        usual, unusual = (np.asarray(part.sum(axis=1)).ravel() > 0 for part in (sets.usual, sets.unusual))
        if not usual.any() or not unusual.any():
            raise Skip("needs test examples that contain a word with its usual label, and with another label")
        tests: dict[str, dict[str, float | str]] = {}
        findings, tables = [], []
        for model in predictions:
            tested = self.test(
                model, cues, usual, unusual, None if self.stratify is None else cues.examples.gold
            )
            other = self.test(
                model, cues, usual, unusual, cues.examples.gold if self.stratify is None else None
            )
            tests[model.model] = _numbers(tested) | {
                "log10_p_unstratified" if self.stratify else "log10_p_stratified": other.log10_p
            }
            findings.append(
                _finding(model.model, tested, other, stratified=self.stratify is not None, alpha=self.alpha)
            )
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

    def test(
        self, model: Predictions, cues: CueSet, usual: Bools, unusual: Bools, strata: Ints | None
    ) -> PermutationResult:
        """Return the test of one model over examples in U and N; p and interval allow for shared texts."""
        right = model.correct(cues.examples)
        tested = permutation_test(
            right, usual, unusual, strata=strata, reading=self.reading, draws=self.draws, seed=self.seed
        )
        [effect] = two_sided_design_effects(right, versus(usual[:, None], unusual[:, None]), cues.shared)
        low, high = widened_within(tested.difference, tested.low, tested.high, effect)
        log10_p = deflated_log10_p(tested.log10_p, effect, sides=1)
        return replace(tested, log10_p=float(log10_p), low=float(low), high=float(high))

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


def _numbers(tested: PermutationResult) -> dict[str, float | str]:
    names = (
        "log10_p",
        "p_value",
        "usual",
        "unusual",
        "pool",
        "usual_accuracy",
        "unusual_accuracy",
        "difference",
    )
    numbers = {name: getattr(tested, name) for name in (*names, "low", "high")}
    return numbers | {"p": tested.p_text}


def _finding(
    model: str, tested: PermutationResult, other: PermutationResult, *, stratified: bool, alpha: float
) -> Finding:
    within = tested if stratified else other
    severity: Severity = "info"
    if tested.log10_p <= np.log10(alpha) and tested.difference > 0:
        severity = "high" if tested.difference >= 0.10 else "medium" if tested.difference >= 0.03 else "low"
        title = f"{model} is more accurate if words have their usual label"
    else:
        title = f"No evidence that {model} is more accurate if words have their usual label"
    text = (
        f"{model} has an accuracy of {percent(tested.usual_accuracy)} on {plural(tested.usual, 'test example')} that "
        f"contain a strong word with its usual label, and {percent(tested.unusual_accuracy)} on {tested.unusual:,} "
        f"that contain one with another label: a difference of {points(tested.difference)} points (95 % CI "
        f"{points(tested.low)} to {points(tested.high)}; permutation test p = {tested.p_text}"
    )
    if stratified:
        text += f", stratified by correct answer; {other.p_text} without strata)."
    else:
        text += f"; stratified by correct answer, p = {within.p_text})."
    difference = interval(vars(tested) | {"difference": tested.difference}, "difference")
    return Finding(
        NAME, severity, title, text, **difference, chance=0.0, n=tested.pool, unit="points", key=model
    )
