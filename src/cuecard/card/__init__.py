"""The result: the card, its files and its schema."""

from cuecard.card.card import Card, DatasetInfo, FindingModel, Provenance, Section, SplitInfo
from cuecard.card.diff import Change, Comparison, CueChange, compare
from cuecard.card.files import load_card, save_card
from cuecard.card.joining import join_cards
from cuecard.card.schema import card_schema, schema_text

__all__ = [
    "Card",
    "Change",
    "Comparison",
    "CueChange",
    "DatasetInfo",
    "FindingModel",
    "Provenance",
    "Section",
    "SplitInfo",
    "card_schema",
    "compare",
    "join_cards",
    "load_card",
    "save_card",
    "schema_text",
]
