"""Every blind rule and partial input on every value of every extra column with few values (SPEC section 3)"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Severity, Skip, Summary
from cuecard.audits.partial_input import PartialInput
from cuecard.audits.partial_input.measures import CAVEAT
from cuecard.audits.partial_input.rules import Battery, blind_battery
from cuecard.audits.partial_input.slices import MOST_VALUES, codes_of, names_of, slice_columns
from cuecard.audits.repetition import with_distinct_texts
from cuecard.audits.slices.scoring import SliceScorer, SliceTest, answer_rules
from cuecard.audits.slices.view import slices_view
from cuecard.audits.slices.words import word_findings, words_by_slice
from cuecard.data import LABELLED_TASKS, Instances, Task
from cuecard.data.examples import Examples
from cuecard.data.weights import unequal_weights
from cuecard.stats import log10_p, log_q_values, state_probability
from cuecard.stats.arrays import counted
from cuecard.text import encode
from cuecard.wording import of_responses, percent, plural, points

NAME = "slices"
SIGNIFICANT = MeasureKind("significant", "shortcuts on slices that differ from chance", "count", "higher")
EXCESS = MeasureKind("{shortcut}.excess", "{shortcut} above chance, strongest slice", "points")
WORDS = MeasureKind("words", "words that predict a label on a slice alone", "count", "higher")
KINDS = (SIGNIFICANT, EXCESS, WORDS)


def slice_measures(summary: Summary) -> list[Measure]:
    """Return the number of significant tests, and for each shortcut the excess of its strongest slice."""
    measures = [SIGNIFICANT.of(NAME, summary["significant"], n=summary["tests"])]
    measures += [
        EXCESS.of(
            NAME,
            row["excess"],
            low=row["low"] - row["chance"],
            high=row["high"] - row["chance"],
            chance=0.0,
            n=row["n"],
            shortcut=row["rule"],
        )
        for row in summary["strongest"]
    ]
    return measures if summary["words"] is None else [*measures, WORDS.of(NAME, summary["words"])]


MOST_FINDINGS = 3
RULE_PHRASES = {
    "longest": "choosing the longest answer",
    "shortest": "choosing the shortest answer",
    "rarest_choice": "choosing the rarest answer",
    "commonest_choice": "choosing the most frequent answer",
    "position": "the position of an answer",
    "first_position": "choosing the first answer",
    "last_position": "choosing the last answer",
    "most_formatted": "choosing the answer with the most formatting",
    "most_overlap": "choosing the answer that shares the most words with the prompt",
    "length": "length",
    "metadata": "a model that sees only the other extra columns",
    "hypothesis_only": "the hypothesis-only model",
    "premise_only": "the premise-only model",
    "choices_only": "the choices-only model",
    "premise_least": "the least frequent training label of the premise",
    "premise_most": "the most frequent training label of the premise",
    "hypothesis_least": "the least frequent training label of the text",
    "hypothesis_most": "the most frequent training label of the text",
}
#: Rules that may work for good reasons: what is told in one text is asked of the other.
MAY_WORK = frozenset({"most_overlap"})
_NOUN = {"pair": "pair", "choice": "question", "preference": "preference", "text": "text"}


def slice_findings(summary: Summary, task: Task) -> list[Finding]:
    """Return the strongest slice of each shortcut that works there and differs from the rest, a few at most."""
    shown = [
        row
        for row in summary["strongest"]
        if row["significant"] and row["differs"] and not (row["rule"] in MAY_WORK and row["excess"] > 0)
    ]
    if not shown:
        text = (
            f"{plural(summary['tests'], 'test')} of {plural(len(summary['rules']), 'shortcut')} on the values of "
            f"{plural(len(summary['columns']), 'extra column')} show no slice with an accuracy different from the rest "
            "of the data."
        )
        return [Finding("slices", "info", "No slice differs from the rest of the data", text, key="none")]
    first: dict[tuple[str, str], Finding] = {}
    for row in sorted(
        shown, key=lambda row: bool(row["excess"] < 0)
    ):  # of two opposite rules, the one that works
        where = (row["column"], row["value"])
        finding = _finding(row, task)
        if where in first:  # shortcuts of one slice are one finding, the strongest leads
            first[where] = replace(first[where], parts=(*first[where].parts, finding.title))
        elif len(first) < MOST_FINDINGS:
            first[where] = finding
    return list(first.values())


def _finding(row: Summary, task: Task) -> Finding:
    rule = of_responses(RULE_PHRASES.get(row["rule"], str(row["rule"]).replace("_", " ")), task)
    below = row["excess"] < 0
    where = f"{row['column']} = {row['value']}"
    chance = _baseline(row)
    if row["majority"] is None:
        against = f"chance is {percent(row['chance'])}. The difference from chance is"
    else:  # the test asks whether predictions and labels are independent in the slice
        against = (
            f"the majority baseline there is {percent(row['majority'])}, and the same predictions in random order have "
            f"{percent(row['chance'])}. The difference from random order is"
        )
    text = (
        f"Where {where}, {rule} has an accuracy of {percent(row['accuracy'])} on {plural(row['n'], _NOUN[task])}"
        f"{with_distinct_texts(row['n'], row['texts'], task)} (95 % CI {percent(row['low'])} to "
        f"{percent(row['high'])}); {against} "
        f"{points(row['excess'])} points here and {points(row['rest_excess'])} on the rest of the data "
        f"({state_probability('q', row['q_value'])} over all shortcuts and slices)."
    )
    if below:
        text += " An accuracy below chance also reveals the label."
    title = f"{rule[0].upper()}{rule[1:]} {'misleads' if below else 'works'} where {where}"
    return Finding(
        "slices",
        _severity(row),
        title,
        text,
        row["accuracy"],
        row["low"],
        row["high"],
        chance,
        row["n"],
        key=f"{row['rule']}/{row['column']}={row['value']}",
        coverage=row["share"],
        q_value=row["q_value"],
    )


def _baseline(row: Summary) -> float:
    """Return what an accuracy is compared with: luck; above it, where labels differ in frequency, the majority."""
    luck = float(row["chance"])
    return luck if row["majority"] is None or row["excess"] < 0 else max(luck, float(row["majority"]))


def _severity(row: Summary) -> Severity:
    """Return how much of what chance leaves is surely given away, by the share of examples it concerns."""
    chance = _baseline(row)
    left = chance if row["excess"] < 0 else 1 - chance
    gain = (row["careful"] - (chance - row["chance"])) / max(left, 1e-9) * row["share"]
    return "high" if gain >= 0.15 else "medium" if gain >= 0.04 else "low"


@dataclass(frozen=True)
class Slices:
    """Score every shortcut on every slice that an extra column (genre, annotator, source …) makes.

    The number of hits is tested two-sidedly against what the same guesses get by luck, and the false discovery rate is
    held over all rules and slices. Guesses are those of partial input; where that did not run, they are made again.
    Words of the training set that predict a label on one slice and not on the rest are looked for as well.

    Args:
        learned: whether the learned partial inputs are scored, too; blind rules alone take little longer than reading
            the texts.
        fewest: examples that a slice needs to be scored.
        alpha: a rule works on a slice, or is turned round there, if its q-value is at most this.
        tokens: tokenisation of the learner, where its guesses are made again.
        seed: of the learner and its folds, as above.
        weights: extra column that holds every example's weight.
    """

    name: ClassVar[str] = "slices"
    title: ClassVar[str] = "Slices"
    view = staticmethod(slices_view)
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    caveat: ClassVar[str] = CAVEAT
    any_size: ClassVar[bool] = True

    learned: bool = True
    fewest: int = 20
    alpha: float = 0.05
    tokens: str | None = None
    seed: int = 0
    weights: str | None = None

    def run(self, data: Instances) -> Result:
        """Return one row per rule and slice, and sentences about the slices that differ from the rest."""
        columns = self._columns(Examples(data))
        if not columns:
            raise Skip(f"needs an extra column with 2 to {MOST_VALUES} values, such as genre or annotator")
        battery = self._battery(data)
        same = battery.examples.instances is data and battery.examples.chosen is None
        table = self._table(battery, columns if same else self._columns(battery.examples))
        if not table.height:
            raise Skip(f"needs a value of an extra column with at least {self.fewest} examples")
        significant = table.filter(pl.col("q_value") <= self.alpha)
        words = self._words(data)
        found = words is not None and words.filter(pl.col("q_value") <= self.alpha)["word"].n_unique()
        summary: Summary = {
            "tests": table.height,
            "significant": significant.height,
            "columns": table["column"].unique(maintain_order=True).to_list(),
            "rules": table["rule"].unique(maintain_order=True).to_list(),
            "alpha": self.alpha,
            "strongest": _strongest(table, self.alpha),
            "words": None if words is None else int(found),
        }
        findings, tables = slice_findings(summary, data.task), {"slices": table}
        smallest = float(np.nanmin(table["q_value"].to_numpy()))
        if words is not None:
            tables["slice_words"] = words
            if of_words := word_findings(words, data.task, self.alpha):
                findings = [finding for finding in findings if finding.severity != "info"] + of_words
            smallest = min(
                1.0, 2 * min(smallest, float(words["q_value"].to_numpy().min()))
            )  # of two families of tests
        return Result(summary, tables, findings, None, slice_measures(summary), smallest_q=smallest)

    def _words(self, data: Instances) -> pl.DataFrame | None:
        """Return the words that predict a label on some slice alone; unequal weights are not tested."""
        train = data.train
        if unequal_weights(train, self.weights) is not None:
            return None
        columns = self._columns(Examples(train))
        table = words_by_slice(encode(train, tokens=self.tokens), columns, fewest=self.fewest)
        return table if table.height else None

    def _battery(self, data: Instances) -> Battery:
        if not self.learned and data.grouped:
            data.answer_marks(with_units=True)  # rules need both
        battery = Battery.kept(data, self.weights) if self.learned else blind_battery(data, self.weights)
        if battery is None:
            learner = PartialInput(
                tokens=self.tokens,
                seed=self.seed,
                weights=self.weights,
                cross_fit=False,
                learning_curve=False,
            )
            learner.run(data)
            battery = Battery.kept(data, self.weights)
        assert battery is not None
        rules = answer_rules(battery.examples, battery.scored)
        return replace(battery, guesses={**battery.guesses, **rules})

    def _columns(self, examples: Examples) -> list[pl.Series]:
        return slice_columns(examples, (self.weights, examples.instances.cluster))

    def _table(self, battery: Battery, columns: Sequence[pl.Series]) -> pl.DataFrame:
        scored = battery.scored
        rows = []
        scorer = SliceScorer(battery, self.fewest)
        for column in columns:
            names = names_of(column)
            codes = codes_of(column)[scored]
            sizes = counted(codes + np.int16(1), len(names) + 1)[1:]
            tested = scorer.tests(codes, sizes)
            for i, value in enumerate(names):
                if scorer.is_tested(sizes[i]):
                    for rule, tests in tested.items():
                        test, rest = tests[i]
                        assert test is not None
                        share = sizes[i] / len(scored)
                        row = {"rule": rule, "column": column.name, "value": value, "share": share}
                        rows.append(row | _tested(test, rest))
        if not rows:
            return pl.DataFrame(schema={"rule": pl.String})
        table = pl.DataFrame(rows)
        log_q = log_q_values(table["log10_p"].to_numpy() * math.log(10))
        return table.with_columns(p_value=10.0 ** pl.col("log10_p"), q_value=pl.Series(np.exp(log_q))).sort(
            "q_value", "log10_p", maintain_order=True
        )


def _tested(test: SliceTest, rest: float) -> Summary:
    """Return the columns of one rule on one slice; `rest` is the rule's excess on all other examples."""
    return {
        "n": test.n,
        "texts": test.units,
        "accuracy": test.accuracy,
        "low": test.low,
        "high": test.high,
        "chance": test.luck,
        "majority": test.majority,
        "excess": test.excess,
        "rest_excess": rest,
        "log10_p": float(log10_p(test.log_p)),
    }


def _strongest(table: pl.DataFrame, alpha: float) -> list[Summary]:
    """Return for every rule the slice where it is farthest from luck, at the careful end of its interval."""
    careful = (
        pl.when(pl.col("excess") >= 0)
        .then(pl.col("low") - pl.col("chance"))
        .otherwise(pl.col("chance") - pl.col("high"))
    )
    differs = (
        pl.when(pl.col("excess") >= 0)
        .then(pl.col("low") - pl.col("chance") > pl.col("rest_excess"))
        .otherwise(pl.col("high") - pl.col("chance") < pl.col("rest_excess"))
    )
    ranked = table.with_columns(
        careful=careful, differs=differs, significant=pl.col("q_value") <= alpha
    ).sort("significant", "careful", descending=True, maintain_order=True)
    best: list[Summary] = ranked.unique("rule", keep="first", maintain_order=True).to_dicts()
    return best
