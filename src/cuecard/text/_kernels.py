"""Compiled loops over bytes and token ids; everything here is plain arrays in, plain arrays out."""

from __future__ import annotations

import numpy as np
from numba import njit

# What a character does to the token being read. The byte table holds `kind << 8 | byte to write`, so that a
# value below 256 is a letter of a token.
LETTER = 0  # belongs to a token
BREAK = 1  # ends a token
INNER = 2  # belongs to a token if letters stand on both sides (the apostrophe)
DROP = 3  # is passed over: the letters around it stand together
ALONE = 4  # is a token of its own
WIDE = 5  # first byte of a longer character: look its code point up

APOSTROPHE = 0x27
_SEED = np.uint64(0xCBF29CE484222325)
_PRIME = np.uint64(0x9E3779B97F4A7C15)


@njit(cache=True, nogil=True)
def _intern(arena, start, size, h, slots, hashes, starts, n_types):
    """Return the id of the token at `arena[start:start + size]`; `n_types` itself if it is new."""
    mask = len(slots) - 1
    at = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
    while True:
        known = slots[at] - 1
        if known < 0:
            slots[at] = n_types + 1
            hashes[n_types] = h
            starts[n_types + 1] = start + size
            return n_types
        if hashes[known] == h and starts[known + 1] - starts[known] == size:
            other = starts[known]
            i = 0
            while i < size and arena[other + i] == arena[start + i]:
                i += 1
            if i == size:
                return known
        at = (at + 1) & mask


@njit(cache=True, nogil=True)
def _rehash(hashes, n_types, n_slots):
    """Return a larger table of slots with every known type in it."""
    slots = np.zeros(n_slots, dtype=np.int32)
    mask = n_slots - 1
    for known in range(n_types):
        h = hashes[known]
        at = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(mask))
        while slots[at] != 0:
            at = (at + 1) & mask
        slots[at] = known + 1
    return slots


@njit(cache=True, nogil=True)
def _grown(array, size):
    """Return the array in a larger one of at least `size` places."""
    larger = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


