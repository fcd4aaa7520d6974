"""Compiled loops over bytes and token ids; everything here is plain arrays in, plain arrays out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Array = npt.NDArray[Any]

# What a character does to the token being read. The byte table holds `kind << 8 | byte to write`, so that a
# value below 256 is a letter of a token.
LETTER = 0  # belongs to a token
BREAK = 1  # ends a token
INNER = 2  # belongs to a token if there are letters on both sides (the apostrophe)
DROP = 3  # is passed over: the letters around it stand together
ALONE = 4  # is a token of its own
WIDE = 5  # first byte of a longer character: look its code point up

APOSTROPHE = 0x27
_MIX = np.uint64(0x9E3779B97F4A7C15)
_UP = np.uint64(8)
_DOWN = np.uint64(56)
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_ONE, _TWO = np.uint64(1), np.uint64(2)


@njit(cache=True, nogil=True)
def _slot(key: np.uint64, mask: int) -> np.int64:
    """Return where in the table a key is looked for first."""
    mixed = key * _MIX
    return np.int64((mixed ^ (mixed >> _HALF)) & np.uint64(mask))


@njit(cache=True, nogil=True)
def _rehashed(table: Array, n_slots: int) -> Array:
    """Return a larger table of keys and types with every known type in it."""
    mask = n_slots - 1
    larger = np.zeros(2 * n_slots, dtype=np.uint64)
    for old in range(0, len(table), 2):
        if table[old + 1] > 0:
            at = 2 * _slot(table[old], mask)
            while larger[at + 1] != 0:
                at = (at + 2) & (2 * n_slots - 1)
            larger[at] = table[old]
            larger[at + 1] = table[old + 1]
    return larger


@njit(cache=True, nogil=True)
def _grown(array: Array, size: int) -> Array:
    """Return the array in a larger one of at least `size` places."""
    larger = np.empty(max(size, 2 * len(array)), dtype=array.dtype)
    for i in range(len(array)):  # a slice would take a second longer to compile
        larger[i] = array[i]
    return larger


@njit(cache=True, nogil=True)
def width_and_point(data: Array, i: int) -> tuple[int, int]:
    """Return the number of bytes and the code point of the character beyond ASCII that begins at byte i."""
    lead = int(data[i])
    if lead < 0xE0:
        return 2, (lead & 0x1F) << 6 | int(data[i + 1] & 0x3F)
    point = int(data[i + 1] & 0x3F) << 6 | int(data[i + 2] & 0x3F)
    if lead < 0xF0:
        return 3, (lead & 0x0F) << 12 | point
    return 4, (lead & 0x07) << 18 | point << 6 | int(data[i + 3] & 0x3F)


@njit(cache=True, nogil=True)
def encode_rows(
    data: Array, offsets: Array, first: int, last: int, actions: Array, kinds: Array
) -> tuple[Array, Array, Array, Array]:
    """Return token ids, token count per row, and the types' bytes and bounds, for rows `first` to `last`.

    `data[offsets[i]:offsets[i + 1]]` is row i in UTF-8, `actions` says what each byte does and `kinds` what
    each code point above 127 does. Types are numbered in order of first occurrence.

    It is one loop on purpose: passing the growing arrays to functions would count references per token. On one core it
    takes a fortieth of the time of scikit-learn's CountVectorizer.
    """
    n_bytes = offsets[last] - offsets[first]
    ids = np.empty(n_bytes // 4 + 64, dtype=np.int32)
    counts = np.empty(last - first, dtype=np.int64)
    # Tokens are written straight behind the known types; one that turns out to be known is overwritten.
    arena = np.empty(1 << 16, dtype=np.uint8)
    # A slot is a key, and beside it in the same line of the processor's cache the type's size and number, from 1 on.
    table = np.zeros(1 << 15, dtype=np.uint64)
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
            n_slots = len(table)
            while n_slots < 2 * (n_types + length):
                n_slots *= 2
            starts = _grown(starts, n_slots // 2 + 1)
            table = _rehashed(table, n_slots)

        start = starts[n_types]
        write = start
        key = np.uint64(0)
        inner = False
        n_before = n_ids
        i = begin
        while i <= end:
            if not inner:
                # Nearly every character of nearly every text goes here; an unsigned index saves a test.
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
                byte = int(actions[data[i]])
                kind = byte >> 8
                byte &= 0xFF
                if kind == WIDE:
                    width, point = width_and_point(data, i)
                    kind = int(kinds[point])
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
            sized = np.uint64(size) << _HALF
            mask = np.uint64(len(table) - 1)
            place = np.uint64(2 * _slot(key, len(table) // 2 - 1))
            while True:
                entry = table[place + _ONE]
                if entry == 0:
                    token = n_types
                    n_types += 1
                    table[place] = key
                    table[place + _ONE] = sized | np.uint64(n_types)
                    starts[n_types] = write
                    start = write
                    break
                if table[place] == key and (entry ^ sized) >> _HALF == 0:
                    # Up to eight bytes the key is the token itself.
                    token = int(entry & _LOW) - 1
                    same = 0
                    if size > 8:
                        other = starts[token]
                        while same < size and arena[other + same] == arena[start + same]:
                            same += 1
                    if size <= 8 or same == size:
                        break
                place = (place + _TWO) & mask
            ids[n_ids] = token
            n_ids += 1
            write = start
            key = np.uint64(0)
        counts[row - first] = n_ids - n_before
    return ids[:n_ids], counts, arena[: starts[n_types]], starts[: n_types + 1]


@njit(cache=True, nogil=True)
def code_points_seen(data: Array) -> Array:
    """Return which code points above 127 occur in the UTF-8 bytes, as flags."""
    seen = np.zeros(0x110000, dtype=np.bool_)
    i = 0
    while i < len(data):
        if data[i] < 0x80:
            i += 1
            continue
        width, point = width_and_point(data, i)
        seen[point] = True
        i += width
    return seen


@njit(cache=True, nogil=True)
def number_keys(keys: Array) -> tuple[Array, Array]:
    """Return every key's number among the distinct ones (in order of occurrence), and the distinct ones.

    5.7 × numpy's `unique` with its inverse, which sorts.
    """
    numbers = np.empty(len(keys), dtype=np.int32)
    distinct = np.empty(1 << 10, dtype=np.int64)
    slots = np.zeros(1 << 11, dtype=np.int32)
    n = 0
    for i in range(len(keys)):
        if n == len(distinct):
            distinct = _grown(distinct, 2 * n)
            slots = np.zeros(4 * n, dtype=np.int32)
            for number in range(n):
                at = _slot(np.uint64(distinct[number]), len(slots) - 1)
                while slots[at] != 0:
                    at = (at + 1) & (len(slots) - 1)
                slots[at] = number + 1
        key = keys[i]
        mask = len(slots) - 1
        at = _slot(np.uint64(key), mask)
        while slots[at] != 0 and distinct[slots[at] - 1] != key:
            at = (at + 1) & mask
        if slots[at] == 0:
            distinct[n] = key
            n += 1
            slots[at] = n
        numbers[i] = slots[at] - 1
    return numbers, distinct[:n]


@njit(cache=True, nogil=True)
def ngram_keys(
    prefixes: Array, prefix_offsets: Array, ids: Array, offsets: Array, n: int, n_types: int
) -> tuple[Array, Array]:
    """Return a key for every run of n tokens within a row, and where each row's keys begin.

    `prefixes` numbers the runs of n − 1 tokens; a key is `prefix · n_types + last token`.
    """
    n_rows = len(offsets) - 1
    key_offsets = np.zeros(n_rows + 1, dtype=np.int64)
    for row in range(n_rows):
        key_offsets[row + 1] = key_offsets[row] + max(0, offsets[row + 1] - offsets[row] - n + 1)
    keys = np.empty(key_offsets[n_rows], dtype=np.int64)
    for row in range(n_rows):
        write = key_offsets[row]
        for i in range(key_offsets[row + 1] - write):
            prefix = np.int64(prefixes[prefix_offsets[row] + i])
            keys[write + i] = prefix * n_types + ids[offsets[row] + i + n - 1]
    return keys, key_offsets


@njit(cache=True, nogil=True)
def count_presence(
    ids: Array, offsets: Array, first: int, last: int, codes: Array, n_types: int, n_codes: int
) -> Array:
    """Return in how many of the rows of each code every type occurs; rows of a negative code are left out.

    6 × scipy's sparse rows without repeats times the labels.
    """
    counts = np.zeros((n_types, n_codes), dtype=np.int64)
    seen_in = np.full(n_types, -1, dtype=np.int64)
    for row in range(first, last):
        code = codes[row]
        if code < 0:
            continue
        for i in range(offsets[row], offsets[row + 1]):
            token = ids[i]
            if seen_in[token] != row:
                seen_in[token] = row
                counts[token, code] += 1
    return counts


@njit(cache=True, nogil=True)
def distinct_in_rows(ids: Array, offsets: Array, n_types: int) -> tuple[Array, Array]:
    """Return every row's distinct types in order of occurrence, and where each row's begin.

    4.8 × scipy's `sum_duplicates`.
    """
    n_rows = len(offsets) - 1
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    indices = np.empty(len(ids), dtype=np.int32)
    seen_in = np.full(n_types, -1, dtype=np.int64)
    n = 0
    for row in range(n_rows):
        for i in range(offsets[row], offsets[row + 1]):
            token = ids[i]
            if seen_in[token] != row:
                seen_in[token] = row
                indices[n] = token
                n += 1
        indptr[row + 1] = n
    return indices[:n], indptr


@njit(cache=True, nogil=True)
def features_of_examples(
    indices: Array, indptr: Array, examples: Array, right: Array, n_features: int
) -> tuple[Array, Array, Array, Array]:
    """Return for every (example, feature) that occurs: feature, rows, rows with it, whether the right has it.

    The rows of an example are adjacent.
    """
    features = np.empty(len(indices), dtype=np.int64)
    sizes = np.empty(len(indices), dtype=np.int64)
    having = np.empty(len(indices), dtype=np.int64)
    right_has = np.zeros(len(indices), dtype=np.bool_)
    entry_of = np.full(n_features, -1, dtype=np.int64)
    n = 0
    row = 0
    while row < len(examples):
        end = row
        while end < len(examples) and examples[end] == examples[row]:
            end += 1
        begin = n
        for k in range(row, end):
            for i in range(indptr[k], indptr[k + 1]):
                feature = indices[i]
                entry = entry_of[feature]
                if entry < begin:  # not yet in this example
                    entry = n
                    entry_of[feature] = entry
                    features[entry] = feature
                    sizes[entry] = end - row
                    having[entry] = 0
                    n += 1
                having[entry] += 1
                right_has[entry] |= right[k]
        row = end
    return features[:n], sizes[:n], having[:n], right_has[:n]


@njit(cache=True, nogil=True)
def gathered(values: Array, offsets: Array, rows: Array, new_offsets: Array) -> Array:
    """Return the values of the rows of the given numbers, in that order."""
    copied = np.empty(new_offsets[-1], dtype=values.dtype)
    for i in range(len(rows)):
        first, to = offsets[rows[i]], new_offsets[i]
        for j in range(new_offsets[i + 1] - to):
            copied[to + j] = values[first + j]
    return copied


@njit(cache=True, nogil=True)
def interleaved(
    first: Array, first_offsets: Array, second: Array, second_offsets: Array
) -> tuple[Array, Array]:
    """Return each row of the first array followed by its row of the second, and where the joined rows begin."""
    n_rows = len(first_offsets) - 1
    n_values = first_offsets[n_rows] - first_offsets[0] + second_offsets[n_rows] - second_offsets[0]
    values = np.empty(n_values, dtype=first.dtype)
    offsets = np.empty(n_rows + 1, dtype=np.int64)
    write = 0
    for row in range(n_rows):
        offsets[row] = write
        for i in range(first_offsets[row], first_offsets[row + 1]):
            values[write] = first[i]
            write += 1
        for i in range(second_offsets[row], second_offsets[row + 1]):
            values[write] = second[i]
            write += 1
    offsets[n_rows] = write
    return values, offsets
