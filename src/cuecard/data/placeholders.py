"""Texts that stand where a text is missing."""

from __future__ import annotations

import polars as pl

#: What stands where a text is missing; `<noinput>` and `[NS]` are read without their brackets.
PLACEHOLDERS = frozenset(
    {
        "ns",
        "n/a",
        "#n/a",
        "nan",
        "null",
        "noinput",
        "no input",
        "tbd",
        "todo",
        "lorem ipsum",
        "undefined",
        "removed",
    }
    | {"deleted", "missing", "placeholder", "-", "--", "---", "?", "…"}
)
#: Placeholders that are also ordinary answers; they count in brackets only, such as "[removed]".
_WORDS = ("deleted", "missing", "placeholder", "removed", "undefined")
_BRACKETS = " \t\r\n<>[](){}\"'`.!"


def is_placeholder(texts: pl.Series) -> pl.Series:
    """Return which texts only say that there is no text."""
    bare = texts.str.to_lowercase().str.strip_chars(_BRACKETS)
    marked = texts.str.contains(r"^\s*[<\[({]") | ~bare.is_in(_WORDS)
    return (bare.is_in(sorted(PLACEHOLDERS)) & marked).fill_null(False)
