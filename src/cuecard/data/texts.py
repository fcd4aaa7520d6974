"""Text columns as they enter the table of instances, and what makes a text unusable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from cuecard.data.files.raw import RawTable
from cuecard.data.layout.dialogues import is_text_list, list_texts
from cuecard.errors import InputError

#: A single text longer than this is taken for a broken file.
MAX_BYTES = 10_000_000


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows that cannot be used: why in two words, in a clause that follows "row N of FILE", and which."""

    reason: str
    clause: str
    rows: pl.Series
    remedy: str = "correct the row"


def text(raw: RawTable, column: str) -> pl.Series:
    """Return a column as text, empty where it is null; a list of tokens, sentences or messages is one text."""
    values = raw.frame[column]
    if is_text_list(values.dtype):
        values = list_texts(values)
    if values.dtype.is_nested() or values.dtype == pl.Binary:
        raise InputError(
            f"Column {column!r} of {raw.where} holds {values.dtype}, not text: name another with --columns."
        )
    if values.dtype != pl.String:
        values = values.cast(pl.String)
    return values.fill_null("") if values.null_count() else values


def joined_texts(parts: Sequence[pl.Series]) -> pl.Series:
    """Return texts joined by a space row by row, leaving out the empty ones."""
    whole = parts[0]
    for part in parts[1:]:
        first, second = pl.lit(whole), pl.lit(part)
        whole = pl.select(
            pl.when(first == "")
            .then(second)
            .when(second == "")
            .then(first)
            .otherwise(pl.concat_str(first, second, separator=" "))
        ).to_series()
    return whole


def text_problems(name: str, values: pl.Series) -> Iterator[Problem]:
    """Yield what is wrong with texts (strings, or lists of strings): NUL characters and sheer size."""
    flat = values.explode() if values.dtype == pl.List(pl.String) else values
    longest = flat.str.len_bytes().max()
    if isinstance(longest, int) and longest > MAX_BYTES:
        lengths = (
            values.list.eval(pl.element().str.len_bytes()).list.max()
            if flat is not values
            else flat.str.len_bytes()
        )
        yield Problem(
            "text too long",
            f"has a {name} of {longest:,} bytes; at most {MAX_BYTES:,} are allowed (is a quote missing?)",
            (lengths > MAX_BYTES).fill_null(False),
        )
    if flat.str.contains("\x00", literal=True).any():
        whole = values.list.join("", ignore_nulls=True) if flat is not values else values
        yield Problem(
            "NUL character",
            f"has a NUL character in its {name} (is the file binary or UTF-16?)",
            whole.str.contains("\x00", literal=True).fill_null(False),
        )
