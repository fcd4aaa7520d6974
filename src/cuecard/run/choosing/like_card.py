"""The settings of a remedy from the card of an audit, so that what was found is what is balanced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuecard.card.card import Card
from cuecard.card.files import load_card
from cuecard.errors import UsageError


def options_like(card: Card | str | Path, method: str) -> dict[str, Any]:
    """Return options under which a remedy balances what the cue audit of a card found, as the audit looked for it.

    Tokens, scope, language, families, regular expressions and the smallest count are the audit's; the features are
    those that are significant in the data to be balanced.
    """
    if method != "lexical":
        raise UsageError(
            f"A card has settings for the method 'lexical', not {method!r}: leave the card out, or the method."
        )
    read = card if isinstance(card, Card) else load_card(card)
    section = read.sections.get("cues")
    if section is None or section.status != "done":
        raise UsageError(
            "The card has no finished cue audit to copy the settings from: run cuecard audit --only cues first."
        )
    chosen = {**section.parameters, **section.settled}
    families = chosen.get("features")
    options = {
        "features": ("significant",),
        "among": tuple(families) if families else None,
        "regex": tuple((str(name), str(pattern)) for name, pattern in chosen.get("regex") or ()) or None,
        **{name: chosen.get(name) for name in ("tokens", "scope", "language", "annotator", "min_count")},
    }
    return {name: value for name, value in options.items() if value is not None}
