"""A card judged by a policy: every rule passes, fails or is undecided, by the whole confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import get_args

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.changes import MeasuredChange
from cuecard.card.policy import (
    FindingCount,
    Limit,
    Policy,
    Reference,
    Rule,
    check_limits,
    check_policy,
    finding_counts,
    matched,
)
from cuecard.stats.limits import Verdict, examples_to_settle, judge


@dataclass(frozen=True)
class Ruling:
    """What a rule says of one measure.

    `needed` is the number of examples that would settle an undecided verdict; `note` says why a verdict is not that
    of the limit alone: an allowance, the baseline, or a section that did not run. `violated` is the verdict of the
    limit alone. With `strict`, an undecided rule fails the check.
    """

    rule: Rule
    measure: Measure
    verdict: Verdict
    violated: bool = False
    needed: int | None = None
    note: str = ""
    findings: tuple[str, ...] = ()
    change: MeasuredChange | None = None
    strict: bool = False

    @property
    def counts_as_failed(self) -> bool:
        """Whether it is violated, or undecided where that is not accepted."""
        return self.verdict == "fail" or (self.strict and self.verdict == "undecided")

    @property
    def fails(self) -> bool:
        """Whether it fails the check: it counts as failed, and not only as a warning or a note."""
        return self.counts_as_failed and self.rule.severity == "error"

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON can hold it."""
        return {
            "verdict": self.verdict,
            "fails": self.fails,
            "measure": asdict(self.measure),
            "rule": self.rule.pattern,
            "limits": [str(limit) for limit in self.rule.limits],
            "severity": self.rule.severity,
            "reason": self.rule.reason,
            "line": self.rule.line,
            "examples_to_settle": self.needed,
            "note": self.note,
            "findings": list(self.findings),
            "change": asdict(self.change) if self.change else None,
        }


