"""What contradicts itself on a card, over all of its sections and as its findings are graded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cuecard.analysis import Finding
from cuecard.card import claims
from cuecard.card.card import Card

_HEDGED = re.compile(r"\b(?:[Nn]ot?|may)\b")
_ABOVE = re.compile(r"above chance|beats? chance|better than chance")


def contradictions(card: Card) -> list[str]:
    """Return a sentence for every claim of a card that another one, or its own interval, contradicts."""
    summaries = {name: section.summary for name, section in card.sections.items()}
    found = list(claims.contradictions(card.all_measures(), card.findings, card.tables, summaries))
    return [*found, *(sentence for finding in card.findings for sentence in _beside_chance(finding))]


def _beside_chance(finding: Finding) -> Iterator[str]:
    """Yield what an interval that includes chance contradicts; with a handful of units, a test may see more than it."""
    low, high, chance = finding.low, finding.high, finding.chance
    if low is None or high is None or chance is None:
        return
    unhedged = _ABOVE.search(finding.title) and not _HEDGED.search(finding.title)
    if unhedged and low < chance - claims.TOLERANCE:
        yield f"{finding.id} says {finding.title!r}, and its interval begins at {low}"
    if finding.severity != "info" and finding.role == "cue" and low < chance < high:
        yield f"{finding.id} is {finding.severity}, and its interval includes chance, {chance}"
