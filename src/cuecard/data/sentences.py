"""Texts: when two are the same sentence, which stand for a missing one, and their bytes."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt
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


Scalar = TypeVar("Scalar", bound=np.generic)


def utf8(texts: pl.Series) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of all texts and where each begins and ends; a missing text is empty."""
    if texts.null_count():
        texts = texts.fill_null("")
    array = texts.to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offset_buffer, data_buffer = array.buffers()
    if offset_buffer is None or len(array) == 0:
        offsets = np.zeros(len(array) + 1, dtype=np.int64)
    else:
        offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", dtype=np.uint8)
    return read_only(data[: offsets[-1]]), read_only(offsets)


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return the array closed for writing: always so, one compiled version of a loop serves all callers."""
    array.flags.writeable = False
    return array
