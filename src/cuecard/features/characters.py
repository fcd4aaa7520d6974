"""Characters: code points, spacing, quotes, dashes, casing, last characters and number formats of the raw text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.features.family import Presence
from cuecard.features.patterns import SCOPE_COLUMNS
from cuecard.stats.arrays import Bools
from cuecard.text import Encoded

#: Name of a feature and the regular expression that a text with it matches (Rust syntax): any text may match.
ANYWHERE = {
    "a straight apostrophe": r"'",
    "straight quotation marks": r'"',
    "a leading space": r"^\s",
    "a trailing space": r"[^\S\n]$",
    "a trailing line break": r"\n$",
    "two spaces in a row": r"\S {2,}\S",
    "a tab": r"\t",
    "a carriage return": r"\r",
    "a space before punctuation": r"[^\s.] [,.;:!?](?:\s|$)",
    "no space after a comma": r"\pL,\pL",
    "a last quotation mark": r"[\"'“”’»」]\s*$",
    "a last closing bracket": r"[)\]）】]\s*$",
    "a last comma, colon or semicolon": r"[,;:，；：、]\s*$",
    "a first letter in upper case": r"^[^\pL\pN]*\p{Lu}",
    "all words capitalised": r"^[^\pL]*\p{Lu}\S*(?:\s+\p{Lu}\S*)+\s*$",
    "all letters in capitals": r"^[^\p{Ll}]*\p{Lu}[^\p{Ll}]*\p{Lu}[^\p{Ll}]*$",
    "a thousands separator": r"\b\d{1,3}(?:,\d{3})+\b",
    "a decimal number": r"\b\d+\.\d",
    "a leading zero": r"\b0\d",
    "a percent sign": r"[%％]",
    "a currency sign": r"\p{Sc}",
    "an HTML entity": r"&(?:#\d+|#x[0-9a-fA-F]+|[a-zA-Z]+);",
    "an HTML tag": r"</?[a-zA-Z][^<>\n]*>",
    "an escaped line break": r"\\n",
}
#: Likewise, for texts with a character outside ASCII: the others cannot match.
OUTSIDE_ASCII = {
    "a curly apostrophe": r"[‘’ʼ]",
    "curly quotation marks": r"[“”„]",
    "an en dash": r"–",
    "an em dash": r"—",
    "an unusual hyphen or minus": r"[\u{2010}-\u{2012}\u{2212}\u{fe63}]",
    "an ellipsis character": r"…",
    "a non-breaking space": r"[\u{a0}\u{202f}\u{2007}]",
    "an unusual space": r"[\u{1680}\u{2000}-\u{2006}\u{2008}-\u{200a}\u{205f}\u{3000}]",
    "a zero-width character": r"[\u{200b}-\u{200f}\u{2060}\u{feff}]",
    "a soft hyphen": r"\u{ad}",
    "a full-width form": r"[\u{ff01}-\u{ff5e}]",
    "an accented letter": r"[\p{Latin}&&[^a-zA-Zªº\u{ff21}-\u{ff3a}\u{ff41}-\u{ff5a}]]",
    "a letter of another script": r"[\pL&&[^\p{Latin}ʼ]]",
    "a combining mark": r"\p{M}",
    "a replacement character": r"\u{fffd}",
}


@dataclass(frozen=True)
class Characters:
    """Which characters a text is written with: what an editor does not show, and a model sees."""

    name: ClassVar[str] = "characters"
    description: ClassVar[str] = (
        "code points, spacing, quotes, dashes, casing, last characters, number formats"
    )
    phrase: ClassVar[str] = "{}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    def presence(self, data: Encoded) -> Presence:
        """Return which instances are written with what."""
        table, n = data.instances.table, len(data.instances)
        columns = {name: np.zeros(n, dtype=np.bool_) for name in (*OUTSIDE_ASCII, *ANYWHERE)}
        for side in SCOPE_COLUMNS[data.scope]:
            texts = table[side]
            for name, matches in _matches(texts, ANYWHERE).items():
                columns[name] |= matches
            rows = np.flatnonzero(_outside_ascii(texts))
            if len(rows):
                for name, matches in _matches(texts.gather(rows), OUTSIDE_ASCII).items():
                    columns[name][rows] |= matches
        return Presence.from_columns({name: found for name, found in columns.items() if found.any()}, n)


def _matches(texts: pl.Series, patterns: dict[str, str]) -> dict[str, Bools]:
    """Return which texts match each pattern."""
    column = pl.col(texts.name)
    matches = (
        texts.to_frame()
        .lazy()
        .select(column.str.contains(p).fill_null(False).alias(n) for n, p in patterns.items())
    )
    return {series.name: series.to_numpy() for series in matches.collect()}


def _outside_ascii(texts: pl.Series) -> Bools:
    """Return which texts have a character outside ASCII: they have more bytes than characters."""
    return (texts.str.len_bytes() > texts.str.len_chars()).fill_null(False).to_numpy()
