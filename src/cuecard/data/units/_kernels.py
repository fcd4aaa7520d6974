"""Compiled loops that compare texts by their words: bytes in, hashes out."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard._prefetch import prefetch, prefetch_range

Array = npt.NDArray[Any]

_PRIME = np.uint64(0x100000001B3)
_START = np.uint64(0xCBF29CE484222325)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_S27 = np.uint64(27)
_S30 = np.uint64(30)
_S31 = np.uint64(31)
_S58 = np.uint64(58)

#: What a byte does: it ends a word, belongs to one, or begins a character that is a word by itself.
SEPARATES = 0
BELONGS = 1
ALONE = 2

#: Texts are in the order of their hashes, so each comes from another place in memory: it is fetched this many texts
#: ahead, and where it begins twice as many.
AHEAD = 8
#: Up to this many words are sorted one by one; a sort that halves them costs more than it saves.
SHORT = 64


@njit(cache=True, nogil=True)
def mixed(value: np.uint64) -> np.uint64:
    value = (value ^ (value >> _S30)) * _MIX_A
    value = (value ^ (value >> _S27)) * _MIX_B
    return value ^ (value >> _S31)


@njit(cache=True, nogil=True)
def fold_rows(data: Array, offsets: Array, kinds: Array, letters: Array) -> tuple[Array, Array, Array]:
    """Return the hash of every text's words in order, the words' hashes, and where each text's begin.

    `kinds` says what each byte does and `letters` what it is read as. A text without any word is hashed as it stands.
    """
    n = len(offsets) - 1
    whole = np.empty(n, dtype=np.uint64)
    starts = np.zeros(n + 1, dtype=np.int64)
    words = np.empty(max(16, len(data) // 2 + n + 1), dtype=np.uint64)
    used = 0
    for row in range(n):
        text = _START
        word = _START
        open_word = False
        i, end = offsets[row], offsets[row + 1]
        while i <= end:
            kind = kinds[data[i]] if i < end else SEPARATES
            if kind == BELONGS:
                word = (word ^ np.uint64(letters[data[i]])) * _PRIME
                open_word = True
                i += 1
                continue
            if open_word:
                words[used] = mixed(word)
                text = (text ^ words[used]) * _PRIME
                used += 1
                word, open_word = _START, False
            i += 1
            if kind == ALONE:
                word = (word ^ np.uint64(data[i - 1])) * _PRIME
                while i < end and data[i] & 0xC0 == 0x80:
                    word = (word ^ np.uint64(data[i])) * _PRIME
                    i += 1
                words[used] = mixed(word)
                text = (text ^ words[used]) * _PRIME
                used += 1
                word = _START
        starts[row + 1] = used
        if used == starts[row]:
            for i in range(offsets[row], offsets[row + 1]):
                if data[i] > 32:
                    text = (text ^ np.uint64(data[i])) * _PRIME
        whole[row] = mixed(text)
    return whole, words[:used], starts


@njit(cache=True, nogil=True)
def word_sets(words: Array, starts: Array, rows: Array, least: int) -> tuple[Array, Array, Array]:
    """Return the distinct words of texts, each text's in rising order, where each text's begin, and which texts.

    Only texts of `rows` with at least `least` different words are kept; the last array holds their places in `rows`.
    """
    total = 0
    for row in rows:
        total += starts[row + 1] - starts[row]
    kept = np.empty(total, dtype=np.uint64)
    bounds = np.zeros(len(rows) + 1, dtype=np.int64)
    which = np.empty(len(rows), dtype=np.int64)
    used = texts = 0
    for i in range(len(rows)):
        if i + 2 * AHEAD < len(rows):
            prefetch(starts, rows[i + 2 * AHEAD])
        if i + AHEAD < len(rows):
            ahead = rows[i + AHEAD]
            prefetch_range(words, starts[ahead], min(starts[ahead + 1], starts[ahead] + SHORT))
        own = words[starts[rows[i]] : starts[rows[i] + 1]]
        first, used = used, _insert(own if len(own) <= SHORT else np.sort(own), kept, used)
        if used - first < least:
            used = first
            continue
        which[texts] = i
        texts += 1
        bounds[texts] = used
    return kept[:used], bounds[: texts + 1], which[:texts]


@njit(cache=True, nogil=True)
def _insert(own: Array, kept: Array, used: int) -> int:
    """Write the distinct words of a text from `kept[used]` on, in rising order; return where they end."""
    first = used
    for word in own:
        place = used
        while place > first and kept[place - 1] > word:
            place -= 1
        if place > first and kept[place - 1] == word:
            continue
        for j in range(used, place, -1):
            kept[j] = kept[j - 1]
        kept[place] = word
        used += 1
    return used


@njit(cache=True, nogil=True)
def repeated(keys: Array) -> Array:
    """Return the places of all keys that occur more than once, in rising order, and of few others.

    Keys are told apart by their last bits, which is much cheaper than to sort them.
    """
    size = 1
    while size < 8 * len(keys):
        size *= 2
    last_bits = np.uint64(size - 1)
    times = np.zeros(size, dtype=np.uint8)
    for key in keys:
        if times[key & last_bits] < 2:
            times[key & last_bits] += 1
    places = np.empty(len(keys), dtype=np.int64)
    used = 0
    for i in range(len(keys)):
        if times[keys[i] & last_bits] == 2:
            places[used] = i
            used += 1
    return places[:used]


@njit(cache=True, nogil=True)
def band_keys(sets: Array, bounds: Array, bands: int, height: int) -> Array:
    """Return a number per band for every set of words, which two sets share with probability (Jaccard index) ^ height.

    All hashes of a word are made at once: the loop over them is one the processor does eight at a time.
    """
    n, hashes = len(bounds) - 1, bands * height
    keys = np.empty((bands, n), dtype=np.uint64)
    salts = np.arange(1, hashes + 1).astype(np.uint64) * _GOLDEN
    least = np.empty(hashes, dtype=np.uint64)
    for i in range(n):
        least[:] = np.uint64(0xFFFFFFFFFFFFFFFF)
        for j in range(bounds[i], bounds[i + 1]):
            word = sets[j]
            for layer in range(hashes):
                least[layer] = min(least[layer], mixed(word ^ salts[layer]))
        for band in range(bands):
            key = _START
            for layer in range(band * height, (band + 1) * height):
                key = (key ^ least[layer]) * _PRIME
            keys[band, i] = key
    return keys


@njit(cache=True, nogil=True)
def rising_order(keys: Array) -> Array:
    """Return the places of keys from the smallest to the largest, equal keys in the order in which they stand.

    Keys are random numbers, so that their first bits tell nearly all of them apart: five times quicker than a sort.
    """
    first_bits = 1
    while (1 << first_bits) < len(keys) and first_bits < 24:
        first_bits += 1
    shift = np.uint64(64 - first_bits)
    ends = np.zeros((1 << first_bits) + 1, dtype=np.int64)
    for key in keys:
        ends[(key >> shift) + np.uint64(1)] += 1
    for i in range(1, len(ends)):
        ends[i] += ends[i - 1]
    order = np.empty(len(keys), dtype=np.int64)
    used = ends[:-1].copy()
    for i in range(len(keys)):
        first = ends[keys[i] >> shift]
        place = used[keys[i] >> shift]
        used[keys[i] >> shift] += 1
        while place > first and keys[order[place - 1]] > keys[i]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = i
    return order


@njit(cache=True, nogil=True)
def bit_sets(sets: Array, bounds: Array) -> Array:
    """Return 64 bits for every set of words, one of them set for each word: sets that differ in few words, in few."""
    bits = np.zeros(len(bounds) - 1, dtype=np.uint64)
    for i in range(len(bits)):
        for j in range(bounds[i], bounds[i + 1]):
            bits[i] |= np.uint64(1) << (sets[j] >> _S58)
    return bits


@njit(cache=True, nogil=True)
def bits_differing(a: np.uint64, b: np.uint64) -> int:
    left, differing = a ^ b, 0
    while left:
        left &= left - np.uint64(1)
        differing += 1
    return differing


@njit(cache=True, nogil=True)
def jaccard(sets: Array, bounds: Array, a: int, b: int) -> float:
    """Return the Jaccard index of two sets of sorted words."""
    i, end_a = bounds[a], bounds[a + 1]
    j, end_b = bounds[b], bounds[b + 1]
    size = (end_a - i) + (end_b - j)
    together = 0
    while i < end_a and j < end_b:
        if sets[i] == sets[j]:
            together += 1
            i += 1
            j += 1
        elif sets[i] < sets[j]:
            i += 1
        else:
            j += 1
    return float(together / (size - together))


@njit(cache=True, nogil=True)
def leader_of(leader: Array, text: int) -> int:
    """Return the text that leads a text's unit, and let all on the way to it follow it at once."""
    first = text
    while leader[first] != first:
        first = leader[first]
    while leader[text] != first:
        leader[text], text = first, leader[text]
    return first


