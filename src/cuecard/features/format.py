"""Format: punctuation, capitals, digits and markup, seen on the raw text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from cuecard.features.family import Presence
from cuecard.text import Encoded

#: Name of a feature and the regular expression that a text with it matches (Rust syntax, Unicode).
PATTERNS = {
    "ends with a full stop": r"[.。]\s*$",
    "no final punctuation": r"[\p{L}\p{N}]\s*$",
    "question mark": r"[?？]",
    "exclamation mark": r"[!！]",
    "comma": r"[,，、]",
    "semicolon or colon": r"[;:；：]",
    "quotation marks": r"[\"“”«»「」]",
    "brackets": r"[()\[\]（）]",
    "dash": r"\s[-–—]\s|—",
    "ellipsis": r"\.\.\.|…",
    "digit": r"\p{N}",
    "starts in lower case": r"^\s*\p{Ll}",
    "word in capitals": r"\b\p{Lu}{2,}\b",
    "emoji": r"\p{Extended_Pictographic}",
    "more than one line": r"\S\s*\n\s*\S",
    "list": r"(?m)^\s*(?:[-*•]|\d+[.)])\s+\S",
    "bold or italic": r"\*\*[^*\n]+\*\*|__[^_\n]+__",
    "heading": r"(?m)^\s*#{1,6}\s+\S",
    "code": r"`[^`\n]+`|```",
    "link": r"https?://|\]\(",
    "low written rating": r"(?i)\b[0-4](?:[.,]\d)?\s?/\s?10\b|\b[0-2](?:[.,]\d)?\s?/\s?5\b"
    r"|\b(?:one|two|[12])[\s-]stars?\b",
    "high written rating": r"(?i)\b(?:[7-9](?:[.,]\d)?|10)\s?/\s?10\b|\b[45](?:[.,]\d)?\s?/\s?5\b"
    r"|\b(?:four|five|[45])[\s-]stars?\b",
}


@dataclass(frozen=True)
class Formats:
    """How a text looks rather than what it says."""

    name: ClassVar[str] = "format"
    description: ClassVar[str] = "punctuation, capitals, digits, written ratings, markdown, lists, code"
    phrase: ClassVar[str] = "{}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    def presence(self, data: Encoded) -> Presence:
        """Return which instances look like what."""
        return matching(data, PATTERNS)


def matching(data: Encoded, patterns: dict[str, str]) -> Presence:
    """Return which instances match which named patterns in the texts of the scope."""
    fields = {"hypothesis": ["hypothesis"], "premise": ["premise"], "both": ["premise", "hypothesis"]}[
        data.scope
    ]
    matches = data.instances.table.lazy().select(
        pl.any_horizontal([pl.col(field).str.contains(pattern) for field in fields])
        .fill_null(False)
        .alias(name)
        for name, pattern in patterns.items()
    )
    columns = matches.collect()
    return Presence.from_columns({name: columns[name].to_numpy() for name in patterns}, columns.height)
