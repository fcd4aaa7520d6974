"""How many findings are at least so severe: surely, and possibly, as their intervals allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cuecard.analysis import HIGH_GAIN, MEDIUM_GAIN, SEVERITIES, Measure, Severity, severity_of
from cuecard.card.card import Card, FindingModel
from cuecard.card.policy.references import Reference
from cuecard.card.policy.rules import Policy
from cuecard.stats.limits.limits import examples_to_settle
from cuecard.wording import listed, plural

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
    findings: Sequence[FindingModel],
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


def _possible(finding: FindingModel) -> Severity:
    """Return how severe a finding may be at the upper end of its interval.

    Only a severity that follows from the gain can rise; one that was set for another reason stays.
    """
    if finding.severity == "info" or finding.severity != severity_of(finding.gain):
        return finding.severity
    return severity_of(_gain(finding, finding.high))


def _gain(finding: FindingModel, value: float | None) -> float:
    if finding.unit != "share" or value is None or finding.chance is None or finding.chance >= 1:
        return 0.0
    return finding.coverage * max(0.0, (value - finding.chance) / (1 - finding.chance))


def _needed(finding: FindingModel, severity: Severity) -> int | None:
    """Return how many examples would settle whether a finding is so severe."""
    if finding.value is None or finding.low is None or finding.high is None or not finding.n:
        return None
    assert finding.chance is not None
    limit = finding.chance + _LEAST_GAIN[severity] * (1 - finding.chance) / finding.coverage
    end = finding.low if finding.value > limit else finding.high
    return examples_to_settle(finding.value, end, limit, finding.n)
