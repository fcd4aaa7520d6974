"""Findings as statements about a dataset, fair to what was and was not tested."""

from __future__ import annotations

from cuecard import wording
from cuecard.analysis import Finding
from cuecard.card.card import Card
from cuecard.report.findings import measured, ordered_findings
from cuecard.wording import display_text

#: What holds of every audit.
NO_PROOF = "A result at chance does not show that the data is free of shortcuts."


def biases(card: Card) -> list[str]:
    """Return one sentence per finding that gives the label away, the most serious first."""
    about_data = {name for name, section in card.sections.items() if section.about == "data"}
    return [
        statement(finding)
        for finding in ordered_findings(card)
        if finding.severity != "info" and finding.section in about_data
    ]


def limitations(card: Card) -> list[str]:
    """Return what the audit does not show: caveats, analyses that did not run, rows that were left out."""
    said = [caveats(card)]
    said += [
        f"Not tested: {section.title} ({section.status}: {display_text(section.reason, 300)})."
        for section in card.sections.values()
        if section.status != "done"
    ]
    said += [
        f"Not audited: {wording.left_out(display_text(reason, 200), n)}."
        for reason, n in card.dataset.dropped.items()
        if n
    ]
    return said


def caveats(card: Card) -> str:
    """Return how to read the numbers of a card: what its analyses declare, and what holds of every audit."""
    own = [
        section.caveat for section in card.sections.values() if section.status == "done" and section.caveat
    ]
    return " ".join([*dict.fromkeys(display_text(text, 600) for text in own), NO_PROOF])


def statement(finding: Finding) -> str:
    """Return a finding as one sentence with its number, interval and chance level."""
    title = display_text(finding.title, 300).removesuffix(".")
    if finding.value is None:
        return f"{title}."
    said = measured(finding)
    if finding.chance is not None:
        said += f", chance {wording.in_unit(finding.chance, finding.unit)}"
    if finding.n is not None:
        said += f", {wording.count(finding.n)} {finding.counted}"
    return f"{title} ({said})."
