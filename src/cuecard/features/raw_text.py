"""Features of the raw text: characters, the format, and users' own regular expressions and functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from cuecard.errors import UsageError
from cuecard.features.family import PATTERN_FAMILY, PATTERN_PHRASE, Presence
from cuecard.stats.arrays import Bools
from cuecard.text import Encoded
from cuecard.wording import only_applies_to

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


#: The columns that hold the texts of a scope.
SCOPE_COLUMNS = {"hypothesis": ("hypothesis",), "premise": ("premise",), "both": ("premise", "hypothesis")}


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
    fields = SCOPE_COLUMNS[data.scope]
    matches = data.instances.table.lazy().select(
        pl.any_horizontal([pl.col(field).str.contains(pattern) for field in fields])
        .fill_null(False)
        .alias(name)
        for name, pattern in patterns.items()
    )
    columns = matches.collect()
    return Presence.from_columns({name: columns[name].to_numpy() for name in patterns}, columns.height)


#: What is wrong with a pattern, by what the library of regular expressions calls it.
_REASONS = {
    "unclosed group": "an opening parenthesis has no closing one",
    "unopened group": "a closing parenthesis has no opening one",
    "unclosed character class": "an opening bracket has no closing one",
    "repetition operator missing": "nothing stands before a sign of repetition (*, + or ?)",
    "invalid repetition": "the numbers of a repetition {a,b} are not in order",
    "escape sequence": "a backslash has no letter after it, or one that means nothing",
}
#: A user's function: the table of instances in, one boolean column per feature out.
FeatureFunction = Callable[[pl.DataFrame], Mapping[str, pl.Series]]


@dataclass(frozen=True)
class Regexes:
    """Named regular expressions, each one a feature of the texts it matches."""

    name: ClassVar[str] = PATTERN_FAMILY
    description: ClassVar[str] = "a regular expression of yours matches"
    phrase: ClassVar[str] = PATTERN_PHRASE
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    patterns: tuple[tuple[str, str], ...]

    def __post_init__(self) -> None:
        for name, pattern in self.patterns:
            try:
                pl.Series([""]).str.contains(pattern)
            except pl.exceptions.ComputeError as error:
                raise UsageError(_invalid(name, pattern, str(error))) from None

    def presence(self, data: Encoded) -> Presence:
        """Return which instances match which pattern."""
        return matching(data, dict(self.patterns))


def _invalid(name: str, pattern: str, error: str) -> str:
    """Return what is wrong with a pattern, where, and what to type instead."""
    if re.search(r"\(\?<?[=!]|\\[1-9]", pattern):
        reason = "look-around and back-references are not supported: write the pattern without them"
    else:
        reason = next((ours for theirs, ours in _REASONS.items() if theirs in error), "it cannot be read")
        place = re.search(
            r"^ {4}( *)\^", error, re.MULTILINE
        )  # the library quotes the pattern, indented by four
        reason += f" (character {len(place.group(1)) + 1})" if place else ""
        reason += r". Put a backslash before a sign that stands for itself, such as \( or \["
    return f"The regular expression {name}={pattern} is not valid: {reason}."


@dataclass(frozen=True)
class Function:
    """Features computed by a function from the table of instances to named boolean columns."""

    name: str
    function: FeatureFunction
    description: str = "a function of yours"
    phrase: ClassVar[str] = "{}"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None

    def presence(self, data: Encoded) -> Presence:
        """Return what the function said, after checking its shape."""
        columns = {}
        for name, values in self.function(data.instances.table).items():
            array = np.asarray(values)
            if array.shape != (len(data.instances),) or array.dtype != np.bool_:
                raise UsageError(
                    f"The feature {name!r} of {self.name!r} must be one boolean per instance, "
                    f"not an array of shape {array.shape} and type {array.dtype}."
                )
            columns[name] = array
        return Presence.from_columns(columns, len(data.instances))


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
        table = data.instances.table
        return Presence.from_columns(
            _written([table[side] for side in SCOPE_COLUMNS[data.scope]]), table.height
        )


@dataclass(frozen=True)
class PremiseCharacters:
    """Which characters a premise is written with: what `Characters` are of the text that is looked at otherwise."""

    name: ClassVar[str] = "premise_characters"
    description: ClassVar[str] = "the same of the premise of a pair"
    phrase: ClassVar[str] = "{} in the premise"
    content_blind: ClassVar[bool] = True
    languages: ClassVar[frozenset[str] | None] = None
    unit: ClassVar[str] = "premise"

    def presence(self, data: Encoded) -> Presence:
        """Return which instances have a premise that is written with what."""
        if data.instances.task != "pair":
            raise UsageError(f"premise_characters {only_applies_to(['pair'], data.instances.task)}")
        if data.scope != "hypothesis":
            raise UsageError(f"characters reads the premise with --scope {data.scope}")
        premises = data.instances.table["premise"]
        return Presence.from_columns(_written([premises]), len(premises))


def _written(sides: Sequence[pl.Series]) -> dict[str, Bools]:
    """Return which rows have each way of writing on one of the sides."""
    n = len(sides[0])
    columns = {name: np.zeros(n, dtype=np.bool_) for name in (*OUTSIDE_ASCII, *ANYWHERE)}
    for texts in sides:
        for name, matches in _matches(texts, ANYWHERE).items():
            columns[name] |= matches
        rows = np.flatnonzero(_outside_ascii(texts))
        if len(rows):
            for name, matches in _matches(texts.gather(rows), OUTSIDE_ASCII).items():
                columns[name][rows] |= matches
    return columns


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
