"""The result: the card, its files and its schema."""

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names
from cuecard.card.board import Board, board
from cuecard.card.card import Card, DatasetInfo, Provenance, Section, SplitInfo, join_cards
from cuecard.card.files import (
    CARD_FILES,
    card_folders,
    card_schema,
    load_card,
    save_card,
    save_report,
    schema_text,
    staged_card,
    stale_report,
)

if TYPE_CHECKING:  # an audit compares no cards
    from cuecard.card.changes import CueChange
    from cuecard.card.diff import Change, Comparison, compare

__getattr__ = lazy_names(__name__)

__all__ = [
    "CARD_FILES",
    "Board",
    "Card",
    "Change",
    "Comparison",
    "CueChange",
    "DatasetInfo",
    "Provenance",
    "Section",
    "SplitInfo",
    "board",
    "card_folders",
    "card_schema",
    "compare",
    "join_cards",
    "load_card",
    "save_card",
    "save_report",
    "schema_text",
    "staged_card",
    "stale_report",
]
