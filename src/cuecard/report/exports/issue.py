"""A finding as the text of an issue for the maintainers of a dataset."""

from __future__ import annotations

from cuecard import wording
from cuecard.analysis import Finding, Measure
from cuecard.card.card import Card
from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.report.exports.statements import NO_PROOF
from cuecard.report.findings import ordered_findings
from cuecard.report.markdown import code, escape, finding_markdown, markdown_table


def issue_markdown(card: Card, finding_id: str | None = None) -> str:
    """Return a finding as an issue: numbers, chance, control, slices, tie rule, fingerprint and command.

    Args:
        card: the card of an audit.
        finding_id: the id of the finding; the most serious one by default.
    """
    finding = _chosen(card, finding_id)
    parts = [finding_markdown(card, finding).rstrip(), f"Finding id: {code(finding.id)}."]
    related = _measures(card, finding)
    if related:
        rows = [
            (
                escape(measure.label or measure.name),
                wording.in_unit(measure.value, measure.unit),
                _interval(measure),
                wording.in_unit(measure.chance, measure.unit),
                wording.count(measure.n),
            )
            for measure in related
        ]
        parts.append(markdown_table(("Controls and slices", "Value", "95 % CI", "Chance", "Examples"), rows))
    if caveat := card.sections[finding.section].caveat:
        parts.append(f"{escape(caveat)} {NO_PROOF}")
    parts.append("A cue in the data does not mean that a model uses it.")
    return "\n\n".join(parts) + "\n"


def _chosen(card: Card, finding_id: str | None) -> Finding:
    findings = ordered_findings(card)
    if finding_id is None:
        if not findings or findings[0].severity == "info":
            raise UsageError(
                f"The card of {card.dataset.name} has no finding to report, only remarks: choose one with --finding ID."
            )
        return findings[0]
    chosen = next((finding for finding in findings if finding.id == finding_id), None)
    if chosen is None:
        raise unknown_name("finding", finding_id, [finding.id for finding in findings])
    return chosen


def _measures(card: Card, finding: Finding) -> list[Measure]:
    """Return the measures beside which a finding is read: of its shortcut in any section, and the controls of its own.

    Controls are accuracies that are neither good nor bad: of the majority answer, or with the full input.
    """
    key = finding.id.removeprefix(f"{finding.section}/").partition("/")[0]

    def of_shortcut(measure: Measure) -> bool:
        return measure.name.startswith(f"{measure.section}.{key}.")

    def is_control(measure: Measure) -> bool:
        own = measure.section == finding.section
        return own and measure.worse == "neither" and measure.name.endswith(".accuracy")

    return [measure for measure in card.all_measures() if of_shortcut(measure) or is_control(measure)]


def _interval(measure: Measure) -> str:
    if measure.low is None or measure.high is None:
        return wording.MISSING
    low, high = (wording.in_unit(end, measure.unit) for end in (measure.low, measure.high))
    return f"{low} to {high}"
