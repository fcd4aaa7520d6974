"""A finding as the text of an issue for the maintainers of a dataset."""

from __future__ import annotations

from cuecard.analysis import Measure
from cuecard.card.card import Card, FindingModel
from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.report import numbers
from cuecard.report.exports.statements import LOWER_BOUND
from cuecard.report.findings import ordered_findings
from cuecard.report.markdown import code, escape, finding_markdown, markdown_table

TIES = "Ties count as one over the number of tied answers."


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
                numbers.in_unit(measure.value, measure.unit),
                _interval(measure),
                numbers.in_unit(measure.chance, measure.unit),
                numbers.count(measure.n),
            )
            for measure in related
        ]
        parts.append(markdown_table(("Controls and slices", "Value", "95 % CI", "Chance", "Examples"), rows))
    if finding.section in ("partial_input", "slices"):
        parts.append(f"{TIES} {LOWER_BOUND}")
    parts.append("A cue in the data does not mean that a model uses it.")
    return "\n\n".join(parts) + "\n"


def _chosen(card: Card, finding_id: str | None) -> FindingModel:
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


def _measures(card: Card, finding: FindingModel) -> list[Measure]:
    """Return the measures beside which a finding is read: of its shortcut, its controls, and its slices."""
    key = finding.id.removeprefix(f"{finding.section}/").partition("/")[0]
    wanted = {f"{finding.section}.{key}.", f"slices.{key}."}
    controls = {
        "partial_input.full.accuracy",
        "partial_input.majority.accuracy",
        "pair_graph.majority.accuracy",
    }
    return [
        measure
        for measure in card.all_measures()
        if any(measure.name.startswith(prefix) for prefix in wanted)
        or (measure.name in controls and measure.section == finding.section)
    ]


def _interval(measure: Measure) -> str:
    if measure.low is None or measure.high is None:
        return numbers.MISSING
    low, high = (numbers.in_unit(end, measure.unit) for end in (measure.low, measure.high))
    return f"{low} to {high}"