@njit(cache=True, nogil=True)
def encode_rows(data, offsets, first, last, actions, kinds):
    """Return token ids, token count per row, and the types' bytes and bounds, for rows `first` to `last`.

    `data[offsets[i]:offsets[i + 1]]` is row i in UTF-8, `actions` says what each byte does and `kinds` what each
    code point above 127 does. Types are numbered in order of first occurrence.
    """
    n_bytes = offsets[last] - offsets[first]
    ids = np.empty(n_bytes // 4 + 64, dtype=np.int32)
    counts = np.empty(last - first, dtype=np.int64)
    # Tokens are written straight behind the known types; one that turns out to be known is overwritten.
    arena = np.empty(1 << 16, dtype=np.uint8)
    slots = np.zeros(1 << 14, dtype=np.int32)
    hashes = np.empty(1 << 13, dtype=np.uint64)
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
        # A row has at most as many tokens, new types and token bytes as it has bytes: room is made once per row.
        if n_ids + length > len(ids):
            ids = _grown(ids, n_ids + length)
        if starts[n_types] + length > len(arena):
            arena = _grown(arena, starts[n_types] + length)
        if n_types + length > len(hashes):
            n_slots = 2 * len(slots)
            while n_slots < 2 * (n_types + length):
                n_slots *= 2
            hashes = _grown(hashes, n_slots // 2)
            starts = _grown(starts, n_slots // 2 + 1)
            slots = _rehash(hashes, n_types, n_slots)

        write = starts[n_types]
        size = 0
        h = _SEED
        inner = False
        n_before = n_ids
        i = begin
        while i <= end:
            action = actions[data[i]] if i < end else np.uint16(BREAK << 8)
            kind = action >> 8
            width = 1
            if kind == WIDE:
                lead = data[i]
                if lead < 0xE0:
                    width = 2
                    point = np.int64(lead & 0x1F)
                elif lead < 0xF0:
                    width = 3
                    point = np.int64(lead & 0x0F)
                else:
                    width = 4
                    point = np.int64(lead & 0x07)
                for j in range(1, width):
                    point = (point << 6) | np.int64(data[i + j] & 0x3F)
                kind = kinds[point]
            if kind == LETTER:
                if inner:
                    arena[write + size] = APOSTROPHE
                    h = (h ^ np.uint64(APOSTROPHE)) * _PRIME
                    size += 1
                    inner = False
                if width == 1:
                    byte = action & 0xFF
                    arena[write + size] = byte
                    h = (h ^ np.uint64(byte)) * _PRIME
                    size += 1
                else:
                    for j in range(width):
                        arena[write + size] = data[i + j]
                        h = (h ^ np.uint64(data[i + j])) * _PRIME
                        size += 1
                i += width
                continue
            if kind == DROP:
                i += width
                continue
            if kind == INNER and size > 0 and not inner:
                inner = True
                i += width
                continue
            inner = False
            if size > 0:
                token = _intern(arena, write, size, h, slots, hashes, starts, n_types)
                ids[n_ids] = token
                n_ids += 1
                if token == n_types:
                    n_types += 1
                    write += size
                size = 0
                h = _SEED
            if kind == ALONE:
                for j in range(width):
                    byte = data[i + j] if width > 1 else np.uint8(action & 0xFF)
                    arena[write + j] = byte
                    h = (h ^ np.uint64(byte)) * _PRIME
                token = _intern(arena, write, width, h, slots, hashes, starts, n_types)
                ids[n_ids] = token
                n_ids += 1
                if token == n_types:
                    n_types += 1
                    write += width
                h = _SEED
            i += width
        counts[row - first] = n_ids - n_before
    return ids[:n_ids], counts, arena[: starts[n_types]], starts[: n_types + 1]


@njit(cache=True, nogil=True)
def merge_types(arena, starts):
    """Return for every type its number among the distinct ones (first occurrence first), their bytes and bounds."""
    n = len(starts) - 1
    n_slots = 16
    while n_slots < 2 * n:
        n_slots *= 2
    slots = np.zeros(n_slots, dtype=np.int32)
    hashes = np.empty(n, dtype=np.uint64)
    merged = np.empty(len(arena), dtype=np.uint8)
    bounds = np.zeros(n + 1, dtype=np.int64)
    numbers = np.empty(n, dtype=np.int32)
    n_types = 0
    for k in range(n):
        size = starts[k + 1] - starts[k]
        write = bounds[n_types]
        h = _SEED
        for i in range(size):
            byte = arena[starts[k] + i]
            merged[write + i] = byte
            h = (h ^ np.uint64(byte)) * _PRIME
        numbers[k] = _intern(merged, write, size, h, slots, hashes, bounds, n_types)
        if numbers[k] == n_types:
            n_types += 1
    return numbers, merged[: bounds[n_types]], bounds[: n_types + 1]


@njit(cache=True, nogil=True)
def renumber(ids, numbers, out):
    """Write `numbers[ids]` to `out`."""
    for i in range(len(ids)):
        out[i] = numbers[ids[i]]


@njit(cache=True, nogil=True)
def code_points_seen(data):
    """Return which code points above 127 occur in the UTF-8 bytes, as flags."""
    seen = np.zeros(0x110000, dtype=np.bool_)
    i = 0
    while i < len(data):
        lead = data[i]
        if lead < 0x80:
            i += 1
            continue
        if lead < 0xE0:
            width = 2
            point = np.int64(lead & 0x1F)
        elif lead < 0xF0:
            width = 3
            point = np.int64(lead & 0x0F)
        else:
            width = 4
            point = np.int64(lead & 0x07)
        for j in range(1, width):
            point = (point << 6) | np.int64(data[i + j] & 0x3F)
        seen[point] = True
        i += width
    return seen
