"""What contradicts itself on a card, over all of its sections and as its findings are graded."""

from __future__ import annotations

from cuecard.card import claims
from cuecard.card.card import Card


def contradictions(card: Card) -> list[str]:
    """Return a sentence for every claim of a card that another one, or its own interval, contradicts."""
    summaries = {name: section.summary for name, section in card.sections.items()}
    return list(claims.contradictions(card.all_measures(), card.findings, card.tables, summaries))
