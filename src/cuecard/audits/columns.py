"""What beside the texts gives the answer away? Extra columns, ids, the order of rows, and copied answers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Role, Severity, Skip, Summary, severity_of
from cuecard.audits.column_cells import (
    Cells,
    Kind,
    Learner,
    Rule,
    cells_of_column,
    cells_of_rows,
    numbers_of,
    shown,
)
from cuecard.audits.partial_input.guesses import guess_rows
from cuecard.audits.partial_input.judging import against_chance, interval
from cuecard.audits.scores import score_column
from cuecard.data import COLUMNS, LABELLED_TASKS, Instances, Task
from cuecard.data.examples import Examples
from cuecard.data.layout.responses import FILE_POSITION
from cuecard.data.weights import unequal_weights
from cuecard.stats import state_probability
from cuecard.stats.arrays import Floats
from cuecard.stats.multiple_testing import holm
from cuecard.view import Column, Table, View, interval_columns
from cuecard.wording import listed, percent, plural

NAME = "columns"
# A model that reads the texts cannot use a column: these do not lead a card or the board.
ALONE = MeasureKind("column.{column}.accuracy", "accuracy of the column {column} alone", "share")
TOGETHER = MeasureKind("together.accuracy", "accuracy of all extra columns together", "share")
COPIED = MeasureKind(
    "copied.accuracy", "accuracy of the choice with most words of its question", "share", "higher"
)
UNSEEN = MeasureKind("unseen.{column}.accuracy", "accuracy of {column}, which no model sees", "share")
KINDS = (ALONE, TOGETHER, COPIED, UNSEEN)

FEWEST_EXAMPLES = 50
NAMED = 4
#: What people call columns that hold judgements, or what the label was made of.
_ANNOTATION = re.compile(
    r"vote|annot|label|gold|answer|rating|score|template|majority|agree|target|class", re.I
)


def _answer_rules(examples: Examples, columns: list[pl.Series]) -> Iterator[Rule]:
    """Yield rules that take one of several answers: the most copied one, or the highest or lowest by a column."""
    data = examples.instances
    margins: list[tuple[str, Kind, Floats, str]] = []
    if data.task == "choice" and not data.fixed_options:
        shared = data.answer_marks().shared
        if len(shared):
            margins.append(("copied", "copied", shared.astype(np.float64), ""))
    for column in columns:
        numbers = numbers_of(column)
        if numbers is not None and column.dtype != pl.Boolean:
            kind: Kind = "annotation" if _ANNOTATION.search(column.name) else "column"
            for sign, word in ((1.0, "highest"), (-1.0, "lowest")):
                values = np.where(np.isnan(numbers), -np.inf, sign * numbers)
                margins.append((column.name, kind, values, f"the answer with the {word} value"))
    units = examples.units("choices")
    for name, kind, values, says in margins:
        if not np.isfinite(values).any():
            continue
        guesses = guess_rows(values, examples.gold, examples.sizes).weighted(examples.weights).in_units(units)
        accuracy, chance = guesses.mean(guesses.score), guesses.mean(1 / examples.sizes)
        low, high = interval(guesses.score, guesses.weight, unit=guesses.unit)
        p = float(np.exp(against_chance(guesses, examples.gold, grouped=True).log_above))
        yield Rule(
            name,
            kind,
            len(examples),
            accuracy,
            low,
            high,
            chance,
            p,
            says,
            kind != "copied" and accuracy == 1,
        )


def _score(rule: Rule) -> str:
    return (
        f"accuracy {percent(rule.accuracy)} on {plural(rule.n, 'example')} (95 % CI {percent(rule.low)} to "
        f"{percent(rule.high)}; chance {percent(rule.chance)}; {state_probability('p', rule.p_value)}, "
        "corrected for all rules of this section)"
    )


def _severity(rule: Rule) -> Severity:
    """Return how much a rule gives away, at most medium: models rarely read columns; and low where they never do."""
    if rule.kind in ("id", "order", "annotation"):
        return "low"
    return "medium" if severity_of(rule.gain) == "high" else severity_of(rule.gain)


_MEANING = {
    "column": "A model that is given the texts alone cannot use this column; one that is also given the column can.",
    "annotation": "By its name or values it is a part of the annotation, not a leak, as long as no model is given it.",
    "id": "No model should see it: it is a flaw of the collection, and a leak only where the id is part of the input.",
    "order": "A model does not see the order of the file: it is a flaw, which can distort scores on the first rows, "
    "folds of neighbouring rows and training without shuffling.",
    "copied": "This may be the task or a shortcut: counting shared words is enough for this accuracy.",
}
_DECIDES = (
    "It decides the label completely: where it is a vote, a score or the id of a template, it is annotation, "
    "not a leak; otherwise, leave it out of what a model is given."
)


def _finding(rules: list[Rule], together: Rule | None) -> Finding:
    """Return what the rules of one kind say, the strongest first."""
    best = rules[0]
    verb = "predicts" if best.predicts else "is associated with"
    if best.kind == "copied":
        title = "The right answer has the most words of the question"
        text = f"The choice that shares most words with its question or context: {_score(best)}, ties shared."
    elif best.kind == "order":
        title = f"The order of rows {verb} the label"
        text = f"The label follows the {best.column} of the training set: {_score(best)}; {best.says}."
    else:
        what = {"id": "The id or file name", "annotation": "The annotation"}.get(
            best.kind, "The extra column"
        )
        title = f"{what} {shown(best.column)} {'decides' if best.complete else verb} the label"
        text = f"{what} {shown(best.column)} alone: {_score(best)}; {best.says}."
    if not best.predicts:
        text += " The association is significant; that the accuracy exceeds chance is not."
    others = [f"{shown(rule.column)} ({percent(rule.accuracy)}; {rule.says})" for rule in rules[1:NAMED]]
    if others:
        text += f" Also {listed(others)}."
    if together is not None:
        text += f" All extra columns together have an accuracy of {percent(together.accuracy)}."
    text += f" {_DECIDES if best.kind == 'column' and best.complete else _MEANING[best.kind]}"
    role: Role = "flaw" if _severity(best) == "low" and best.kind != "copied" else "cue"
    key = "decides" if best.complete else best.kind
    finding = Finding(NAME, _severity(best), title, text, n=best.n, key=key, role=role, q_value=best.p_value)
    if not best.predicts:  # an accuracy beside its chance would contradict the title
        return finding
    return replace(finding, value=best.accuracy, low=best.low, high=best.high, chance=best.chance)


def columns_findings(rules: list[Rule], together: Rule | None) -> list[Finding]:
    """Return a finding for every kind of thing that predicts the label; columns that decide it have their own."""
    groups: dict[tuple[Kind, bool], dict[str, Rule]] = {}
    for rule in sorted(rules, key=lambda rule: (-rule.gain, rule.p_value)):
        if rule.found:
            groups.setdefault((rule.kind, rule.complete), {}).setdefault(rule.column, rule)
    findings = [
        _finding(list(group.values()), together if kind == "column" else None)
        for (kind, _), group in groups.items()
    ]
    strongest = next((i for i, (kind, _) in enumerate(groups) if kind == "column"), None)
    if strongest is not None:  # it says what partial input says of all extra columns
        findings[strongest] = replace(findings[strongest], words=("metadata:",))
    return findings


def columns_measures(rules: list[Rule], together: Rule | None) -> list[Measure]:
    """Return the accuracy of the best rule of every column."""
    best = {rule.column: rule for rule in sorted(rules, key=lambda rule: rule.accuracy)}
    measures = []
    for rule in [best[name] for name in dict.fromkeys(rule.column for rule in rules)]:
        kind = {"column": ALONE, "copied": COPIED}.get(rule.kind, UNSEEN)
        measures.append(_measure(kind, rule, column=rule.column))
    return measures if together is None else [*measures, _measure(TOGETHER, together)]


def _measure(kind: MeasureKind, rule: Rule, **slots: str) -> Measure:
    return kind.of(NAME, rule.accuracy, low=rule.low, high=rule.high, chance=rule.chance, n=rule.n, **slots)


VIEW = View(
    lead=[
        "How well one rule at a time predicts the answer from what is beside the texts. Rules over labels learn from "
        "the other four of five folds."
    ],
    tables=[
        Table(
            title="Columns, ids and order",
            source="columns",
            columns={
                "column": Column("Column"),
                "kind": Column("Kind"),
                "accuracy": Column("Accuracy", "percent"),
                **interval_columns(),
                "chance": Column("Chance", "percent"),
                "n": Column("Examples", "count"),
                "p_value": Column("p", "probability", "corrected by Holm's method"),
                "says": Column("Strongest at", brief=False),
            },
        )
    ],
)


@dataclass(frozen=True)
class Columns:
    """Predict the label from extra columns, ids, the order of rows, and words that a choice shares with its question.

    Args:
        seed: of the folds.
        weights: extra column that holds every example's weight.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Columns, ids and order"
    tasks: ClassVar[frozenset[Task]] = frozenset(LABELLED_TASKS)
    measures: ClassVar[tuple[MeasureKind, ...]] = KINDS
    view: ClassVar[View] = VIEW
    parallel: ClassVar[bool] = True
    caveat: ClassVar[str] = (
        "A model cannot use columns, ids or the order of rows that it is not given: say what yours is given."
    )

    seed: int = 0
    weights: str | None = None

    def run(self, data: Instances) -> Result:
        """Return how well every column, the ids and the order of rows predict the label, cross-fitted."""
        weights = unequal_weights(data, self.weights)
        if weights is not None:
            data = data.rows(weights > 0)
            weights = weights[weights > 0]
        examples = Examples.of_rows(data, weights)
        if len(examples) < FEWEST_EXAMPLES:
            raise Skip(f"needs at least {FEWEST_EXAMPLES} examples, found {len(examples)}")
        shared, differing = self._extra(examples)
        rules = list(_answer_rules(examples, differing)) if examples.grouped else []
        together: Rule | None = None
        if data.task != "preference" and len(np.unique(examples.gold)) > 1:
            of_labels, together = self._label_rules(examples, shared)
            rules += of_labels
        if not rules:
            raise Skip("found no extra column, id or order that could predict the answer")
        corrected = holm([rule.p_value for rule in rules])
        rules = [replace(rule, p_value=float(p)) for rule, p in zip(rules, corrected, strict=True)]
        rows = [{name: getattr(rule, name) for name in _ROW_OF_TABLE} for rule in rules]
        summary: Summary = {"n": len(examples), "rules": rows}
        table = pl.DataFrame(rows).sort("accuracy", descending=True)
        return Result(
            summary,
            {"columns": table},
            columns_findings(rules, together),
            measures=columns_measures(rules, together),
            smallest_q=float(corrected.min()),
        )

    def _extra(self, examples: Examples) -> tuple[list[pl.Series], list[pl.Series]]:
        """Return the extra columns with one value per example, and by rows those in which answers differ."""
        data, starts = examples.instances, examples.first_rows[:-1]
        shared: list[pl.Series] = []
        differing: list[pl.Series] = []
        for column in data.table.select(
            pl.exclude(*COLUMNS, FILE_POSITION, score_column(data) or FILE_POSITION)
        ):
            if column.name in (self.weights, data.weight, data.cluster) or column.dtype.is_nested():
                continue
            if isinstance(column.dtype, pl.Enum | pl.Categorical):
                column = column.cast(pl.String)
            values = column.gather(starts)
            same = not examples.grouped or values.gather(data.example_codes).eq_missing(column).all()
            (shared if same else differing).append(values if same else column)
        return shared, differing

    def _label_rules(self, examples: Examples, columns: list[pl.Series]) -> tuple[list[Rule], Rule | None]:
        """Return the rules of columns, ids and order, and that of several extra columns together."""
        learner = Learner.of(examples, self.seed)
        rules, logs = [], []
        for column in columns:
            kind: Kind = "annotation" if _is_annotation(column, examples) else "column"
            for cells in cells_of_column(column, kind):
                probabilities = learner.probabilities(cells.codes, ordered=cells.numbers is not None)
                rules.append(learner.rule(cells, probabilities))
                if rules[-1].kind == "column":
                    logs.append(np.log(probabilities))
        together = None
        if len({rule.column for rule in rules if rule.kind == "column"}) > 1:
            prior = np.log(learner.probabilities(np.zeros(len(examples), dtype=np.int64)))
            sums = np.exp(np.clip(sum(logs) - (len(logs) - 1) * prior, -500, 500))
            nothing = Cells("together", "annotation", np.zeros(len(examples), dtype=np.int64), examples.ids)
            together = learner.rule(nothing, sums / sums.sum(axis=1, keepdims=True))
        train = examples.of_split(examples.instances.splits[0])
        if len(train) >= FEWEST_EXAMPLES:
            first = examples.take(train)
            learner = Learner.of(first, self.seed)
            by_rows = cells_of_rows(first, first.gold, learner.units)
            rules += [
                learner.rule(cells, learner.probabilities(cells.codes, ordered=cells.numbers is not None))
                for cells in by_rows
            ]
        return rules, together


_ROW_OF_TABLE = ("column", "kind", "accuracy", "low", "high", "chance", "n", "p_value", "says", "complete")


def _is_annotation(column: pl.Series, examples: Examples) -> bool:
    """Return whether a column is called after judgements, or its values are the labels."""
    labels = {label.lower() for label in examples.labels}
    return bool(_ANNOTATION.search(column.name)) or (
        column.dtype == pl.String and set(column.unique().drop_nulls().str.to_lowercase()) <= labels
    )
