"""Words of raw bytes with their places, and runs of them that two texts share: one pass, without decoding."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Array = npt.NDArray[Any]

_BASE = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_S29, _S32 = np.uint64(29), np.uint64(32)
#: Bits that rule out nearly every run of words before the table is looked at.
FILTER = np.uint64((1 << 23) - 1)


@njit(cache=True, nogil=True)
def word_hashes(data: Array, escapes: bool) -> tuple[Array, Array, Array]:
    """Return hash, first byte and end of every word of UTF-8 text; letters of A–Z count as lower case.

    A word is a run of letters, digits and bytes above 127; every Chinese, Japanese or Korean character is a word of its
    own, and general punctuation (dashes, curly quotes) ends one. With `escapes`, a backslash and what follows (JSON)
    ends a word, too. numpy has no pass that cuts and hashes at once.
    """
    n = len(data)
    most = n // 2 + 2  # a word has a byte and what ends it, or three bytes
    hashes = np.empty(most, np.uint64)
    starts = np.empty(most, np.int64)
    ends = np.empty(most, np.int64)
    count = 0
    start = -1
    value = np.uint64(1469598103934665603)
    i = 0
    while i < n:
        byte = data[i]
        step = 1
        inside = (48 <= byte <= 57) or (65 <= byte <= 90) or (97 <= byte <= 122) or byte >= 128
        alone = False
        if escapes and byte == 92:
            inside = False
            step = 6 if i + 1 < n and data[i + 1] == 117 else 2
        elif byte == 0xE2 or byte == 0xEF or (byte == 0xE3 and i + 1 < n and data[i + 1] == 0x80):
            inside = False
            step = 3
        elif 0xE3 <= byte <= 0xED:
            inside = False
            alone = i + 2 < n
            step = 3
        if inside:
            if start < 0:
                start = i
                value = np.uint64(1469598103934665603)
            lower = byte + 32 if 65 <= byte <= 90 else byte
            value = (value ^ np.uint64(lower)) * np.uint64(1099511628211)
        elif start >= 0:
            hashes[count], starts[count], ends[count] = value, start, i
            count += 1
            start = -1
        if alone:
            value = np.uint64(1469598103934665603)
            for k in range(3):
                value = (value ^ np.uint64(data[i + k])) * np.uint64(1099511628211)
            hashes[count], starts[count], ends[count] = value, i, i + 3
            count += 1
        i += step
    if start >= 0:
        hashes[count], starts[count], ends[count] = value, start, n
        count += 1
    return hashes[:count].copy(), starts[:count].copy(), ends[:count].copy()


@njit(cache=True, nogil=True)
def prefix_hashes(words: Array) -> Array:
    """Return the hash of the first 0, 1, 2, … words, from which that of any run follows."""
    sums = np.zeros(len(words) + 1, np.uint64)
    for i in range(len(words)):
        sums[i + 1] = sums[i] * _BASE + words[i]
    return sums


@njit(cache=True, nogil=True)
def powers(most: int) -> Array:
    """Return the powers 0 to `most` of the base of hashes."""
    values = np.ones(most + 1, np.uint64)
    for i in range(most):
        values[i + 1] = values[i] * _BASE
    return values


@njit(cache=True, nogil=True)
def _run_hash(sums: Array, power: Array, first: int, size: int, bits: np.uint64) -> Any:
    value = (sums[first + size] - sums[first] * power[size]) ^ (np.uint64(size) * _MIX)
    value = (value ^ (value >> _S32)) * _MIX
    return (value ^ (value >> _S29)) & bits


@njit(cache=True, nogil=True)
def _lower(byte: int) -> int:
    return byte + 32 if 65 <= byte <= 90 else byte


@njit(cache=True, nogil=True)
def _same_words(
    a: Array,
    a_starts: Array,
    a_ends: Array,
    i: int,
    b: Array,
    b_starts: Array,
    b_ends: Array,
    j: int,
    size: int,
) -> bool:
    """Return whether `size` words are the same byte by byte, from word i of one text and word j of the other on."""
    for k in range(size):
        start, other = a_starts[i + k], b_starts[j + k]
        length = a_ends[i + k] - start
        if b_ends[j + k] - other != length:
            return False
        for byte in range(length):
            if _lower(a[start + byte]) != _lower(b[other + byte]):
                return False
    return True


@njit(cache=True, nogil=True)
def number_runs(
    data: Array,
    starts: Array,
    ends: Array,
    sums: Array,
    power: Array,
    first: Array,
    sizes: Array,
    bits: np.uint64,
) -> tuple[Array, Array, Array, Array, Array]:
    """Return the number of every run of words, equal for equal words, and the table to look runs up in.

    `first` is the first word and `sizes` the words of every run. Of the table: the hash and the number of every slot,
    which is -1 where it is empty, bits of the hashes that occur, and the first run of each number.
    """
    slots = 16
    while slots < 2 * len(first):
        slots *= 2
    keys = np.zeros(slots, np.uint64)
    held = np.full(slots, -1, np.int64)
    occurs = np.zeros(int(FILTER) // 8 + 1, np.uint8)
    numbers = np.empty(len(first), np.int64)
    leaders = np.empty(len(first), np.int64)
    n = 0
    last = np.uint64(slots - 1)
    for run in range(len(first)):
        key = _run_hash(sums, power, first[run], sizes[run], bits)
        slot = key & last
        while held[slot] >= 0:
            other = leaders[held[slot]]
            if (
                keys[slot] == key
                and sizes[other] == sizes[run]
                and _same_words(data, starts, ends, first[run], data, starts, ends, first[other], sizes[run])
            ):
                break
            slot = (slot + np.uint64(1)) & last
        if held[slot] < 0:
            keys[slot], held[slot], leaders[n] = key, n, run
            n += 1
            mark = (key >> _S29) & FILTER
            occurs[mark >> np.uint64(3)] |= np.uint8(1 << int(mark & np.uint64(7)))
        numbers[run] = held[slot]
    return numbers, keys, held, occurs, leaders[:n].copy()


@njit(cache=True, nogil=True)
def search(
    data: Array, starts: Array, ends: Array, sums: Array, power: Array, again: int, widths: Array, bits: np.uint64,
    keys: Array, held: Array, occurs: Array, first: Array, sizes: Array, leaders: Array,
    own: Array, own_starts: Array, own_ends: Array, own_first: Array, own_sizes: Array,
    post_starts: Array, post_ends: Array, post_texts: Array, post_places: Array,
    counts: Array, listed: Array, most: int, counted_only: int,
) -> Array:  # fmt: skip
    """Return the maximal runs of words that a part of a corpus shares with texts: text, words from and to, and where.

    Every run of the table that the part holds is counted, those of the first `again` bytes excepted: they were counted
    with the part before. Maximal runs begin where the words before differ; of each text at most `most` are returned. A
    text that has as many is taken out of the lists of texts (`post_…`) that share a run, so that each list is read a
    bounded number of times, however many texts share it and however often it occurs.
    """
    spans = np.empty((64, 5), np.int64)
    used = 0
    n = len(starts)
    last = np.uint64(len(keys) - 1)
    for i in range(n):
        for size in widths:
            if i + size > n:
                continue
            key = _run_hash(sums, power, i, size, bits)
            mark = (key >> _S29) & FILTER
            if not (occurs[mark >> np.uint64(3)] >> (mark & np.uint64(7))) & 1:
                continue
            slot = key & last
            number = -1
            while held[slot] >= 0:
                run = leaders[held[slot]]
                if (
                    keys[slot] == key
                    and sizes[run] == size
                    and _same_words(data, starts, ends, i, own, own_starts, own_ends, first[run], size)
                ):
                    number = held[slot]
                    break
                slot = (slot + np.uint64(1)) & last
            if number < 0:
                continue
            is_new = ends[i + size - 1] > again
            counts[number] += is_new
            if size == counted_only:
                continue
            k = post_starts[number]
            while k < post_ends[number]:
                text, place = post_texts[k], post_places[k]
                if listed[text] >= most:
                    post_ends[number] -= 1
                    post_texts[k] = post_texts[post_ends[number]]
                    post_places[k] = post_places[post_ends[number]]
                    continue
                k += 1
                word = own_first[text] + place
                if (
                    place > 0
                    and i > 0
                    and _same_words(data, starts, ends, i - 1, own, own_starts, own_ends, word - 1, 1)
                ):
                    continue
                end = size
                while (
                    place + end < own_sizes[text]
                    and i + end < n
                    and _same_words(data, starts, ends, i + end, own, own_starts, own_ends, word + end, 1)
                ):
                    end += 1
                if ends[i + end - 1] <= again:
                    continue
                listed[text] += is_new
                if used == len(spans):
                    grown = np.empty((2 * used, 5), np.int64)
                    grown[:used] = spans
                    spans = grown
                spans[used] = (text, place, place + end, starts[i], ends[i + end - 1])
                used += 1
    return spans[:used]
