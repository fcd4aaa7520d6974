"""A policy: rules with limits on measures and findings, which measures they are about, and what was accepted before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Literal, get_args

from cuecard.analysis import HIGH_GAIN, MEDIUM_GAIN, SEVERITIES, Finding, Measure, Severity, severity_of
from cuecard.card.card import Card
from cuecard.card.changes import MeasuredChange, measured_change, shared_examples
from cuecard.data import Task
from cuecard.errors import InputError
from cuecard.stats.limits import Operator, examples_to_settle, judge
from cuecard.wording import listed, only_applies_to, plural

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
    """Rules, allowances, the task they are for, and the optional parts that the limits were measured with."""

    rules: tuple[Rule, ...]
    allow: tuple[Allowance, ...] = ()
    task: Task | None = None
    source: str = "policy"
    task_line: int = 1
    extras_line: int = 1
    extras: Sequence[str] | None = None

    @property
    def sections(self) -> list[str] | None:
        """The sections of a card that the rules are about; None where a wildcard or `findings` is about all."""
        names = [rule.pattern.partition(".")[0] for rule in self.rules]
        if any(name == "findings" or any(sign in name for sign in "*?[") for name in names):
            return None
        return list(dict.fromkeys(names))


def check_policy(policy: Policy, card: Card, today: date) -> None:
    """Raise if the policy is for another task or an allowance has expired."""
    if policy.task is not None and policy.task != card.dataset.task:
        raise InputError(
            f"{policy.source}, line {policy.task_line}: the policy "
            f"{only_applies_to([policy.task], card.dataset.task)}."
        )
    if policy.extras is not None and any("extras" in section.settled for section in card.sections.values()):
        _check_extras(
            policy.extras, card.extras, f"{policy.source}, line {policy.extras_line}: the policy was written"
        )
    for allowance in policy.allow:
        if allowance.expires < today:
            raise InputError(
                f"{policy.source}, line {allowance.line}: the allowance for {allowance.finding} expired on "
                f"{allowance.expires}: mend the finding, or decide again and set a later day."
            )


def matched(policy: Policy, card: Card, counts: Sequence[Measure]) -> list[tuple[Rule, list[Measure]]]:
    """Return every rule with the measures it judges; none where its section did not run.

    A rule that names a measure goes before rules with wildcards. A name that the card cannot have is an error.
    """
    measures = [*card.all_measures(), *counts]
    named = {rule.pattern for rule in policy.rules if rule.exact}
    pairs = []
    for rule in policy.rules:
        judged = [m for m in measures if rule.matches(m.name) and (rule.exact or m.name not in named)]
        if not judged and not any(rule.matches(m.name) for m in measures):
            _check_known(policy, rule, card, measures)
        pairs.append((rule, judged))
    _check_together(policy, pairs)
    return [(rule, judged) for rule, judged in pairs if judged or not _overruled(rule, measures)]


def _overruled(rule: Rule, measures: Sequence[Measure]) -> bool:
    """Return whether rules that name measures leave a rule with wildcards nothing to judge."""
    return any(rule.matches(m.name) for m in measures)


def _check_known(policy: Policy, rule: Rule, card: Card, measures: Sequence[Measure]) -> None:
    """Raise unless the rule is about a section that exists and did not run here."""
    section = rule.pattern.partition(".")[0]
    status = card.sections[section].status if section in card.sections else None
    if status != "done" and section in _sections(card):
        return
    names = [m.name for m in measures]
    near = get_close_matches(rule.pattern, names, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    raise InputError(
        f"{policy.source}, line {rule.line}: the card of {card.dataset.name} ({card.dataset.task}) has no measure "
        f"{rule.pattern}.{hint} `cuecard check CARD --init` lists its measures."
    )


def _sections(card: Card) -> set[str]:
    from cuecard.audits import AUDITS
    from cuecard.probes import PROBES
    from cuecard.remedies import REMEDIES

    return {*card.sections, *AUDITS.names(), *(kind.name for kind in (*PROBES, *REMEDIES))}


def check_limits(policy: Policy, rule: Rule, measure: Measure) -> None:
    """Raise if a limit is not in the unit of its measure: shares and points are fractions."""
    for limit in rule.limits:
        if measure.unit in ("share", "points") and abs(limit.bound) > 1:
            raise InputError(
                f"{policy.source}, line {rule.line}: {measure.name} is a fraction and cannot be {limit.bound:g}; "
                f"for {limit.bound:g} percent or points write {limit.operator} {limit.bound / 100:g}."
            )


def _check_together(policy: Policy, pairs: Sequence[tuple[Rule, list[Measure]]]) -> None:
    """Raise if no value of a measure could satisfy all its rules."""
    rules: dict[str, list[Rule]] = {}
    for rule, measures in pairs:
        for measure in measures:
            rules.setdefault(measure.name, []).append(rule)
    for rule, _ in pairs:
        if not _satisfiable(rule.limits):
            raise _contradiction(policy, rule, rule, rule.pattern)
    for name, several in rules.items():
        limits: tuple[Limit, ...] = ()
        for rule in several:
            limits += rule.limits
            if not _satisfiable(limits):
                raise _contradiction(policy, several[0], rule, name)


def _contradiction(policy: Policy, first: Rule, second: Rule, name: str) -> InputError:
    lines = f"line {second.line}" if first is second else f"lines {first.line} and {second.line}"
    return InputError(
        f"{policy.source}, {lines}: no value of {name} satisfies all its limits: change one of them."
    )


def _satisfiable(limits: Sequence[Limit]) -> bool:
    """Return whether some value satisfies all limits: one of the bounds, or a value between or beyond two of them."""
    bounds = sorted({limit.bound for limit in limits})
    between = [(a + b) / 2 for a, b in pairwise(bounds)]
    candidates = [*bounds, *between, bounds[0] - 1, bounds[-1] + 1]
    return any(all(judge(x, x, lim.operator, lim.bound) == "pass" for lim in limits) for x in candidates)


@dataclass(frozen=True, eq=False)
class Reference:
    """The measures and findings that a check compares with.

    A finding is a measure named by its id. `card` is there where changes can be paired example by example.
    """

    measures: Mapping[str, Measure]
    findings: Mapping[str, Measure]
    card: Card | None = None
    name: str = "the baseline"

    def measure_change(self, measure: Measure, card: Card) -> MeasuredChange | None:
        """Return how far a measure moved since, or None where it was not measured then."""
        before = self.measures.get(measure.name)
        if before is None:
            return None
        return measured_change(before, measure, (self.card, card) if self.card else None)

    def is_known(self, finding: Finding) -> bool:
        """Return whether a finding was there before and did not get significantly worse."""
        before = self.findings.get(finding.id)
        if before is None:
            return False
        change = measured_change(before, finding_measure(finding))
        return change is None or not change.worsened("higher")


def finding_measure(finding: Finding) -> Measure:
    """Return the number of a finding, above chance where there is a chance level, as a measure named by its id."""
    value, low, high = (
        None if number is None else number - (finding.chance or 0.0)
        for number in (finding.value, finding.low, finding.high)
    )
    return Measure(
        finding.id, value, low, high, n=finding.n, unit=finding.unit, worse="higher", label=finding.title
    )


def _check_extras(extras: Sequence[str], of_card: Sequence[str], made: str) -> None:
    """Raise if other optional parts of CueCard had a part in a card than in what it is compared with."""
    if lacking := sorted({*extras} - {*of_card}):
        raise InputError(
            f"{made} with the optional part {listed(lacking)}, and the card without: numbers of cues would differ for "
            f"that alone. Type: pip install 'cuecard[{','.join(lacking)}]' and audit again."
        )
    if further := sorted({*of_card} - {*extras}):
        raise InputError(
            f"{made} without the optional part {listed(further)}, and the card with it: numbers of cues would differ "
            "for that alone. Make both with the same parts."
        )


def reference_of(baseline: Card, card: Card, name: str = "the baseline") -> Reference:
    """Return what a baseline card says, or raise if it is about other data."""
    for what in ("task", "labels"):
        old, new = getattr(baseline.dataset, what), getattr(card.dataset, what)
        if (sorted(old) if isinstance(old, list) else old) != (sorted(new) if isinstance(new, list) else new):
            old_words, new_words = (listed(x) if isinstance(x, list) else x for x in (old, new))
            raise InputError(
                f"{name} is a card of other data: its {what} {'is' if what == 'task' else 'are'} {old_words}, here "
                f"{new_words}. Name a card of an earlier version of this dataset as --baseline."
            )
    for section, old_section in baseline.sections.items():
        if section in card.sections and "extras" in old_section.settled:
            _check_extras(old_section.extras, card.sections[section].extras, f"{name} was made")
    if shared_examples(baseline, card) == 0:
        raise InputError(
            f"{name} is a card of other data: it shares no example with {card.dataset.name}. Name a card of an earlier "
            "version of this dataset as --baseline."
        )
    return Reference(
        measures={m.name: m for m in baseline.all_measures()},
        findings={finding.id: finding_measure(finding) for finding in baseline.findings},
        card=baseline,
        name=name,
    )


#: Severities that rules can count; every finding is at least info.
COUNTED: tuple[Severity, ...] = SEVERITIES[:3]
_LEAST_GAIN = {"high": HIGH_GAIN, "medium": MEDIUM_GAIN, "low": 0.0}
#: Counts over the findings of all sections are named `findings.high` and so on.
ALL_SECTIONS = "findings"


@dataclass(frozen=True)
class FindingCount:
    """The number of findings of a section that are at least so severe.

    `surely` counts those whose severity is settled, `possibly` also those whose interval reaches it. Accepted findings
    are not counted (`allowed`), nor those of a reference; of those, `known` surely are so severe.
    """

    measure: Measure
    surely: int
    possibly: int
    sure_ids: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()
    known: int = 0
    needed: int | None = None
    note: str = ""


def finding_counts(card: Card, policy: Policy, references: Sequence[Reference]) -> dict[str, FindingCount]:
    """Return the counts by name: `SECTION.SEVERITY` of every section that ran, and `findings.SEVERITY` of all."""
    done = [name for name, section in card.sections.items() if section.status == "done"]
    counts = {}
    for section in [ALL_SECTIONS, *done]:
        findings = [f for f in card.findings if section in (ALL_SECTIONS, f.section)]
        for severity in COUNTED:
            count = _count(f"{section}.{severity}", section, severity, findings, policy, references)
            counts[count.measure.name] = count
    return counts


def _count(
    name: str,
    section: str,
    severity: Severity,
    findings: Sequence[Finding],
    policy: Policy,
    references: Sequence[Reference],
) -> FindingCount:
    reaching = [finding for finding in findings if _reaches(_possible(finding), severity)]
    allowed = [f for f in reaching if any(allowance.covers(f.id) for allowance in policy.allow)]
    judged = [f for f in reaching if f not in allowed]
    before = [f for f in judged if any(reference.is_known(f) for reference in references)]
    judged = [f for f in judged if f not in before]
    sure = [finding for finding in judged if _reaches(finding.severity, severity)]
    open_ones = [finding for finding in judged if finding not in sure]
    numbers = [_needed(finding, severity) for finding in open_ones]
    words = f"findings, {severity} or worse" if severity != "high" else "findings, high"
    label = words if section == ALL_SECTIONS else f"{section} {words}"
    earlier = [r.name for r in references if any(r.is_known(finding) for finding in before)]
    note = f"{plural(len(before), 'finding')} of {listed(earlier)}, not significantly worse" if before else ""
    return FindingCount(
        Measure(name, float(len(sure)), len(sure), len(judged), unit="count", worse="higher", label=label),
        len(sure),
        len(judged),
        tuple(finding.id for finding in sure),
        tuple(finding.id for finding in judged),
        tuple(finding.id for finding in allowed),
        sum(_reaches(finding.severity, severity) for finding in before),
        None if None in numbers else max((n for n in numbers if n is not None), default=None),
        note,
    )  # fmt: skip


def _reaches(severity: Severity, least: Severity) -> bool:
    return SEVERITIES.index(severity) <= SEVERITIES.index(least)


def _possible(finding: Finding) -> Severity:
    """Return how severe a finding may be at the upper end of its interval.

    Only a severity that follows from the gain can rise; one that was set for another reason stays.
    """
    if finding.severity == "info" or finding.severity != severity_of(finding.gain):
        return finding.severity
    return severity_of(_gain(finding, finding.high))


def _gain(finding: Finding, value: float | None) -> float:
    if finding.unit != "share" or value is None or finding.chance is None or finding.chance >= 1:
        return 0.0
    return finding.coverage * max(0.0, (value - finding.chance) / (1 - finding.chance))


def _needed(finding: Finding, severity: Severity) -> int | None:
    """Return how many examples would settle whether a finding is so severe."""
    if finding.value is None or finding.low is None or finding.high is None or not finding.n:
        return None
    assert finding.chance is not None
    limit = finding.chance + _LEAST_GAIN[severity] * (1 - finding.chance) / finding.coverage
    end = finding.low if finding.value > limit else finding.high
    return examples_to_settle(finding.value, end, limit, finding.n)
