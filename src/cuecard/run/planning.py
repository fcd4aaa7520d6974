"""Plan which examples to change so that a measure meets its limit: predicted, and verified by an audit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cuecard.analysis import Measure
from cuecard.audits import Cues, PartialInput
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
    evenly_over,
    re_paired,
    repeated_examples,
)
from cuecard.remedies.plan.removal import CueEvidence, Method, cue_evidence, predicted_value, removal_order
from cuecard.remedies.plan.worksheet import Change, applied, without, worksheet_rows, write_worksheet
from cuecard.run.applying import Goal, Kind, Plan, satisfied, violation
from cuecard.run.auditing import audit
from cuecard.run.running import Data, ProgressOption, ensure_loaded

#: A plan never proposes more than this share of the examples.
MOST = 0.9
#: The search for the fewest changes ends when it is known to this share of them.
TOLERANCE = 0.02
#: The search begins with this many equal steps.
STEPS = 6
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
    seed: int = 0,
    progress: ProgressOption = None,
    **options: Any,
) -> Plan:
    """Return the fewest examples to change so that measures meet their limits, as far as a search by audits finds them.

    Examples that contradict a strong cue are never proposed: they are what breaks the shortcut. The effect is verified
    by an audit of the changed data; for `rewrite`, whose texts do not exist yet, the examples are left out instead.

    Args:
        data: what `cuecard.load` returned, or what it takes, such as ``"train.csv"``; or a function that returns the
            dataset. All its splits are changed.
        goal: limits such as ``"partial_input.hypothesis_only.excess <= 0.05"``, or a policy or its file, whose violated
            rules are the goals.
        test: the test split, where `data` is a file or a table.
        budget: the largest number of examples to change.
        method: "weights" (convex weights, rounded), "z-filter", "aflite" or "random"; by default z-filter for
            goals about cues, aflite otherwise.
        change: "drop", "rewrite", "re-pair" (new wrong choices) or "permute" (new positions of right answers).
        exact: change exactly this number of examples instead of searching for the fewest, to compare methods.
        seed: of what is drawn.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        options: parameters of the audits.
    """
    rules = _rules(goal)
    data = ensure_loaded(data, test)
    _check(data, budget, change)
    only = None if rules.sections is None else list(dict.fromkeys([*rules.sections, Cues.name]))
    card = audit(data, only=only, seed=seed, progress=progress, **options)
    unmet = _unmet(card, rules)
    audit_of_cues = _cue_audit(card)
    evidence = cue_evidence(data, audit_of_cues, card.tables["cues"])
    of_cues = all(ruling.measure.section == Cues.name for ruling in unmet)
    by = method or ("z-filter" if of_cues else "aflite")
    search = _Search(data, card, evidence, unmet, by, change, seed, progress, options, rules.allow)
    chosen = search.fewest(budget, exact) if unmet else np.empty(0, dtype=np.int64)
    made = search.plan(chosen)
    judged = judge_card(card, rules).rulings
    if len(chosen) and made.data is not None and len(judged) > len(unmet):
        after = audit(made.data, only=only, seed=seed, progress=progress, **options)
        made = replace(made, goals=(*made.goals, *_broken(judged, unmet, judge_card(after, rules).rulings)))
    return replace(made, budget=budget)


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
    """Return what the card violates by its values: the point, not the interval, is what a plan moves."""
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
class _Search:
    """The search for the fewest changes: an order of examples, and audits of what is left."""

    data: Instances
    card: Card
    evidence: CueEvidence
    unmet: Sequence[Ruling]
    method: Method
    change: Kind
    seed: int
    progress: ProgressOption
    options: dict[str, Any]
    allow: tuple[Allowance, ...] = ()
    audited: dict[int, Card] = field(default_factory=dict)
    orders: list[Ints] = field(default_factory=list)

    def fewest(self, budget: int | None, exact: int | None) -> Ints:
        """Return the first examples of the order that reach the limits, or those that come nearest to them.

        Too many changes may turn a cue round, so that the search begins with few.
        """
        order = self._order(exact or budget)
        most = min(len(order), budget or len(order), exact or len(order))
        self.orders.append(order)
        if exact is not None:
            return order[:most]
        low = 0
        for high in sorted(
            {max(1, round(most * step / STEPS)) for step in range(1, STEPS + 1)} if most else ()
        ):
            if self._distance(high) <= 0:
                break
            low = high
        else:
            return order[: min(self.audited, key=self._distance, default=0)]
        while high - low > max(1, TOLERANCE * high):
            middle = (low + high) // 2
            low, high = (low, middle) if self._distance(middle) <= 0 else (middle, high)
        return order[:high]

    def _order(self, limit: int | None) -> Ints:
        if self.change == "permute":
            return evenly_over(self.evidence.examples.splits, sorted(self._moves))
        allowed = ~self.evidence.contradicts
        most = min(limit or len(allowed), int(MOST * len(allowed)))
        order = removal_order(
            self.method,
            self.evidence,
            allowed,
            score=self._easiness,
            most=most,
            every_feature=any(ruling.measure.section != Cues.name for ruling in self.unmet),
            seed=self.seed,
        )
        if self.change == "re-pair":
            possible = re_paired(self.evidence.examples, order[:most], seed=self.seed)
            order = order[np.isin(order, list(possible))]
        return order[:most]

    @property
    def _moves(self) -> dict[int, int]:
        return balanced_positions(self.evidence.examples, seed=self.seed)

    def _easiness(self, examples: Ints) -> Floats:
        """Return the probability of the right answers of some examples from partial input, cross-fitted."""
        kept = np.zeros(self.data.n_examples, dtype=np.bool_)
        kept[examples] = True
        table = self.data.table.filter(pl.Series(kept[self.data.example_codes]))
        codes = self.data.example_codes[kept[self.data.example_codes]]
        together = replace(
            self.data,
            table=table.with_columns(split=pl.lit("train"), example_id=pl.Series(codes.astype(str))),
        )
        scores = PartialInput(seed=self.seed, learning_curve=False).run(together).examples
        assert scores is not None
        at = scores["example_id"].cast(pl.Int64).to_numpy()
        likely = np.zeros(self.data.n_examples)
        likely[at] = scores["leak_score"].fill_null(0.0).to_numpy()
        return likely[examples]

    def _changes(self, chosen: Ints) -> list[Change]:
        if self.change == "permute":
            moves = self._moves
            return [Change(int(e), "permute", new_label=moves[int(e)]) for e in chosen]
        if self.change == "re-pair":
            new = re_paired(self.evidence.examples, chosen, seed=self.seed)
            return [Change(int(e), "re-pair", new_others=tuple(new[int(e)])) for e in chosen]
        return [Change(int(e), "drop") for e in chosen]

    def _changed(self, chosen: Ints) -> Instances:
        if self.change in ("drop", "rewrite"):
            return without(self.data, chosen)
        return applied(self.data, self._changes(chosen))

    def _verified(self, count: int) -> Card:
        if count not in self.audited:
            sections = list(dict.fromkeys(ruling.measure.section for ruling in self.unmet))
            only = None if "findings" in sections else sections
            changed = self._changed(self.orders[0][:count])
            self.audited[count] = audit(
                changed, only=only, seed=self.seed, progress=self.progress, **self.options
            )
        return self.audited[count]

    def _distance(self, count: int) -> float:
        """Return how far the measures are from their limits after `count` changes; 0 where all are met."""
        after = self._verified(count)
        return sum(violation(r.rule, _measured(after, r, self.allow).value) for r in self.unmet)

    def plan(self, chosen: Ints) -> Plan:
        """Return the plan of the chosen examples."""
        examples = self.evidence.examples
        after = self._verified(len(chosen)) if self.unmet else self.card
        goals = tuple(
            Goal(
                ruling.rule,
                ruling.measure,
                None
                if self.change not in ("drop", "rewrite")
                else predicted_value(self.card.tables["examples"], self.evidence, ruling.measure, chosen),
                _measured(after, ruling, self.allow),
            )
            for ruling in self.unmet
        )
        rows = self._rows(chosen)
        suspects = conflicting_examples(examples)
        rows += [
            {
                "example": example,
                "action": "keep",
                "why": "identical input with another label",
                "advice": "decide which label is right: relabel, or drop",
            }
            for example in suspects
            if example not in set(chosen.tolist())
        ]
        return Plan(
            worksheet_rows(examples, rows),
            goals,
            self.method,
            self.change,
            len(examples),
            len(chosen),
            int(self.evidence.contradicts.sum()),
            len(suspects),
            self._changed(chosen),
        )

    def _rows(self, chosen: Ints) -> list[dict[str, object]]:
        clusters = _clusters(self.card)
        copies = repeated_examples(self.evidence.examples)
        rows = []
        for change in self._changes(chosen):
            example = change.example
            cluster = clusters.get(example)
            reasons = [self.evidence.reasons(example), f"cluster {cluster}" if cluster is not None else ""]
            reasons += [f"copy of {copies[example]}"] if example in copies else []
            if self.change == "permute":
                reasons = ["its position has the right answer too often"]
            row: dict[str, object] = {
                "example": example,
                "action": "rewrite" if self.change == "rewrite" else change.action,
                "why": "; ".join(reason for reason in reasons if reason) or "easy from partial input",
                "advice": _ADVICE[self.change],
            }
            if change.new_label is not None:
                row["new_label"] = str(change.new_label + 1)
            if change.new_others:
                row["new_others"] = json.dumps(list(change.new_others), ensure_ascii=False)
            rows.append(row)
        return rows


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
