"""The audit of the same data in a folder beside a card, which answers what a card about models cannot."""

from __future__ import annotations

import os
from pathlib import Path

from cuecard.card.card import Card
from cuecard.card.files import CARD_FILE, card_without_tables
from cuecard.errors import CueCardError

#: Folders beside a card that are looked into, and the size of a card that is read.
_MOST_FOLDERS, _MOST_BYTES = 200, 20_000_000


def audit_beside(card: Card, folder: Path) -> Card | None:
    """Return the audit of the data of a card that is in a folder beside `folder`, without its tables; or None.

    Of several, it is the one with the most analyses that ran, and of these the first by name.
    """
    first = next(iter(card.sections.values()), None)
    if first is None or first.about != "models":
        return None
    folder = folder.absolute()
    audits = [
        found
        for file in _cards_in(folder.parent)
        if file.parent != folder and (found := _audit(file, card.dataset.fingerprint)) is not None
    ]
    return max(audits, key=_analyses, default=None)


def _cards_in(place: Path) -> list[Path]:
    """Return the cards in the folders of a place, which links do not lead out of."""
    try:
        with os.scandir(place) as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    files = [place / name / CARD_FILE for name in names[:_MOST_FOLDERS] if not name.startswith(".")]
    return [file for file in files if file.is_file() and not file.is_symlink()]


def _audit(file: Path, fingerprint: str) -> Card | None:
    """Return a card if it is an audit of these data; one that cannot be read is none."""
    try:
        if file.stat().st_size > _MOST_BYTES:
            return None
        raw = file.read_bytes()
        card = card_without_tables(raw, file) if fingerprint.encode() in raw else None
    except (OSError, CueCardError):
        return None
    if card is None or card.dataset.fingerprint != fingerprint:
        return None
    first = next(iter(card.sections.values()), None)
    return card if first is not None and first.about == "data" else None


def _analyses(card: Card) -> int:
    return sum(section.status == "done" for section in card.sections.values())
