"""Weights under which no chosen feature tells the label (Stubborn section 5, by entropy balancing)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import polars as pl

from cuecard.analysis import About, MeasureKind, Result, Row
from cuecard.audits import Cues
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.errors import InputError, UsageError
from cuecard.features import Family, Regexes, family_named
from cuecard.remedies.balance_problem import (
    Balanced,
    BalanceProblem,
    Candidates,
    balance_problem,
    candidates,
    check_enough,
    random_ngrams,
    strongest_words,
)
from cuecard.remedies.balance_results import (
    CROSS_VALIDATED,
    EXACT,
    KINDS,
    balance_table,
    held_out,
    held_out_finding,
    held_out_summary,
    held_out_table,
    lexical_findings,
    lexical_measures,
    lexical_summary,
    unbalanced_table,
)
from cuecard.remedies.reaudits import DRAWS, audits_before_and_after, chosen_audits, reaudit
from cuecard.remedies.views import lexical_weights_view
from cuecard.stats.arrays import Floats
from cuecard.stats.entropy_balancing import (
    BalancedWeights,
    HeldOut,
    SoftmaxWeights,
    entropy_balance,
    softmax_weights,
)
from cuecard.text import Encoded, Scope, encode, language_of, suggested_tokeniser
from cuecard.text.annotate import Backend

#: The audit that lexical weights can follow.
FOLLOWED = "cues"


def options_like_cues(chosen: Row) -> Row:
    """Return options under which the weights balance what a cue audit with these parameters finds significant."""
    families = chosen.get("features")
    options = {
        "features": ("significant",),
        "among": tuple(families) if families else None,
        "regex": tuple((str(name), str(pattern)) for name, pattern in chosen.get("regex") or ()) or None,
        **{name: chosen.get(name) for name in ("tokens", "scope", "language", "annotator", "min_count")},
    }
    return {name: value for name, value in options.items() if value is not None}


#: Families of `ngrams`: the first N of them jointly.
NGRAM_FAMILIES = ("word", "bigram", "trigram", "4-gram")
#: What to name as a family to balance everything the cue audit finds significant.
SIGNIFICANT = "significant"
MIN_COUNT = 100
AUDIT_MIN_COUNT = 5
#: With fewer training examples than this, `MIN_COUNT` are more than 1 % of them, so that most cues are rarer: then the
#: significant ones are balanced as well.
FEW_EXAMPLES = 10_000
#: Fewer examples than this have no two halves of which one can judge the other.
FEWEST_TO_HALVE = 4
#: Ridges that show what softer constraints would buy.
TRADE_OFF = (1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0, 10.0)


@dataclass(frozen=True)
class LexicalWeights:
    """Reweight examples so that label shares are the same with every feature, as close to equal weights as possible.

    Args:
        features: feature families to balance ("significant": all that the cue audit finds); words by default.
        among: families in which "significant" features are looked for; all that the cue audit looks at by default.
        ngrams: balance words and all longer n-grams up to this many words, besides `features`.
        regex: features of the user's own, as (name, regular expression).
        tokens: tokenisation; "stubborn", or what suits a language without spaces.
        scope: where a feature is looked for; premise and hypothesis together, or the choices of a grouped task.
        min_count: features of fewer train instances are left alone; 100, for "significant" the audit's 5. By default,
            rarer features that the cue audit finds significant are also balanced where there are fewer than 10,000
            examples.
        target: label shares to reach with every feature: all the same, or those of the whole train split.
        reference: label shares from which distances are measured: the target, or those of the whole train split, as
            in the paper's Table 3 and Figure 2.
        solver: "entropy" (closest to equal weights) or "softmax" (the paper's own objective).
        ridge: "cv" takes the ridge whose weights balance held-out examples best, which is the default unless none does
            better than equal weights; "exact" or 0 meets all constraints; above zero, constraints are soft: higher
            gives more equal weights and less balance.
        max_weight: no example weighs more than this many times the mean.
        min_ess: soften constraints until the effective sample size is this share of the examples.
        balance_labels: also bring the labels' shares over all examples to the target; features alone leave the
            examples that have none of them free.
        held_out: measure the balance of examples that the weights were not made from, by halves.
        trade_off: further ridges to solve for, to show what softer constraints would buy.
        reaudit: audits to repeat under the weights, or "all"; the cue audit on the features' own tokens and scope.
        shuffles: times to shuffle labels and make the weights from them, so that repeated audits are compared with what
            weights of this kind lead to by themselves; 0 compares with chance.
    """

    name: ClassVar[str] = "lexical_weights"
    title: ClassVar[str] = "Lexical weights"
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    view = staticmethod(lexical_weights_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    about: ClassVar[About] = "weights"
    follows: ClassVar[str] = FOLLOWED
    options_like = staticmethod(options_like_cues)

    features: tuple[str, ...] | None = None
    among: tuple[str, ...] | None = None
    ngrams: int | None = None
    regex: tuple[tuple[str, str], ...] = ()
    tokens: str | None = None
    scope: Scope | None = None
    language: str | None = None
    annotator: Backend = "auto"
    min_count: int | None = None
    target: Literal["uniform", "overall"] = "uniform"
    reference: Literal["target", "overall"] = "target"
    solver: Literal["entropy", "softmax"] = "entropy"
    ridge: float | Literal["cv", "exact"] | None = None
    max_weight: float | None = None
    min_ess: float | None = None
    balance_labels: bool = False
    held_out: bool = True
    trade_off: tuple[float, ...] = ()
    reaudit: tuple[str, ...] = ("cues",)
    shuffles: int = DRAWS
    seed: int = 0

    def __post_init__(self) -> None:
        """Check names and numbers at once, so that a typo costs no time."""
        self.families()
        chosen_audits(self.reaudit)
        if self.ngrams is not None and not 1 <= self.ngrams <= len(NGRAM_FAMILIES):
            raise UsageError(f"ngrams must be a number from 1 to {len(NGRAM_FAMILIES)}, not {self.ngrams}.")
        if self.min_count is not None and self.min_count < 1:
            raise UsageError(f"min_count must be at least 1, not {self.min_count}.")
        if isinstance(self.ridge, str) and self.ridge not in (CROSS_VALIDATED, EXACT):
            raise UsageError(f"ridge must be a number, {CROSS_VALIDATED!r} or {EXACT!r}, not {self.ridge!r}.")
        if not isinstance(self.ridge, str | None) and not self.ridge >= 0:
            raise UsageError(f"ridge must not be negative, but is {self.ridge:g}.")
        if self.shuffles != 0 and self.shuffles < 2:
            raise UsageError(f"shuffles must be 0 or at least 2, not {self.shuffles}.")
        if self.max_weight is not None and not self.max_weight > 1:
            raise UsageError(f"max_weight must be above 1 (the mean weight), not {self.max_weight:g}.")
        if self.min_ess is not None and not 0 < self.min_ess < 1:
            raise UsageError(f"min_ess must be a share between 0 and 1, not {self.min_ess:g}.")
        if self.solver == "softmax" and (
            self.ridge not in (None, EXACT, 0) or self.max_weight or self.min_ess or self.balance_labels
        ):
            raise UsageError(
                "The solver 'softmax' does not support ridge, max_weight, min_ess or balance_labels: use 'entropy'."
            )

    def families(self) -> list[Family]:
        """Return the families to balance; of "significant", those that the cue audit looks at."""
        names = list(NGRAM_FAMILIES[: self.ngrams or 0])
        chosen = self.features or (() if self.ngrams or self.regex else ("word",))
        names += [name for name in chosen if name not in names and name != SIGNIFICANT]
        own: list[Family] = [Regexes(self.regex)] if self.regex else []
        return [*(family_named(name) for name in names), *own]

    def run(self, data: Instances) -> Result:
        """Return the weights of the training examples with everything needed to judge them."""
        train = data.train
        return self.result(self.balance(train), train)

    def result(self, balanced: Balanced, train: Instances) -> Result:
        """Return the weights of training examples with everything needed to judge them."""
        judged_on, weights = balanced.encoded.instances, balanced.weights_of_encoded
        names = chosen_audits(self.reaudit)
        solution = balanced.solution
        same_ridge = replace(self, ridge=solution.ridge) if isinstance(solution, BalancedWeights) else self
        again = reaudit(balanced.encoded, weights, self.families(), self.regex) if "cues" in names else None
        others = audits_before_and_after(
            judged_on,
            weights,
            [name for name in names if name != "cues"],
            remake=lambda shuffled: same_ridge.balance(shuffled).weights,
            shuffles=self.shuffles,
            seed=self.seed,
        )
        strongest = strongest_words(balanced.encoded)
        reference = balanced.target if self.reference == "target" else overall_shares(train)
        summary = lexical_summary(balanced, strongest, again, reference, self.seed)
        summary["reference"] = self.reference
        summary["min_count"] = self._smallest_count()
        tables = {
            "balance": balance_table(balanced.problem, balanced.weights, reference),
            "strongest_words": balance_table(strongest, weights, reference),
            "unbalanced": unbalanced_table(balanced),
        }
        if self.trade_off and self.solver == "entropy":
            tables["trade_off"] = self._trade_off(balanced)
        if again is not None:
            tables["reweighted_cues"] = again.table
        if others.table.height:
            tables["reaudit"] = others.table
        summary["not_reaudited"] = others.skipped
        reasons = tables["unbalanced"].filter(pl.col("reason") != "absent label")["reason"]
        summary["off_target"] = dict(reasons.value_counts().sort("reason").iter_rows())
        findings = [*lexical_findings(summary), *others.findings(self.name)]
        # Weights of half of a sample say little about those of all examples.
        measured = self.held_out and (balanced.sample is None or balanced.held_out is not None)
        if (
            measured
            and isinstance(balanced.solution, BalancedWeights)
            and len(balanced.weights) >= FEWEST_TO_HALVE
        ):
            ridge = balanced.solution.ridge
            judged = balanced.held_out or self._judged_ridges(balanced.problem, ridge)
            tables["held_out"] = held_out_table(judged)
            summary["held_out"] = held_out_summary(judged, ridge)
            findings.insert(1, held_out_finding(summary["held_out"], chosen=balanced.held_out is not None))
        return Result(
            summary, tables, findings, example_weights(train, balanced.weights), lexical_measures(summary)
        )

    def balance(self, train: Instances) -> Balanced:
        """Return the weights of the examples of a train split."""
        _check_labels(train)
        if train.grouped and self.solver == "softmax":
            raise UsageError(f"The solver 'softmax' does not support {train.task} data: use 'entropy'.")
        encoded = self.encode(train)
        features, skipped = self._candidates(encoded)
        problem = balance_problem(features, train)
        check_enough(problem, min(part.min_count for part in features))
        rows = train.shown_rows
        sample = None if rows is None else np.unique(train.example_codes[rows])
        if sample is not None and len(sample) == train.n_examples:
            sample = None
        judged, ridge = None, 0.0
        if self._cross_validated(problem):
            judged = self._judged_ridges(problem if sample is None else problem.some(sample), None)
            # A ridge is a prior on the multipliers, so its size goes with 1 / rows.
            ridge = judged.best * (1.0 if sample is None else len(sample) / train.n_examples)
            if self.ridge is None and judged.err.min() >= judged.unweighted:
                judged, ridge = None, 0.0  # no ridge helps other examples: balance these
        elif isinstance(self.ridge, int | float):
            ridge = float(self.ridge)
        solution = self._solve(problem, ridge, self.min_ess)
        weights = problem.example_weights(solution.weights)
        target = (
            solution.target
            if isinstance(solution, BalancedWeights)
            else np.full(len(train.labels), 1 / len(train.labels))
            if self.target == "uniform"
            else overall_shares(train)
        )
        encoded = encoded if sample is None else self.encode(train.sample())
        return Balanced(weights, target, problem, solution, encoded, skipped, judged, sample)

    def _cross_validated(self, problem: BalanceProblem) -> bool:
        """Return whether the ridge is chosen by held-out examples: by default wherever there are enough to halve."""
        if self.ridge is None:
            return self.solver == "entropy" and len(problem.labels) >= FEWEST_TO_HALVE
        return self.ridge == CROSS_VALIDATED

    def _judged_ridges(self, problem: BalanceProblem, ridge: float | None) -> HeldOut:
        try:
            return held_out(
                problem, target=self.target, ridge=ridge, max_weight=self.max_weight, seed=self.seed
            )
        except ValueError as error:
            raise UsageError(str(error)) from None

    def encode(self, train: Instances) -> Encoded:
        """Return the integer tokens of a train split, by the paper's rule where it suits the language."""
        language = self.language or language_of(train)
        suited = suggested_tokeniser(language)
        return encode(
            train,
            tokens=self.tokens or ("stubborn" if suited == "default" else suited),
            scope=self.scope or ("hypothesis" if train.grouped else "both"),
            language=language,
            annotator=self.annotator,
        )

    def _smallest_count(self) -> int:
        """Return the number of instances from which a feature is balanced, by default by what is balanced."""
        only_significant = SIGNIFICANT in (self.features or ()) and not self.families()
        return self.min_count or (AUDIT_MIN_COUNT if only_significant else MIN_COUNT)

    def _candidates(self, encoded: Encoded) -> tuple[list[Candidates], dict[str, str]]:
        families = self.families()
        significant = SIGNIFICANT in (self.features or ())
        follows = self.min_count is None and encoded.instances.n_examples < FEW_EXAMPLES and not significant
        fewest = AUDIT_MIN_COUNT if follows else self.min_count or MIN_COUNT
        features, skipped = candidates(families, encoded, fewest) if families else ([], {})
        if follows:
            named = tuple(family for family in families if not isinstance(family, Regexes))
            cues = _significant(self._audit(encoded, named or None), encoded)
            return [_only(part, cues, or_from=MIN_COUNT) for part in features], skipped
        if significant:
            audit = self._audit(encoded, self.among)
            already = {family.name for family in families}
            others = [family for family in audit.families() if family.name not in already]
            extra, _ = candidates(others, encoded, audit.min_count)  # the user asked for none of them by name
            cues = _significant(audit, encoded)
            features += [_only(part, cues) for part in extra]
        return features, skipped

    def _audit(self, encoded: Encoded, families: tuple[str | Family, ...] | None) -> Cues:
        """Return the cue audit of some families, on the same tokens and scope."""
        return Cues(
            features=families,
            regex=self.regex,
            tokens=encoded.tokeniser,
            scope=encoded.scope,
            language=encoded.language,
            annotator=self.annotator,
            min_count=self.min_count or AUDIT_MIN_COUNT,
        )

    def _solve(
        self, problem: BalanceProblem, ridge: float, min_ess: float | None
    ) -> BalancedWeights | SoftmaxWeights:
        try:
            if self.solver == "softmax":
                return softmax_weights(problem.matrix_in_memory, problem.labels, target=self.target)
            grouped = problem.groups is not None
            return entropy_balance(
                problem.matrix,
                problem.labels,
                target="uniform" if grouped else self.target,
                ridge=ridge,
                max_weight=self.max_weight,
                min_ess=min_ess,
                groups=problem.groups,
                balance_labels=self.balance_labels and not grouped,
                label_names=problem.label_names,
            )
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _trade_off(self, balanced: Balanced) -> pl.DataFrame:
        bigrams = random_ngrams(balanced.encoded, 2, balanced.problem.features["feature"], self.seed)
        solution = balanced.solution
        assert isinstance(solution, BalancedWeights)  # the other solver has no ridge
        solved = {ridge: self._solve(balanced.problem, ridge, None) for ridge in self.trade_off}
        rows = []
        for ridge, outcome in sorted((solved | {solution.ridge: solution}).items()):
            weights = balanced.problem.example_weights(outcome.weights)
            held_out = bigrams.err(
                weights if balanced.sample is None else weights[balanced.sample], balanced.target
            )
            rows.append((ridge, outcome.err_after, held_out, outcome.ess, float(weights.max())))
        columns = ["ridge", "err", "err_bigrams", "ess", "max_weight"]
        return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Float64), orient="row")


