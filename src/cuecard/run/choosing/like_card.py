"""The settings of a remedy from the card of an audit, so that what was found is what is balanced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuecard.card.card import Card
from cuecard.card.files import load_card
from cuecard.errors import UsageError
from cuecard.remedies import REMEDIES


def options_like(card: Card | str | Path, method: str) -> dict[str, Any]:
    """Return options under which a remedy balances what an audit on the card found, as the audit looked for it.

    A remedy that can follow an audit names it as `follows`, and has a function `options_like` from the audit's
    parameters to its own.
    """
    kind: Any = REMEDIES.get(method)
    follows = getattr(kind, "follows", None)
    if follows is None:
        able = [name for name in REMEDIES.names() if hasattr(REMEDIES.get(name), "follows")]
        raise UsageError(
            f"A card has settings for the method {' or '.join(map(repr, able))}, not {method!r}: leave the card out, "
            "or the method."
        )
    read = card if isinstance(card, Card) else load_card(card)
    section = read.sections.get(follows)
    if section is None or section.status != "done":
        raise UsageError(
            f"The card has no finished audit {follows!r} to copy the settings from: run cuecard audit --only {follows} "
            "first."
        )
    options: dict[str, Any] = kind.options_like({**section.parameters, **section.settled})
    return options
