"""What a plan says, its worksheet, and the new version of a dataset that a filled one describes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.files import staged_card
from cuecard.card.judging import measure_verdict
from cuecard.card.policy import Rule
from cuecard.data import Instances
from cuecard.data.reading.sources import SPLITS
from cuecard.remedies.plan.removal import Method
from cuecard.remedies.plan.unseen import Left
from cuecard.remedies.plan.worksheet import applied, read_worksheet
from cuecard.remedies.stress_sets import as_rows
from cuecard.run.auditing import audit
from cuecard.run.running import Data, ProgressOption, ensure_loaded
from cuecard.stats.limits import Verdict, judge
from cuecard.wording import listed, plural

#: What becomes of the examples that a plan chooses.
Kind = Literal["drop", "rewrite", "re-pair", "permute"]


@dataclass(frozen=True)
class Goal:
    """A measure that a plan brings to its limit: before, predicted, and verified.

    `verified` is on examples that the plan never saw, wherever a learner is scored; `selected` is then what an audit of
    the changed data says, which flatters a plan that selected these examples.
    """

    rule: Rule
    before: Measure
    predicted: float | None
    verified: Measure
    selected: Measure | None = None

    @property
    def verdict(self) -> Verdict:
        """The verdict of `check`: by the whole interval, the worse of both measures."""
        measures = [self.verified] if self.selected is None else [self.verified, self.selected]
        verdicts = {measure_verdict(self.rule, measure) for measure in measures}
        return "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"

    @property
    def reached(self) -> bool:
        """Whether the limits are met by the whole interval."""
        return self.verdict == "pass"


@dataclass(frozen=True, eq=False)
class Plan:
    """Which examples to change, and what that does."""

    worksheet: pl.DataFrame
    goals: tuple[Goal, ...]
    method: Method
    kind: Kind
    examples: int
    changed: int
    protected: int
    """Examples that contradict a cue and are never proposed."""
    suspects: int = 0
    data: Instances | None = field(default=None, repr=False)
    budget: int | None = None
    left: Left | None = None
    """What is left for a fresh learner on examples that the plan never saw."""
    counterexamples: pl.DataFrame | None = None
    """The cues that carry most, and how many counterexamples each needs; None where the data has no cue."""
    labelled: bool = False
    """Whether the worksheet says which label the same text should get, by which rewriting is verified."""
    undecided: tuple[str, ...] = ()
    """Measures that meet their limits by their values, but not by their whole intervals: they are not planned for."""

    @property
    def helps(self) -> bool:
        """Whether a fresh learner does worse after the changes, as far as that can be told."""
        return self.left is None or self.left.helps

    @property
    def verdict(self) -> Verdict:
        """What `check` says of the goals; fail where a fresh learner does as well as without the changes."""
        verdicts = {goal.verdict for goal in self.goals}
        if "fail" in verdicts or not self.helps:
            return "fail"
        return "undecided" if "undecided" in verdicts or self.undecided else "pass"

    @property
    def reached(self) -> bool:
        """Whether every goal is reached, and a fresh learner is worse off."""
        return self.verdict == "pass"

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON can hold it, without the worksheet."""
        return {
            "reached": self.reached,
            "verdict": self.verdict,
            "left": None if self.left is None else _left(self.left),
            "method": self.method,
            "change": self.kind,
            "examples": self.examples,
            "changed": self.changed,
            "protected": self.protected,
            "suspect_labels": self.suspects,
            "undecided": list(self.undecided),
            "counterexamples": [] if self.counterexamples is None else self.counterexamples.to_dicts(),
            "goals": [
                {
                    "measure": goal.before.name,
                    "limits": [str(limit) for limit in goal.rule.limits],
                    "before": goal.before.value,
                    "predicted": goal.predicted,
                    "verified": goal.verified.value,
                    "low": goal.verified.low,
                    "high": goal.verified.high,
                    "verdict": goal.verdict,
                    "on_selected_data": None if goal.selected is None else goal.selected.value,
                }
                for goal in self.goals
            ],
        }


def _left(left: Left) -> dict[str, object]:
    """Return what is left for a fresh learner as JSON can hold it."""
    return {
        "measure": left.after.name,
        "value": left.after.value,
        "low": left.after.low,
        "high": left.after.high,
        "chance": left.after.chance,
        "n": left.after.n,
        "without_the_plan": left.before.value,
        "difference_low": left.low,
        "difference_high": left.high,
        "helps": left.helps,
    }


def satisfied(rule: Rule, value: float | None) -> bool:
    """Return whether a value satisfies all limits of a rule."""
    return value is not None and all(
        judge(value, value, limit.operator, limit.bound) == "pass" for limit in rule.limits
    )


def violation(rule: Rule, measure: Measure) -> float:
    """Return by how much the farther end of an interval is beyond the limits; a little more than 0 where it is at one.

    It is 0 where `check` passes the measure.
    """
    if measure.value is None:
        return math.inf
    ends = [measure.value if end is None else end for end in (measure.low, measure.high)]
    beyond = [
        abs(value - limit.bound) + 1e-9
        for limit in rule.limits
        for value in ends
        if judge(value, value, limit.operator, limit.bound) == "fail"
    ]
    return max(beyond, default=0.0)


#: Where the card of a new version belongs, beside its data.
AUDIT_FOLDER = "audit"


@dataclass(frozen=True, eq=False)
class Applied:
    """A new version: its files, what was changed, and the card of its audit."""

    files: tuple[Path, ...]
    summary: str
    card: Card


def apply_worksheet(
    data: Data,
    worksheet: Path,
    folder: Path,
    *,
    seed: int = 0,
    drawn: Callable[[Card], str] | None = None,
    progress: ProgressOption = None,
    command: str = "",
    **options: Any,
) -> Applied:
    """Write the dataset with the changes of a worksheet and the card of its audit, all of it or nothing.

    Args:
        data: the dataset that the worksheet was written for.
        worksheet: the filled worksheet; every row must be applicable.
        folder: gets one file per split, and the card in `audit/`.
        seed: seed of the audit.
        drawn: returns the report of a card, which is written beside it.
        progress: True for a line about every step that takes long, or a function from its title to a context
            manager that it runs in.
        command: what the user typed, for the card's provenance.
        options: parameters of the audits.
    """
    before = ensure_loaded(data)
    changes = read_worksheet(worksheet, before)
    after = applied(before, changes)
    card = audit(after, seed=seed, progress=progress, command=command, **options)
    rows = {f"{split}.parquet": as_rows(after.split(split)).drop("split") for split in after.splits}
    with staged_card(
        card,
        folder,
        drawn(card) if drawn else None,
        subfolder=AUDIT_FOLDER,
        beside={name: frame.write_parquet for name, frame in rows.items()},
        stale=[f"{split}.parquet" for split in SPLITS],
    ):
        pass
    counts = Counter(change.action for change in changes)
    done = [f"{action} {plural(n, 'example')}" for action, n in sorted(counts.items())]
    return Applied(tuple(folder / name for name in rows), f"Applied: {listed(done)}.", card)