def _significant(audit: Cues, encoded: Encoded) -> pl.DataFrame:
    return audit.run(encoded.instances).tables["cues"].filter("significant")


def _only(part: Candidates, cues: pl.DataFrame, or_from: int | None = None) -> Candidates:
    """Return those features of a family that are among some cues, or that many instances have."""
    return replace(part, only=cues.filter(pl.col("family") == part.family)["feature"], or_from=or_from)


def example_weights(train: Instances, weights: Floats) -> pl.DataFrame:
    """Return the weight of every train example under its id."""
    first = np.flatnonzero(np.diff(train.example_codes, prepend=-1))
    return train.table[first].select(
        "example_id", pl.col("split").cast(pl.String), weight=pl.Series(weights, dtype=pl.Float64)
    )


def overall_shares(train: Instances) -> Floats:
    """Return the share of every label in the whole train split."""
    shares: Floats = np.bincount(train.label_codes, minlength=len(train.labels)) / len(train)
    return shares


def _check_labels(train: Instances) -> None:
    present = np.bincount(train.label_codes, minlength=len(train.labels))
    if len(train.labels) < 2 or np.any(present == 0):
        missing = [name for name, n in zip(train.labels, present, strict=True) if n == 0]
        problem = f"no train row has the label {missing[0]!r}" if missing else "there is only one label"
        raise InputError(
            f"{train.name}: {problem}, so no weights can balance the labels; choose another label column with "
            "--columns label=NAME, or give rows of every label."
        )
