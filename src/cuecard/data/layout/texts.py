"""Text columns as they enter the table of instances, and what makes a text unusable."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import polars as pl

from cuecard.data.reading.raw import RawTable
from cuecard.errors import InputError

_TEXT_FIELDS = ("content", "value", "text", "utterance", "message")
_SPEAKER_FIELDS = ("role", "from", "speaker", "author", "name")
#: What ends the prompt of a dialogue written as one text.
_MARKERS = (
    "\n\nAssistant:",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|im_start|>assistant",
    "<|assistant|>",
    "[/INST]",
    "### Response:",
    "\nAssistant:",
)
#: Share of rows that must have a common beginning for it to be taken for a prompt.
_SHARE = 0.9


def is_chat(dtype: pl.DataType) -> bool:
    """Return whether a column holds conversations: lists of messages with a text each."""
    return (
        isinstance(dtype, pl.List)
        and isinstance(dtype.inner, pl.Struct)
        and _field(dtype.inner, _TEXT_FIELDS) is not None
    )


def has_speakers(dtype: pl.DataType) -> bool:
    """Return whether a column holds conversations whose messages name who speaks; objects of options do not."""
    inner = dtype.inner if isinstance(dtype, pl.List) else None
    return is_chat(dtype) and isinstance(inner, pl.Struct) and _field(inner, _SPEAKER_FIELDS) is not None


def is_text_list(dtype: pl.DataType) -> bool:
    """Return whether a column holds a text in parts: tokens, sentences, utterances or messages."""
    return is_chat(dtype) or (isinstance(dtype, pl.List | pl.Array) and dtype.inner == pl.String)


def list_texts(values: pl.Series) -> pl.Series:
    """Return each list as one text: messages and utterances one per line, tokens with a space between them."""
    if is_chat(values.dtype):
        return pl.Series(values.name, [_joined(messages) for messages in _messages(values)], dtype=pl.String)
    parts = values.arr.to_list() if isinstance(values.dtype, pl.Array) else values
    sentences = parts.list.eval(pl.element().str.contains(r"\s")).list.any().fill_null(False)
    frame = pl.DataFrame({"parts": parts, "sentences": sentences})
    lines, words = (pl.col("parts").list.join(joint, ignore_nulls=True) for joint in ("\n", " "))
    return frame.select(pl.when("sentences").then(lines).otherwise(words)).to_series().alias(values.name)


def last_message(values: pl.Series) -> pl.Series:
    """Return the text of the last message of every conversation."""
    texts = [messages[-1][1] if messages else "" for messages in _messages(values)]
    return pl.Series(values.name, texts, dtype=pl.String)


def earlier_messages(values: pl.Series) -> pl.Series:
    """Return all messages of every conversation but the last, as one text."""
    return pl.Series(values.name, [_joined(messages[:-1]) for messages in _messages(values)], dtype=pl.String)


def chat_prompt(first: pl.Series, second: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return (prompt, rest of the first, rest of the second) of conversations with the same first messages.

    The last message of either is never part of the prompt.
    """
    prompts, rests = [], ([], [])  # type: tuple[list[str], tuple[list[str], list[str]]]
    for a, b in zip(_messages(first), _messages(second), strict=True):
        shared = 0
        while shared < min(len(a), len(b)) - 1 and a[shared] == b[shared]:
            shared += 1
        prompts.append(_joined(a[:shared]))
        for rest, messages in zip(rests, (a, b), strict=True):
            left = messages[shared:]
            rest.append(left[0][1] if len(left) == 1 else _joined(left))
    one, other = (pl.Series(texts, dtype=pl.String) for texts in rests)
    return pl.Series(prompts, dtype=pl.String), one, other


def prompt_marker(first: pl.Series, second: pl.Series) -> str | None:
    """Return what ends the prompt in dialogues written as one text, None where they are no dialogues."""
    for marker in _MARKERS:
        if all(_mean(texts.str.contains(marker, literal=True)) >= _SHARE for texts in (first, second)):
            return marker
    shared = pl.DataFrame({"a": first, "b": second}).filter(pl.col("a") != pl.col("b"))
    lines = [
        a.split("\n", 1)[0] == b.split("\n", 1)[0] and "\n" in a and "\n" in b for a, b in shared.iter_rows()
    ]
    return "\n" if lines and sum(lines) >= _SHARE * len(lines) else None


def shared_prompt(first: pl.Series, second: pl.Series, marker: str) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Return (prompt, rest of the first, rest of the second) of dialogues that share their beginning.

    The prompt ends with the last marker up to which both texts are the same.
    """
    frame = pl.DataFrame({"a": first, "b": second})
    prompts = [_common_beginning(a or "", b or "", marker) for a, b in frame.iter_rows()]
    frame = frame.with_columns(p=pl.Series(prompts, dtype=pl.String))
    rest = [pl.col(c).str.slice(pl.col("p").str.len_chars()).alias(c) for c in ("a", "b")]
    cut = frame.select("p", *rest)
    return cut["p"], cut["a"], cut["b"]


def _common_beginning(first: str, second: str, marker: str) -> str:
    """Return what two texts share up to the last marker in it; every part is compared once."""
    end = 0
    while (at := first.find(marker, end)) >= 0:
        after = at + len(marker)
        if not second.startswith(first[end:after], end):
            break
        end = after
    return first[:end]


def _mean(marks: pl.Series) -> float:
    return float(marks.sum()) / max(len(marks), 1)


def _field(dtype: pl.Struct, names: tuple[str, ...]) -> str | None:
    fields = {field.name: field.dtype for field in dtype.fields}
    return next((name for name in names if fields.get(name) == pl.String), None)


def _messages(values: pl.Series) -> list[list[tuple[str, str]]]:
    """Return every conversation as (speaker, text) of its messages."""
    inner = cast("pl.Struct", cast("pl.List", values.dtype).inner)
    text, speaker = _field(inner, _TEXT_FIELDS), _field(inner, _SPEAKER_FIELDS)
    return [
        [(m.get(speaker) or "" if speaker else "", m.get(text) or "") for m in row or () if m is not None]
        for row in values.to_list()
    ]


def _joined(messages: list[tuple[str, str]]) -> str:
    return "\n".join(f"{speaker}: {text}" if speaker else text for speaker, text in messages)


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


@dataclass(frozen=True, eq=False)
class Parts:
    """Premise and hypothesis (a text, or a list of texts) of every row, and the right one of a list.

    `beside` are columns about each text of a list, such as the model that wrote it: lists as long as those.
    """

    premise: pl.Series
    hypothesis: pl.Series
    right: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
    problems: tuple[Problem, ...] = ()
    beside: Mapping[str, pl.Series] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
