"""Texts to tokens with a compiled loop over their bytes, by rules for characters; or each distinct piece once."""

from __future__ import annotations

import string
import unicodedata
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cuecard.data.fingerprint import read_only, utf8
from cuecard.data.parallel import on_threads, parts_of_rows, running_total
from cuecard.stats import _native
from cuecard.stats.arrays import chunks
from cuecard.text.tokens import Tokens

#: What a lower-cased character does to a token: one of the kinds of `stats._native`.
Rule = Callable[[str], int]

#: The apostrophe of the keyboard and the one of typography (U+2019).
APOSTROPHES = frozenset("'\u2019")


#: Zero-width non-joiner and joiner.
JOINERS = frozenset("\u200c\u200d")


def default_rule(character: str) -> int:
    """Return the kind under `default`: letters, marks, digits and underscores make tokens.

    Marks count as letters so that words of Hindi or Thai hold together, and so do joiners, without which words of
    Persian or Malayalam are misspelt. Other characters without width of their own (soft hyphen, variation selectors)
    are passed over; the zero-width space is a space.
    """
    if character in APOSTROPHES:
        return _native.INNER
    if character in JOINERS:
        return _native.LETTER
    if _is_invisible(character):
        return _native.DROP
    return (
        _native.LETTER if character == "_" or unicodedata.category(character)[0] in "LMN" else _native.BREAK
    )


def stubborn_rule(character: str) -> int:
    """Return the kind under `stubborn`: punctuation is deleted, white space ends a token."""
    if character.isspace():
        return _native.BREAK
    punctuation = character in string.punctuation or unicodedata.category(character)[0] == "P"
    return _native.DROP if punctuation else _native.LETTER


def character_rule(character: str) -> int:
    """Return the kind under `chars`: whatever is not white space is a token of its own."""
    return _native.BREAK if character.isspace() else _native.ALONE


@cache
def byte_actions(rule: Rule) -> npt.NDArray[np.uint16]:
    """Return what each byte does under a rule, with the lower-cased byte to write."""
    actions = np.full(256, _native.WIDE << 8, dtype=np.uint16)
    for byte in range(128):
        lower = chr(byte).lower()
        actions[byte] = rule(lower) << 8 | ord(lower)
    return actions


def code_point_kinds(rule: Rule, seen: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    """Return what each of the code points seen does under a rule; the others are left out."""
    points = np.flatnonzero(seen)
    kinds = np.zeros(len(seen), dtype=np.uint8)
    kinds[points] = [rule(chr(point)) for point in points]
    return kinds


def code_points_seen(data: npt.NDArray[np.uint8]) -> npt.NDArray[np.bool_]:
    """Return which code points above 127 occur in UTF-8 bytes, as flags."""
    seen = np.zeros(0x110000, dtype=np.bool_)
    for some in chunks(len(data), BYTES_PER_THREAD):
        at = some.start + np.flatnonzero(data[some] >= 0xC0)
        points = data[at].astype(np.int32)
        following = 1 + (points >= 0xE0) + (points >= 0xF0)
        points &= 0x3F >> following  # the first byte says how many follow, and holds the first bits
        for place in range(1, 4):
            more = following >= place
            points[more] = points[more] << 6 | (data[at[more] + place] & 0x3F)
        seen[points] = True
    return seen


def _is_invisible(character: str) -> bool:
    if character == "\u200b":
        return False
    point = ord(character)
    selector = 0xFE00 <= point <= 0xFE0F or 0xE0100 <= point <= 0xE01EF
    return selector or (point > 127 and unicodedata.category(character) == "Cf")


#: Below this many bytes a second thread costs more than it saves.
BYTES_PER_THREAD = 1 << 20

#: Token ids, tokens per row, the types' bytes, the types' bounds.
EncodedPart = tuple[
    npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.uint8], npt.NDArray[np.int64]
]

_NO_KINDS = np.zeros(1, dtype=np.uint8)
_EVERY_BYTE = np.arange(256, dtype=np.uint16)
_ALL_BUT_SPACES = _EVERY_BYTE.copy()
_ALL_BUT_SPACES[ord(" ")] = _native.BREAK << 8


