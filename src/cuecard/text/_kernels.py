"""Compiled loops over bytes and token ids; everything here is plain arrays in, plain arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Array = npt.NDArray[Any]

# What a character does to the token being read. The byte table holds `kind << 8 | byte to write`, so that a
# value below 256 is a letter of a token.
LETTER = 0  # belongs to a token
BREAK = 1  # ends a token
INNER = 2  # belongs to a token if letters stand on both sides (the apostrophe)
DROP = 3  # is passed over: the letters around it stand together
ALONE = 4  # is a token of its own
WIDE = 5  # first byte of a longer character: look its code point up

APOSTROPHE = 0x27
_MIX = np.uint64(0x9E3779B97F4A7C15)
_UP = np.uint64(8)
_DOWN = np.uint64(56)
_HALF = np.uint64(32)


@njit(cache=True, nogil=True)
def _slot(key: np.uint64, mask: int) -> np.int64:
    """Return where in the table a key is looked for first."""
    mixed = key * _MIX
    return np.int64((mixed ^ (mixed >> _HALF)) & np.uint64(mask))


@njit(cache=True, nogil=True)
def _rehashed(slots: Array, keys: Array, n_slots: int) -> tuple[Array, Array]:
    """Return larger tables of slots and keys with every known type in them."""
    mask = n_slots - 1
    new_slots = np.zeros(n_slots, dtype=np.int32)
    new_keys = np.empty(n_slots, dtype=np.uint64)
    for old in range(len(slots)):
        if slots[old] > 0:
            at = _slot(keys[old], mask)
            while new_slots[at] != 0:
                at = (at + 1) & mask
            new_slots[at] = slots[old]
            new_keys[at] = keys[old]
    return new_slots, new_keys


@njit(cache=True, nogil=True)
def _grown(array: Array, size: int) -> Array:
    """Return the array in a larger one of at least `size` places."""
    larger = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def _width_and_point(data: Array, i: int) -> tuple[int, int]:
    """Return the number of bytes and the code point of the character beyond ASCII that begins at byte i."""
    lead = np.int64(data[i])
    if lead < 0xE0:
        return 2, (lead & 0x1F) << 6 | np.int64(data[i + 1] & 0x3F)
    point = np.int64(data[i + 1] & 0x3F) << 6 | np.int64(data[i + 2] & 0x3F)
    if lead < 0xF0:
        return 3, (lead & 0x0F) << 12 | point
    return 4, (lead & 0x07) << 18 | point << 6 | np.int64(data[i + 3] & 0x3F)


@njit(cache=True, nogil=True)
def encode_rows(
    data: Array, offsets: Array, first: int, last: int, actions: Array, kinds: Array
) -> tuple[Array, Array, Array, Array]:
    """Return token ids, token count per row, and the types' bytes and bounds, for rows `first` to `last`.

    `data[offsets[i]:offsets[i + 1]]` is row i in UTF-8, `actions` says what each byte does and `kinds` what
    each code point above 127 does. Types are numbered in order of first occurrence.

    All of it is one loop on purpose: passing the growing arrays to functions would count references per token.
    """
    n_bytes = offsets[last] - offsets[first]
    ids = np.empty(n_bytes // 4 + 64, dtype=np.int32)
    counts = np.empty(last - first, dtype=np.int64)
    # Tokens are written straight behind the known types; one that turns out to be known is overwritten.
    arena = np.empty(1 << 16, dtype=np.uint8)
    slots = np.zeros(1 << 14, dtype=np.int32)
    keys = np.empty(1 << 14, dtype=np.uint64)
    starts = np.zeros((1 << 13) + 1, dtype=np.int64)
    n_types = 0
    n_ids = 0
    for row in range(first, last):
        begin = offsets[row]
        end = offsets[row + 1]
        length = end - begin
        if row > first and length == begin - offsets[row - 1] and length > 0:
            # The choices of one question share their premise: a repeated neighbour is copied, not read.
            before = offsets[row - 1]
            i = 0
            while i < length and data[before + i] == data[begin + i]:
                i += 1
            if i == length:
                n_same = counts[row - 1 - first]
                if n_ids + n_same > len(ids):
                    ids = _grown(ids, n_ids + n_same)
                for i in range(n_ids, n_ids + n_same):
                    ids[i] = ids[i - n_same]
                n_ids += n_same
                counts[row - first] = n_same
                continue
        # A row has at most as many tokens, new types and token bytes as it has bytes: make room once per row.
        if n_ids + length > len(ids):
            ids = _grown(ids, n_ids + length)
        if starts[n_types] + length > len(arena):
            arena = _grown(arena, starts[n_types] + length)
        if n_types + length >= len(starts):
            n_slots = 2 * len(slots)
            while n_slots < 2 * (n_types + length):
                n_slots *= 2
            starts = _grown(starts, n_slots // 2 + 1)
            slots, keys = _rehashed(slots, keys, n_slots)

        start = starts[n_types]
        write = start
        key = np.uint64(0)
        inner = False
        n_before = n_ids
        i = begin
        while i <= end:
            if not inner:
                # Nearly every character of nearly every text goes through here; an unsigned index saves a test.
                while i < end:
                    action = np.uint64(actions[data[np.uint64(i)]])
                    if action > 0xFF:
                        break
                    arena[np.uint64(write)] = action
                    key = (key << _UP | key >> _DOWN) ^ action
                    write += 1
                    i += 1
            kind = BREAK
            byte = 0
            width = 1
            if i < end:
                byte = np.int64(actions[data[i]])
                kind = byte >> 8
                byte &= 0xFF
                if kind == WIDE:
                    width, point = _width_and_point(data, i)
                    kind = np.int64(kinds[point])
            if kind == LETTER:
                if inner:
                    arena[write] = APOSTROPHE
                    key = (key << _UP | key >> _DOWN) ^ np.uint64(APOSTROPHE)
                    write += 1
                    inner = False
                if width == 1:
                    arena[write] = byte
                    key = (key << _UP | key >> _DOWN) ^ np.uint64(byte)
                    write += 1
                else:
                    for j in range(i, i + width):
                        arena[write] = data[j]
                        key = (key << _UP | key >> _DOWN) ^ np.uint64(data[j])
                        write += 1
                i += width
                continue
            if kind == DROP or (kind == INNER and write > start and not inner):
                inner = inner or kind == INNER
                i += width
                continue
            inner = False
            if kind == ALONE:
                if write > start:
                    width = 0  # the token before it first; this character is read again
                elif width == 1:
                    arena[write] = byte
                    key = np.uint64(byte)
                    write += 1
                else:
                    for j in range(i, i + width):
                        arena[write] = data[j]
                        key = (key << _UP | key >> _DOWN) ^ np.uint64(data[j])
                        write += 1
            i += width
            if write == start:
                continue
            size = write - start
            mask = len(slots) - 1
            at = _slot(key, mask)
            while True:
                token = slots[at] - 1
                if token < 0:
                    token = n_types
                    slots[at] = n_types + 1
                    keys[at] = key
                    n_types += 1
                    starts[n_types] = write
                    start = write
                    break
                if keys[at] == key and starts[token + 1] - starts[token] == size:
                    # Up to eight bytes the key is the token itself.
                    same = 0
                    if size > 8:
                        other = starts[token]
                        while same < size and arena[other + same] == arena[start + same]:
                            same += 1
                    if size <= 8 or same == size:
                        break
                at = (at + 1) & mask
            ids[n_ids] = token
            n_ids += 1
            write = start
            key = np.uint64(0)
        counts[row - first] = n_ids - n_before
    return ids[:n_ids], counts, arena[: starts[n_types]], starts[: n_types + 1]


@njit(cache=True, nogil=True)
def renumber(ids: Array, numbers: Array, out: Array) -> None:
    """Write `numbers[ids]` to `out`."""
    for i in range(len(ids)):
        out[i] = numbers[ids[i]]


@njit(cache=True, nogil=True)
def code_points_seen(data: Array) -> Array:
    """Return which code points above 127 occur in the UTF-8 bytes, as flags."""
    seen = np.zeros(0x110000, dtype=np.bool_)
    i = 0
    while i < len(data):
        if data[i] < 0x80:
            i += 1
            continue
        width, point = _width_and_point(data, i)
        seen[point] = True
        i += width
    return seen
