"""When two texts are the same sentence: the one comparison that splits and overlaps go by."""

from __future__ import annotations

import polars as pl

# Marks that open or close a word and say nothing by themselves. Signs that carry meaning are not among them:
# + - < > = % $ # & @ * / keep C apart from C++, 5 from -5, and 1 < 2 from 1 > 2.
_OPENING = r"(^|\s)(?:[\p{Ps}\p{Pi}\p{Pf}\"'`´¡¿…—―]|\.\.+)+"
_CLOSING = r"[\p{Pe}\p{Pf}\p{Pi}\p{Po}`´—―--[#%&@*/\\‰‱′″†‡§¶·]]+(\s|$)"
_SPACES = r"\s{2,}|[^\S ]"


def normalised(texts: pl.Series) -> pl.Series:
    """Return texts without case, doubled spaces and the punctuation around words.

    What is left is equal for texts that a reader would call the same sentence. A text of nothing but marks
    keeps them, so only a text without any visible character becomes empty.
    """
    lower = composed(texts).str.to_lowercase()
    bare = _spaced(lower.str.replace_all(_OPENING, " ").str.replace_all(_CLOSING, " "))
    nothing_left = bare == ""
    if not nothing_left.any():
        return bare
    marks = _spaced(lower.filter(nothing_left))
    return bare.scatter(nothing_left.arg_true(), marks)


def composed(texts: pl.Series) -> pl.Series:
    """Return texts with every accent joined to its letter (NFC), however it was typed."""
    beyond_ascii = (texts.str.len_bytes() != texts.str.len_chars()).fill_null(False)
    if not beyond_ascii.any():
        return texts
    joined = texts.filter(beyond_ascii).str.normalize("NFC")
    return texts.clone().scatter(beyond_ascii.arg_true(), joined)


def _spaced(texts: pl.Series) -> pl.Series:
    return texts.str.replace_all(_SPACES, " ").str.strip_chars()