def tokenise_bytes(texts: pl.Series, rule: Rule, *, threads: int | None = None) -> Tokens:
    """Return the tokens of every text under a rule for characters; missing texts have none.

    The vocabulary is in order of first occurrence, whatever the number of threads.
    """
    data, offsets = utf8(texts)
    kinds = _NO_KINDS
    if data.size and data.max() > 127:
        # Lower-casing beyond ASCII may change a character's length, so it comes before the loop.
        data, offsets = utf8(texts.str.to_lowercase())
        kinds = code_point_kinds(rule, code_points_seen(data))
    return _encode(data, offsets, byte_actions(rule), kinds, threads)


def space_chunks(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return the runs of characters between spaces (U+0020 only) of every text, as they are written."""
    return _encode(*utf8(texts), _ALL_BUT_SPACES, _NO_KINDS, threads)


def whole_texts(texts: pl.Series, *, threads: int | None = None) -> Tokens:
    """Return every text as one token, an empty one as none: the vocabulary is the distinct texts."""
    return _encode(*utf8(texts), _EVERY_BYTE, _NO_KINDS, threads)


def _encode(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    actions: npt.NDArray[np.uint16],
    kinds: npt.NDArray[np.uint8],
    threads: int | None,
) -> Tokens:
    bounds = parts_of_rows(offsets, threads, BYTES_PER_THREAD)

    def encode(part: int) -> EncodedPart:
        encoded: EncodedPart = _native.encode_rows(data, offsets, *bounds[part], actions, kinds)
        return encoded

    parts = on_threads(encode, len(bounds))
    ids, counts, arena, starts = parts[0] if len(parts) == 1 else _merged(parts)
    return Tokens(ids, running_total(counts), _strings(arena, starts))


def _merged(parts: list[EncodedPart]) -> EncodedPart:
    """Return the parts as one, over one vocabulary."""
    type_bounds = running_total(np.array([len(part[3]) - 1 for part in parts]))
    id_bounds = running_total(np.array([len(part[0]) for part in parts]))
    all_bytes = read_only(np.concatenate([part[2] for part in parts]))
    all_starts = read_only(running_total(np.concatenate([np.diff(part[3]) for part in parts])))
    # The types of all parts are rows of one token each, so the same loop numbers them.
    numbers, _, arena, starts = _native.encode_rows(
        all_bytes, all_starts, 0, len(all_starts) - 1, _EVERY_BYTE, _NO_KINDS
    )
    ids = np.empty(id_bounds[-1], dtype=np.int32)

    def renumber(part: int) -> None:
        place = ids[id_bounds[part] : id_bounds[part + 1]]
        if part == 0:  # its types are the first ones
            place[:] = parts[0][0]
        else:
            np.take(
                numbers[type_bounds[part] : type_bounds[part + 1]], parts[part][0], out=place, mode="clip"
            )

    on_threads(renumber, len(parts))
    return ids, np.concatenate([part[1] for part in parts]), arena, starts


def _strings(arena: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64]) -> pl.Series:
    """Return the types as strings."""
    array = pa.LargeStringArray.from_buffers(
        len(starts) - 1, pa.py_buffer(np.ascontiguousarray(starts)), pa.py_buffer(np.ascontiguousarray(arena))
    )
    return pl.Series("token", pl.from_arrow(array), dtype=pl.String)


#: Cuts every piece into its tokens.
Cut = Callable[[list[str]], Iterable[list[str]]]


def tokenise_distinct(texts: pl.Series, cut: Cut, *, threads: int | None = None) -> Tokens:
    """Return the lower-cased tokens of every text, each distinct text cut once."""
    pieces = whole_texts(texts, threads=threads)
    return assemble(pieces.ids, pieces.offsets, cut(pieces.vocabulary.to_list()))


def assemble(
    pieces: npt.NDArray[np.int32], offsets: npt.NDArray[np.int64], cuts: Iterable[list[str]]
) -> Tokens:
    """Return the tokens of texts made of numbered pieces, given the tokens of every piece.

    Pieces are numbered in order of first occurrence, so the vocabulary is, too.
    """
    words: list[str] = []
    lengths: list[int] = []
    for cut in cuts:
        before = len(words)
        words.extend(word for word in cut if word)
        lengths.append(len(words) - before)
    types = whole_texts(pl.Series(words, dtype=pl.String).str.to_lowercase())
    of_pieces = Tokens(types.ids, running_total(np.array(lengths, dtype=np.int64)), types.vocabulary)
    in_order = of_pieces.gather(pieces)
    return Tokens(in_order.ids, in_order.offsets[offsets], types.vocabulary)