@dataclass(frozen=True, eq=False)
class Check:
    """A card judged by a policy."""

    card: Card
    policy: Policy
    rulings: tuple[Ruling, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """What the rules of severity error say: fail if one does, otherwise undecided if one is, otherwise pass."""
        if any(ruling.fails for ruling in self.rulings):
            return "fail"
        undecided = any(r.verdict == "undecided" and r.rule.severity == "error" for r in self.rulings)
        return "undecided" if undecided else "pass"

    def passes(self, *, strict: bool = False) -> bool:
        """Return whether the policy is met; with `strict`, an undecided rule does not pass."""
        return (self.strictly() if strict else self).verdict != "fail"

    def strictly(self) -> Check:
        """Return the same check, failed by undecided rules."""
        return replace(self, rulings=tuple(replace(ruling, strict=True) for ruling in self.rulings))

    def of_verdict(self, verdict: Verdict) -> list[Ruling]:
        """Return the rulings of one verdict."""
        return [ruling for ruling in self.rulings if ruling.verdict == verdict]

    def __repr__(self) -> str:
        tally = ", ".join(f"{len(self.of_verdict(one))} {one}" for one in get_args(Verdict))
        return f"Check({self.card.dataset.name!r}, {self.verdict!r}: {tally})"

    def as_dict(self) -> dict[str, object]:
        """Return it as JSON can hold it."""
        return {
            "verdict": self.verdict,
            "dataset": self.card.dataset.name,
            "fingerprint": self.card.dataset.fingerprint,
            "policy": self.policy.source,
            "rules": [ruling.as_dict() for ruling in self.rulings],
            "notes": list(self.notes),
        }


def judge_card(
    card: Card, policy: Policy, *, references: Sequence[Reference] = (), today: date | None = None
) -> Check:
    """Return what a policy says of a card.

    Args:
        card: the card of an audit.
        policy: its rules and allowances.
        references: earlier states; what violates a rule but was there and is not significantly worse passes.
        today: the day by which allowances expire; today by default.

    Raises an error for a policy that does not fit the card: another task, an unknown measure, contradictory rules, an
    expired allowance.
    """
    check_policy(policy, card, today or date.today())
    counts = finding_counts(card, policy, references)
    rulings = []
    for rule, measures in matched(policy, card, [count.measure for count in counts.values()]):
        for measure in measures:
            check_limits(policy, rule, measure)
            count = counts.get(measure.name)
            rulings.append(_of_count(rule, count) if count else _of_measure(rule, measure, card, references))
        if not measures:
            rulings.append(_unmeasured(rule, card))
    used = {one for count in counts.values() for one in count.allowed}
    idle = [a for a in policy.allow if not any(a.covers(finding.id) for finding in card.findings)]
    notes = [f"{a.finding} (line {a.line}) allows nothing on this card: remove it." for a in idle]
    if used:
        notes.insert(0, f"Accepted by the policy: {', '.join(sorted(used))}.")
    return Check(card, policy, tuple(rulings), tuple(notes))


def _unmeasured(rule: Rule, card: Card) -> Ruling:
    name = rule.pattern.partition(".")[0]
    section = card.sections.get(name)
    reason = f"{section.status}: {section.reason}" if section else "did not run"
    return Ruling(
        rule,
        Measure(rule.pattern, None),
        "undecided",
        note=f"not measured, because the section {name} {'was ' if section else ''}{reason}",
    )


def _of_measure(rule: Rule, measure: Measure, card: Card, references: Sequence[Reference]) -> Ruling:
    if measure.value is None:
        return Ruling(rule, measure, "undecided", note="not measured: the value is missing")
    low, high = _ends(measure, measure.value)
    verdicts = [judge(low, high, limit.operator, limit.bound) for limit in rule.limits]
    verdict = measure_verdict(rule, measure)
    violated = verdict == "fail"
    change, note = None, ""
    for reference in references if violated else ():
        change = reference.measure_change(measure, card)
        if change is None:
            note = note or f"not measured in {reference.name}"
        elif change.worsened(_violating_direction(rule.limits, measure.value)):
            note = f"worse than in {reference.name}"
        else:
            verdict, note = "pass", f"violated, but not significantly worse than in {reference.name}"
            break
    needed = None
    if verdict == "undecided" and measure.n and low < high:
        crossed = [limit for limit, one in zip(rule.limits, verdicts, strict=True) if one == "undecided"]
        numbers = [_needed(measure.value, low, high, limit, measure.n) for limit in crossed]
        needed = None if None in numbers else max(n for n in numbers if n is not None)
    return Ruling(rule, measure, verdict, violated, needed, note, change=change)


def measure_verdict(rule: Rule, measure: Measure) -> Verdict:
    """Return what the limits of a rule alone say of a measure, by its whole interval."""
    if measure.value is None:
        return "undecided"
    low, high = _ends(measure, measure.value)
    verdicts = [judge(low, high, limit.operator, limit.bound) for limit in rule.limits]
    return "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"


def _ends(measure: Measure, value: float) -> tuple[float, float]:
    return value if measure.low is None else measure.low, value if measure.high is None else measure.high


def _needed(value: float, low: float, high: float, limit: Limit, n: int) -> int | None:
    return examples_to_settle(value, low if value > limit.bound else high, limit.bound, n)


def _violating_direction(limits: Sequence[Limit], value: float) -> str:
    """Return in which direction a value violates its limits more."""
    broken = next(limit for limit in limits if judge(value, value, limit.operator, limit.bound) == "fail")
    return "higher" if value > broken.bound or broken.operator in ("<", "<=") else "lower"


def _of_count(rule: Rule, count: FindingCount) -> Ruling:
    """Return what a rule says of a number of findings: those that surely are so severe, and those that may be."""
    whole = count.surely + count.known
    verdicts = [judge(count.surely, count.possibly, limit.operator, limit.bound) for limit in rule.limits]
    verdict: Verdict = "fail" if "fail" in verdicts else "undecided" if "undecided" in verdicts else "pass"
    return Ruling(
        rule,
        count.measure,
        verdict,
        violated=any(judge(whole, whole, limit.operator, limit.bound) == "fail" for limit in rule.limits),
        needed=count.needed if verdict == "undecided" else None,
        note=count.note,
        findings=count.sure_ids if verdict == "fail" else count.ids,
    )
