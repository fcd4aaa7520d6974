"""Findings as statements about a dataset, fair to what was and was not tested."""

from __future__ import annotations

from cuecard.card.card import Card, FindingModel
from cuecard.report import numbers
from cuecard.report.findings import ordered_findings
from cuecard.report.texts import display_text

LOWER_BOUND = (
    "Accuracies from partial input are lower bounds: a stronger model may find more. A result at chance does not show "
    "that the data is free of shortcuts."
)
#: Sections whose accuracies are those of a learner, so that a stronger one may do better.
_LEARNED = ("partial_input", "pair_graph", "slices")


def biases(card: Card) -> list[str]:
    """Return one sentence per finding that gives the label away, the most serious first."""
    about_data = {name for name, section in card.sections.items() if section.about == "data"}
    return [
        statement(finding)
        for finding in ordered_findings(card)
        if finding.severity != "info" and finding.section in about_data
    ]


def limitations(card: Card) -> list[str]:
    """Return what the audit does not show: lower bounds, analyses that did not run, rows that were left out."""
    said = [LOWER_BOUND]
    said += [
        f"Not tested: {section.title} ({section.status}: {display_text(section.reason, 300)})."
        for section in card.sections.values()
        if section.status != "done"
    ]
    said += [
        f"Not audited: {numbers.plural(n, 'row')} ({display_text(reason, 200)})."
        for reason, n in card.dataset.dropped.items()
        if n
    ]
    return said


def statement(finding: FindingModel) -> str:
    """Return a finding as one sentence with its number, interval and chance level."""
    title = display_text(finding.title, 300).removesuffix(".")
    if finding.value is None:
        return f"{title}."
    write = numbers.in_unit
    least = "at least " if finding.section in _LEARNED and finding.unit == "share" else ""
    said = f"{least}{write(finding.value, finding.unit)}"
    if finding.low is not None and finding.high is not None:
        said += f", 95 % CI {write(finding.low, finding.unit)} to {write(finding.high, finding.unit)}"
    if finding.chance is not None:
        said += f", chance {write(finding.chance, finding.unit)}"
    if finding.n is not None:
        said += f", {numbers.count(finding.n)} {finding.counted}"
    return f"{title} ({said})."
