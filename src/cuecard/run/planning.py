"""Plan which examples to change so that a measure meets its limit: predicted, and verified by an audit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cuecard.analysis import Measure, Result, Skip
from cuecard.audits import Cues, PartialInput
from cuecard.audits.partial_input.audit import primary_input
from cuecard.card.card import Card
from cuecard.card.judging import Ruling, judge_card
from cuecard.card.policy import Allowance, Limit, Policy, Rule
from cuecard.card.policy_files import read_policy
from cuecard.data import Instances, Source
from cuecard.data.examples import Floats, Ints
from cuecard.errors import UsageError
from cuecard.remedies.plan.edits import (
    balanced_positions,
    conflicting_examples,
    counterexamples,
    evenly_over,
    needed_counterexamples,
    re_paired,
    repeated_examples,
)
from cuecard.remedies.plan.removal import CueEvidence, Method, cue_evidence, predicted_value, removal_order
from cuecard.remedies.plan.unseen import Left, Part, Unseen, of_examples, one_split, outer_parts
from cuecard.remedies.plan.worksheet import Change, simulated, worksheet_rows, write_worksheet
from cuecard.run.applying import Goal, Kind, Plan, satisfied, violation
from cuecard.run.auditing import audit
from cuecard.run.finishing import check_labels
from cuecard.run.running import Data, ProgressOption, ensure_loaded

#: A plan never proposes more than this share of the examples.
MOST = 0.9
#: The search for the fewest changes ends when it is known to this share of them.
TOLERANCE = 0.02
#: The search begins with this many equal steps.
STEPS = 6
#: Cues of which the plan says how many counterexamples they need.
CUES_SHOWN = 10
#: Inputs that a new premise or question leaves as they are: a text with its new label is then known beforehand.
_TEXT_ALONE = ("hypothesis_only", "choices_only", "length", "longest", "shortest")
_ADVICE = {
    "drop": "drop, or rewrite so that the shortcut fails",
    "rewrite": "rewrite so that the shortcut fails",
    "re-pair": "check that no new choice is right",
    "permute": "move the right answer to this position",
}


def plan(
    data: Data,
    goal: str | Sequence[str] | Policy | Path,
    *,
    test: Source | None = None,
    budget: int | None = None,
    method: Method | None = None,
    change: Kind = "drop",
    exact: int | None = None,
    change_test: bool = False,
    seed: int = 0,
    progress: ProgressOption = None,
    **options: Any,
) -> Plan:
    """Return the fewest examples to change so that measures meet their limits, as far as a search by audits finds them.

    Examples that contradict a strong cue are never proposed: they are what breaks the shortcut. What is left for a
    fresh learner is verified on examples that the plan never saw: the test split, which stays as it is, or outer folds,
    in which the plan is made again without the examples that it is scored on. An audit of examples that a plan
    selected overstates its effect. For `rewrite`, the plan says which label the same text should get: where the goals
    are about this text alone, that is all that has to be known to verify it; otherwise the examples are left out.

    Args:
        data: what `cuecard.load` returned, or what it takes, such as ``"train.csv"``; or a function that returns the
            dataset.
        goal: limits such as ``"partial_input.hypothesis_only.excess <= 0.05"``, or a policy or its file, whose violated
            rules are the goals.
        test: the test split, where `data` is a file or a table.
        budget: the largest number of examples to change.
        method: "weights" (convex weights, rounded), "z-filter", "aflite" or "random"; by default z-filter for
            goals about cues, aflite otherwise.
        change: "drop", "rewrite", "re-pair" (new wrong choices) or "permute" (new positions of right answers).
        exact: change exactly this number of examples instead of searching for the fewest, to compare methods.
        change_test: also change examples of the other splits, not only training examples.
        seed: of what is drawn.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        options: parameters of the audits.
    """
    rules = _rules(goal)
    data = ensure_loaded(data, test)
    check_labels(data)
    _check(data, budget, change)
    only = None if rules.sections is None else list(dict.fromkeys([*rules.sections, Cues.name]))
    card = audit(data, only=only, seed=seed, progress=progress, **options)
    unmet = _unmet(card, rules)
    of_cues = all(ruling.measure.section == Cues.name for ruling in unmet)
    by = method or ("z-filter" if of_cues else "aflite")
    known = change == "rewrite" and data.task != "text" and all(map(_of_text_alone, unmet))
    ordered = _Order(_cue_audit(card), by, not of_cues, change, seed, counter=known)
    mask = np.ones(len(data), dtype=np.bool_) if change_test else data.in_splits("train")
    pool, numbers = data.rows(mask), np.unique(data.example_codes[mask])
    evidence = (
        cue_evidence(data, ordered.cues, card.tables["cues"]) if pool is data else ordered.evidence(pool)
    )
    search = _Search(data, pool, numbers, card, evidence, unmet, ordered, progress, options, rules.allow)
    chosen = search.fewest(budget, exact) if unmet else []
    made = search.plan(chosen)
    judged = judge_card(card, rules).rulings
    own = {ruling.measure.name for ruling in unmet}
    undecided = [r.measure.name for r in judged if r.verdict == "undecided" and r.measure.name not in own]
    if chosen and made.data is not None and len(judged) > len(unmet):
        after = audit(made.data, only=only, seed=seed, progress=progress, **options)
        made = replace(made, goals=(*made.goals, *_broken(judged, unmet, judge_card(after, rules).rulings)))
    return replace(made, budget=budget, undecided=tuple(undecided))


def plan_file(data: Data, out: Path, goal: str | Sequence[str] | Policy | Path, **options: Any) -> Plan:
    """Write the worksheet of a plan, unless nothing has to change, and return it; `options` are those of `plan`."""
    if out.suffix not in (".csv", ".jsonl"):
        raise UsageError(f"{out} is not a worksheet: write a .csv or .jsonl file with --out.")
    result = plan(data, goal, **options)
    if result.goals:
        write_worksheet(result.worksheet, out)
    return result


def _broken(before: Sequence[Ruling], unmet: Sequence[Ruling], after: Sequence[Ruling]) -> tuple[Goal, ...]:
    """Return the rules that the data met and does not meet after the changes: a plan that breaks one is not done."""
    own = {ruling.measure.name for ruling in unmet}
    measures = {ruling.measure.name: ruling.measure for ruling in before}
    return tuple(
        Goal(ruling.rule, measures[ruling.measure.name], None, ruling.measure)
        for ruling in after
        if ruling.measure.name in measures.keys() - own
        and ruling.measure.value is not None
        and not satisfied(ruling.rule, ruling.measure.value)
    )


def _rules(goal: str | Sequence[str] | Policy | Path) -> Policy:
    if isinstance(goal, Policy):
        return goal
    if isinstance(goal, Path):
        return read_policy(goal)
    rules: list[Rule] = []
    for text in [goal] if isinstance(goal, str) else goal:
        name, *words = text.split(maxsplit=1) or [""]
        limit = Limit.parsed(words[0]) if words else None
        if limit is None:
            raise UsageError(
                f"The goal {text!r} is not a limit: write one such as 'partial_input.hypothesis_only.excess <= 0.05'."
            )
        rules.append(Rule(name, (limit,), line=len(rules) + 1))
    return Policy(tuple(rules), source="--goal")


def _check(data: Instances, budget: int | None, change: Kind) -> None:
    if budget is not None and budget < 1:
        raise UsageError(f"The budget is {budget}: give at least 1 example.")
    if change in ("re-pair", "permute") and data.task != "choice":
        raise UsageError(f"The change {change} only applies to multiple choice: use drop or rewrite.")


def _unmet(card: Card, rules: Policy) -> list[Ruling]:
    """Return what the card violates by its values; what is only undecided is left to more examples."""
    rulings = judge_card(card, rules).rulings
    return [r for r in rulings if r.measure.value is not None and not satisfied(r.rule, r.measure.value)]


def _cue_audit(card: Card) -> Cues:
    section = card[Cues.name]
    if section.status != "done":
        raise UsageError(f"A plan needs the cue audit, which was {section.status}: {section.reason}.")
    chosen = {**section.parameters, **section.settled}
    kept = {name: chosen[name] for name in ("tokens", "scope", "language", "min_count") if chosen.get(name)}
    return Cues(**kept)


@dataclass(frozen=True, eq=False)
class _Order:
    """In which order a plan changes the examples of a dataset, judged by these examples alone."""

    cues: Cues
    method: Method
    every_feature: bool
    change: Kind
    seed: int
    counter: bool = False
    """Whether texts to rewrite stay, and get another label."""

    def evidence(self, pool: Instances) -> CueEvidence:
        """Return which examples carry the cues that an audit of these examples finds."""
        return cue_evidence(pool, self.cues, self.cues.run(pool).tables["cues"])

    def __call__(self, pool: Instances, evidence: CueEvidence, limit: int | None = None) -> list[Change]:
        """Return the changes, the first ones first, at most `limit`."""
        examples = evidence.examples
        if self.change == "permute":
            moves = balanced_positions(examples, seed=self.seed)
            order = evenly_over(examples.splits, sorted(moves))
            return [Change(int(e), "permute", new_label=moves[int(e)]) for e in order]
        allowed = ~evidence.contradicts
        most = min(limit or len(allowed), int(MOST * len(allowed)))
        if self.counter:
            pairs = counterexamples(evidence, allowed, limit=most, every_feature=self.every_feature)
            return [Change(example, "rewrite", new_label=label) for example, label in pairs]
        order = removal_order(
            self.method,
            evidence,
            allowed,
            score=lambda examples: self._easiness(pool, examples),
            most=most,
            every_feature=self.every_feature,
            seed=self.seed,
        )[:most]
        if self.change == "re-pair":
            new = re_paired(examples, order, seed=self.seed)
            return [Change(e, "re-pair", new_others=tuple(new[e])) for e in order.tolist() if e in new]
        return [Change(int(e), self.change) for e in order]

    def of_fold(self, learn: Instances) -> list[Change]:
        """Return the order for the examples of all folds but one."""
        return self(learn, self.evidence(learn))

    def _easiness(self, pool: Instances, examples: Ints) -> Floats:
        """Return the probability of the right answers of some examples from partial input, cross-fitted."""
        kept = np.zeros(pool.n_examples, dtype=np.bool_)
        kept[examples] = True
        scores = (
            PartialInput(seed=self.seed, learning_curve=False)
            .run(of_examples(one_split(pool), kept))
            .examples
        )
        assert scores is not None
        at = scores["example_id"].cast(pl.Int64).to_numpy()
        likely = np.zeros(pool.n_examples)
        likely[at] = scores["leak_score"].fill_null(0.0).to_numpy()
        return likely[examples]


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for the fewest changes: an order of examples, audits of what is left, and fresh learners.

    `pool` holds the examples that may change, `numbers` their numbers in the whole dataset.
    """

    data: Instances
    pool: Instances
    numbers: Ints
    card: Card
    evidence: CueEvidence
    unmet: Sequence[Ruling]
    ordered: _Order
    progress: ProgressOption
    options: dict[str, Any]
    allow: tuple[Allowance, ...] = ()
    audited: dict[int, Card] = field(default_factory=dict)
    orders: list[list[Change]] = field(default_factory=list)

    @property
    def change(self) -> Kind:
        """What becomes of the chosen examples."""
        return self.ordered.change

    def fewest(self, budget: int | None, exact: int | None) -> list[Change]:
        """Return the first changes of the order that reach the limits, or those that come nearest to them.

        Too many changes may turn a cue round, so that the search begins with few.
        """
        order = self.ordered(self.pool, self.evidence, exact or budget)
        most = min(len(order), budget or len(order), exact or len(order))
        self.orders.append(order)
        if exact is not None:
            return order[:most]
        low, tried = 0, [0]
        for high in sorted(
            {max(1, round(most * step / STEPS)) for step in range(1, STEPS + 1)} if most else ()
        ):
            tried.append(high)
            if self._distance(high) <= 0:
                break
            low = high
        else:
            return order[: min(tried[1:], key=self._distance, default=0)]
        while high - low > max(1, TOLERANCE * high):
            middle = (low + high) // 2
            low, high = (low, middle) if self._distance(middle) <= 0 else (middle, high)
        return order[:high]

    def _changed(self, changes: Sequence[Change]) -> Instances:
        """Return the whole dataset with changes of the pool."""
        return simulated(self.data, [replace(c, example=int(self.numbers[c.example])) for c in changes])

    @cached_property
    def folds(self) -> Unseen | None:
        """Plans of all folds but one, scored on that fold; None where that is not possible or needs no learner."""
        if self.change == "permute":  # moves do not depend on what a learner finds
            return None
        try:
            parts = outer_parts(self.pool, self.ordered.of_fold, seed=self.ordered.seed)
        except (Skip, UsageError):
            return None
        return Unseen(parts, self._score, simulated)

    @cached_property
    def unseen(self) -> Unseen | None:
        """Fresh learners on what the plan never saw: the test split where it does not change, otherwise folds."""
        held = self.data.split("test") if "test" in self.data.splits else None
        if held is None or "test" in self.pool.splits or self.change == "permute":
            return self.folds
        return Unseen([Part(self.pool, held, self.orders[0])], self._score, simulated)

    def _score(self, data: Instances) -> Result:
        known = {f.name for f in fields(PartialInput)} & self.options.keys()
        chosen = {name: self.options[name] for name in known} | {"cross_fit": False, "learning_curve": False}
        return PartialInput(**{"seed": self.ordered.seed} | chosen).run(data)

    def _share(self, count: int) -> float:
        return count / max(len(self.numbers), 1)

    def _verified(self, count: int) -> Card:
        """Return the audit of the changed data."""
        if count not in self.audited:
            sections = list(dict.fromkeys(ruling.measure.section for ruling in self.unmet))
            only = None if "findings" in sections else sections
            changed = self._changed(self.orders[0][:count])
            self.audited[count] = audit(
                changed, only=only, seed=self.ordered.seed, progress=self.progress, **self.options
            )
        return self.audited[count]

    def _distance(self, count: int) -> float:
        """Return how far the measures are from their limits after `count` changes; 0 where all are met."""
        distance = 0.0
        for ruling in self.unmet:
            measure = self._fresh(ruling, count, self.folds)
            if measure is None:
                measure = _measured(self._verified(count), ruling, self.allow)
            distance += violation(ruling.rule, measure)
        return distance

    def _fresh(self, ruling: Ruling, count: int, unseen: Unseen | None) -> Measure | None:
        """Return a measure of partial input on examples that the plan never saw."""
        if unseen is None or ruling.measure.section != PartialInput.name:
            return None
        return unseen.measure(ruling.measure.name, self._share(count))

    def left(self, count: int) -> Left | None:
        """Return what is left for a fresh learner of the partial input that the goals are about, or of the task's."""
        unseen = self.unseen
        if unseen is None:
            return None
        own = [
            r.measure.name for r in self.unmet if r.measure.section == PartialInput.name and r.measure.solved
        ]
        primary = "full" if self.data.task == "text" else primary_input(self.data.task)
        name = own[0].rpartition(".")[0] if own else f"{PartialInput.name}.{primary}"
        return unseen.left(f"{name}.accuracy", self._share(count))

    def _goal(self, ruling: Ruling, chosen: list[Change]) -> Goal:
        selected = _measured(self._verified(len(chosen)), ruling, self.allow)
        given = "test" in self.data.splits and "test" not in self.pool.splits
        # With a test split that stays as it is, the audit of the changed data is on what the plan never saw.
        fresh = None if given else self._fresh(ruling, len(chosen), self.unseen)
        predicted = None
        left_out = self.change in ("drop", "rewrite") and not self.ordered.counter
        if left_out and not (given and ruling.measure.solved):
            removed = np.array([c.example for c in chosen], dtype=np.int64)
            predicted = predicted_value(self.card.tables["examples"], self.evidence, ruling.measure, removed)
        return Goal(ruling.rule, ruling.measure, predicted, fresh or selected, selected if fresh else None)

    def plan(self, chosen: list[Change]) -> Plan:
        """Return the plan of the chosen examples."""
        examples = self.evidence.examples
        goals = tuple(self._goal(ruling, chosen) for ruling in self.unmet)
        rows = self._rows(chosen)
        changed = {c.example for c in chosen}
        suspects = conflicting_examples(examples)
        rows += [
            {
                "example": example,
                "action": "keep",
                "why": "identical input with another label",
                "advice": "decide which label is right: relabel, or drop",
            }
            for example in suspects
            if example not in changed
        ]
        return Plan(
            worksheet_rows(examples, rows),
            goals,
            self.ordered.method,
            self.change,
            len(examples),
            len(chosen),
            int(self.evidence.contradicts.sum()),
            len(suspects),
            self._changed(chosen),
            left=self.left(len(chosen)) if self.unmet and chosen else None,
            counterexamples=needed_counterexamples(self.evidence, CUES_SHOWN) if self.unmet else None,
            labelled=self.ordered.counter,
        )

    def _rows(self, chosen: list[Change]) -> list[dict[str, object]]:
        clusters = _clusters(self.card)
        copies = repeated_examples(self.evidence.examples)
        unnamed = "several weak cues" if self.ordered.counter else "easy from partial input"
        rows = []
        for change in chosen:
            example = change.example
            cluster = clusters.get(int(self.numbers[example]))
            reasons = [self.evidence.reasons(example), f"cluster {cluster}" if cluster is not None else ""]
            reasons += [f"copy of {copies[example]}"] if example in copies else []
            if self.change == "permute":
                reasons = ["its position has the right answer too often"]
            row: dict[str, object] = {
                "example": example,
                "action": change.action,
                "why": "; ".join(reason for reason in reasons if reason) or unnamed,
                "advice": _ADVICE[self.change],
            }
            if change.new_label is not None and self.data.grouped:
                row["new_label"] = str(change.new_label + 1)
            elif change.new_label is not None:
                row["new_label"] = self.data.labels[change.new_label]
            if self.ordered.counter:
                row["advice"] = _counter_advice(self.data, str(row["new_label"]))
            if change.new_others:
                row["new_others"] = json.dumps(list(change.new_others), ensure_ascii=False)
            rows.append(row)
        return rows


def _of_text_alone(ruling: Ruling) -> bool:
    """Return whether a measure is about what a new premise or question leaves as it is."""
    section, _, name = ruling.measure.name.partition(".")
    return section == Cues.name or (section == PartialInput.name and name.startswith(_TEXT_ALONE))


def _counter_advice(data: Instances, label: str) -> str:
    """Return what to write so that the same text has the label, or another choice is right."""
    return {
        "pair": f"keep the text, and write a new premise for which the label is {label}",
        "choice": f"keep the choices, and write a new question for which choice {label} is right",
        "preference": f"keep the responses, and write a new prompt for which response {label} is better",
    }[data.task]


def _measured(card: Card, ruling: Ruling, allow: tuple[Allowance, ...] = ()) -> Measure:
    """Return the measure of a rule on another card."""
    exact = replace(ruling.rule, pattern=ruling.measure.name)
    [again] = judge_card(card, Policy((exact,), allow, source="plan")).rulings
    return again.measure


def _clusters(card: Card) -> dict[int, int]:
    table = card.tables["examples"]
    if "cluster" not in table.columns:
        return {}
    numbered = table.with_row_index("at").drop_nulls("cluster")
    return dict(zip(numbered["at"].to_list(), numbered["cluster"].to_list(), strict=True))