@njit(cache=True, nogil=True)
def join_alike(
    keys: Array,
    order: Array,
    sets: Array,
    bounds: Array,
    bits: Array,
    leader: Array,
    threshold: float,
    loose: float,
) -> None:
    """Join the units of texts with the same key that are alike enough, and whose leaders are loosely alike; in place.

    `order` holds the places of keys that may occur more than once, sorted by key, and `keys` their keys. A text is
    compared with the first and with the one before it of those with its key; their words are only looked at where
    `bits` (of `bit_sets`) do not already rule out that enough of them are shared.
    """
    n = len(order)
    # Sets of s words together that differ in d of them have the Jaccard index (s - d) / (s + d).
    most = (1 - threshold) / (1 + threshold)
    start = 0
    while start < n:
        end = start + 1
        while end < n and keys[end] == keys[start]:
            end += 1
        for place in range(start + 1, end):
            text = order[place]
            if place + AHEAD < n:
                ahead = order[place + AHEAD]
                prefetch(leader, ahead)
                prefetch(bits, ahead)
                prefetch(bounds, ahead)
            for other in (order[start], order[place - 1]):
                mine, theirs = leader_of(leader, text), leader_of(leader, other)
                if mine == theirs:
                    break
                words = bounds[text + 1] - bounds[text] + bounds[other + 1] - bounds[other]
                if bits_differing(bits[text], bits[other]) > most * words + 1e-9:
                    continue
                alike = jaccard(sets, bounds, text, other) >= threshold
                if alike and jaccard(sets, bounds, mine, theirs) >= loose:
                    leader[max(mine, theirs)] = min(mine, theirs)
                    break
        start = end


@njit(cache=True, nogil=True)
def leaders(leader: Array) -> Array:
    """Return the text that leads the unit of every text."""
    roots = np.empty(len(leader), dtype=np.int64)
    for text in range(len(leader)):
        roots[text] = leader_of(leader, text)
    return roots
