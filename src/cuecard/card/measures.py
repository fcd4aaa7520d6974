"""Ways to look measures up on a card: by slice, and by how much each gives away."""

from __future__ import annotations

from collections.abc import Sequence

from cuecard.analysis import SEVERITIES, About, Measure, severity_of
from cuecard.card.card import Card


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

    That is the accuracy with the largest gain over chance, or a score such as an AUC where a finding about it is more
    serious: a model may rank answers well and still always predict the most frequent label.
    """
    largest = next(iter(shortcuts(card)), None)
    worst = SEVERITIES.index(severity_of(largest.gain) if largest else "info")
    of_data = measures_about(card, ("data",))
    for finding in card.findings:
        if (
            finding.unit == "score"
            and finding.chance is not None
            and not finding.cue
            and finding.role == "cue"
        ):
            rank = SEVERITIES.index(finding.severity)
            same = (m for m in of_data if m.section == finding.section and m.value == finding.value)
            measure = next(same, None)
            if rank < worst and measure is not None and measure.unit == "score":
                largest, worst = measure, rank
    return largest
