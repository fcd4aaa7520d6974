"""What a plan says: the examples to change, and its goals before, predicted and verified."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from cuecard.analysis import Measure
from cuecard.card.policy import Rule
from cuecard.data import Instances
from cuecard.remedies.plan.removal import Method
from cuecard.stats.limits.limits import judge

#: What becomes of the examples that a plan chooses.
Kind = Literal["drop", "rewrite", "re-pair", "permute"]


@dataclass(frozen=True)
class Goal:
    """A measure that a plan brings to its limit: before, predicted, and verified by an audit of the changed data."""

    rule: Rule
    before: Measure
    predicted: float | None
    verified: Measure

    @property
    def reached(self) -> bool:
        """Whether the verified value satisfies the limits."""
        return satisfied(self.rule, self.verified.value)


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

    @property
    def reached(self) -> bool:
        """Whether every goal is reached."""
        return all(goal.reached for goal in self.goals)

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it, without the worksheet."""
        return {
            "reached": self.reached,
            "method": self.method,
            "change": self.kind,
            "examples": self.examples,
            "changed": self.changed,
            "protected": self.protected,
            "suspect_labels": self.suspects,
            "goals": [
                {
                    "measure": goal.before.name,
                    "limits": [str(limit) for limit in goal.rule.limits],
                    "before": goal.before.value,
                    "predicted": goal.predicted,
                    "verified": goal.verified.value,
                    "low": goal.verified.low,
                    "high": goal.verified.high,
                }
                for goal in self.goals
            ],
        }


def satisfied(rule: Rule, value: float | None) -> bool:
    """Return whether a value satisfies all limits of a rule."""
    return value is not None and all(
        judge(value, value, limit.operator, limit.bound) == "pass" for limit in rule.limits
    )


def violation(rule: Rule, value: float | None) -> float:
    """Return by how much a value is beyond its limits; a little more than 0 where it is at a limit that excludes it."""
    if value is None:
        return math.inf
    beyond = [
        abs(value - limit.bound) + 1e-9
        for limit in rule.limits
        if judge(value, value, limit.operator, limit.bound) == "fail"
    ]
    return max(beyond, default=0.0)
