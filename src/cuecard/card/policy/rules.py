"""What a policy consists of: rules with limits, and allowances for accepted findings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from typing import Literal, get_args

from cuecard.data import Task
from cuecard.stats.limits.limits import Operator

#: An error that is violated fails the check; a warning and a note are only reported.
RuleSeverity = Literal["error", "warning", "note"]
RULE_SEVERITIES: tuple[RuleSeverity, ...] = get_args(RuleSeverity)

_LIMIT = re.compile(r"^\s*(<=|>=|==|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*$")


@dataclass(frozen=True)
class Limit:
    """One bound of a value."""

    operator: Operator
    bound: float

    @classmethod
    def parsed(cls, text: object) -> Limit | None:
        """Return the limit that a text such as "<= 0.05" says, or None.

        >>> Limit.parsed("<= 0.05")
        Limit(operator='<=', bound=0.05)
        """
        match = _LIMIT.match(text) if isinstance(text, str) else None
        return cls(match[1], float(match[2])) if match else None  # type: ignore[arg-type]

    def __str__(self) -> str:
        return f"{self.operator} {self.bound:g}"


@dataclass(frozen=True)
class Rule:
    """Limits on every measure, or number of findings, whose name matches a pattern."""

    pattern: str
    limits: tuple[Limit, ...]
    severity: RuleSeverity = "error"
    reason: str = ""
    line: int = 0

    @property
    def exact(self) -> bool:
        """Whether it names one measure, without a wildcard."""
        return not any(sign in self.pattern for sign in "*?[")

    def matches(self, name: str) -> bool:
        """Return whether it is about a measure of that name."""
        return fnmatchcase(name, self.pattern)

    def __str__(self) -> str:
        return f"{self.pattern} {' and '.join(map(str, self.limits))}"


@dataclass(frozen=True)
class Allowance:
    """A known finding that is accepted until a day, with the reason."""

    finding: str
    reason: str
    expires: date
    line: int = 0

    def covers(self, finding_id: str) -> bool:
        """Return whether a finding of that id is accepted."""
        return fnmatchcase(finding_id, self.finding)


@dataclass(frozen=True)
class Policy:
    """Rules, allowances and the task they are for."""

    rules: tuple[Rule, ...]
    allow: tuple[Allowance, ...] = ()
    task: Task | None = None
    source: str = "policy"
    task_line: int = 1

    @property
    def sections(self) -> list[str] | None:
        """The sections of a card that the rules are about; None where a wildcard or `findings` is about all."""
        names = [rule.pattern.partition(".")[0] for rule in self.rules]
        if any(name == "findings" or any(sign in name for sign in "*?[") for name in names):
            return None
        return list(dict.fromkeys(names))
