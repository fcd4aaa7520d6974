"""Ways to look measures up on a card: by slice, and by how much each gives away."""

from __future__ import annotations

from collections.abc import Sequence

from cuecard.analysis import SEVERITIES, About, Measure, most_serious_first, severity_of
from cuecard.card.card import Card, FindingModel


def slices(card: Card, name: str) -> dict[str, Measure]:
    """Return the measures named `name.SLICE` by their slice, such as those of every model by the model's name."""
    prefix = f"{name}."
    return {m.name.removeprefix(prefix): m for m in card.all_measures() if m.name.startswith(prefix)}


def value_of(card: Card, name: str) -> float | None:
    """Return the value of a measure, or None where the card does not have it."""
    return next((m.value for m in card.all_measures() if m.name == name), None)


def measures_about(card: Card, about: Sequence[About]) -> list[Measure]:
    """Return the measures of sections that ran and are about one of these."""
    return [
        m
        for section in card.sections.values()
        if section.status == "done" and section.about in about
        for m in section.measures
    ]


def shortcuts(card: Card, about: Sequence[About] = ("data",)) -> list[Measure]:
    """Return the measures that give something away, the largest gain over chance first."""
    giving = [m for m in measures_about(card, about) if m.gain > 0]
    return sorted(giving, key=lambda m: -m.gain)


def largest_shortcut(card: Card) -> Measure | None:
    """Return the measure of the data that gives most away, if any does.

    That is the accuracy with the largest gain over chance, or what the first finding is about that is more serious than
    this gain: a model may rank answers well (AUC) and still always predict the most frequent label.
    """
    largest = next(iter(shortcuts(card)), None)
    worst = SEVERITIES.index(severity_of(largest.gain) if largest else "info")
    of_data = measures_about(card, ("data",))
    for finding in most_serious_first(card.findings):
        measured = finding.unit in ("score", "share") and finding.chance is not None
        if measured and finding.coverage == 1.0 and not finding.cue and finding.role == "cue":
            rank = SEVERITIES.index(finding.severity)
            measure = next((m for m in of_data if states(finding, m)), None)
            if rank < worst and measure is not None:
                largest, worst = measure, rank
    return largest


def states(finding: FindingModel, measure: Measure) -> bool:
    """Return whether a finding states this measure."""
    stated = finding.section, finding.unit, finding.value
    return stated == (measure.section, measure.unit, measure.value) and measure.worse == "higher"
