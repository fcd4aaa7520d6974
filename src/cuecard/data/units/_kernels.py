"""Compiled loops that compare texts by the hashes of their words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard._prefetch import prefetch, prefetch_range
from cuecard.data.units._bands import first_bits_of

Array = npt.NDArray[Any]

_S6 = np.uint64(6)
_LAST_6 = np.uint64(63)
_ONE = np.uint64(1)
_S58 = np.uint64(58)

#: Texts are in the order of their hashes, so each comes from another place in memory: it is fetched this many texts
#: ahead, and where it begins twice as many.
AHEAD = 8
#: Up to this many words are sorted one by one; a sort that halves them costs more than it saves.
SHORT = 64


@njit(cache=True, nogil=True)
def word_bits(words: Array, starts: Array, rows: Array) -> tuple[Array, Array]:
    """Return 64 bits for every text of `rows`, one of them set for each word, and how many are set.

    Texts that differ in few words differ in few bits, and a text has at least as many different words as bits.
    """
    bits = np.zeros(len(rows), dtype=np.uint64)
    counts = np.zeros(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        _prefetch_text(words, starts, rows, i)
        for j in range(starts[rows[i]], starts[rows[i] + 1]):
            bits[i] |= np.uint64(1) << (words[j] >> _S58)
        counts[i] = bits_differing(bits[i], np.uint64(0))
    return bits, counts


@njit(cache=True, nogil=True)
def wide_bits(words: Array, starts: Array, rows: Array, width: int) -> Array:
    """Return such bits for every text of `rows`, 64 × `width` of them; `width` is a power of two."""
    shift = first_bits_of(width)
    bits = np.zeros((len(rows), width), dtype=np.uint64)
    for i in range(len(rows)):
        _prefetch_text(words, starts, rows, i)
        for j in range(starts[rows[i]], starts[rows[i] + 1]):
            place = words[j] >> shift
            bits[i, place >> _S6] |= np.uint64(1) << (place & _LAST_6)
    return bits


@njit(cache=True, nogil=True)
def _prefetch_text(words: Array, starts: Array, rows: Array, i: int) -> None:
    """Fetch a text that comes some places after `i`, and where one begins that comes twice as many after it."""
    if i + 2 * AHEAD < len(rows):
        prefetch(starts, rows[i + 2 * AHEAD])
    if i + AHEAD < len(rows):
        ahead = rows[i + AHEAD]
        prefetch_range(words, starts[ahead], min(starts[ahead + 1], starts[ahead] + SHORT))


@njit(cache=True, nogil=True)
def word_sets(words: Array, starts: Array, rows: Array, needed: Array) -> tuple[Array, Array]:
    """Return the distinct words of texts of `rows`, each text's in rising order, and where each text's begin.

    Texts that are not `needed` have none.
    """
    total = 0
    for i in range(len(rows)):
        if needed[i]:
            total += starts[rows[i] + 1] - starts[rows[i]]
    kept = np.empty(total, dtype=np.uint64)
    bounds = np.zeros(len(rows) + 1, dtype=np.int64)
    used = 0
    for i in range(len(rows)):
        if needed[i]:
            own = words[starts[rows[i]] : starts[rows[i] + 1]]
            used = _insert(own if len(own) <= SHORT else np.sort(own), kept, used)
        bounds[i + 1] = used
    return kept[:used], bounds


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
    """Return the places of all keys that occur more than once, in rising order, and of very few others.

    Keys are told apart by their last bits, and those that these do not tell apart by their first: much cheaper than to
    sort them. What was met once, and what more often, takes one bit each, so that the processor's cache holds them.
    """
    first_bits = 6
    while 1 << first_bits < 8 * len(keys):
        first_bits += 1
    last_bits = np.uint64((1 << first_bits) - 1)
    once = np.zeros(1 << (first_bits - 6), dtype=np.uint64)
    again = np.zeros(len(once), dtype=np.uint64)
    for key in keys:
        _meet(once, again, key & last_bits)
    places = np.empty(len(keys), dtype=np.int64)
    used = 0
    for i in range(len(keys)):
        places[used] = i
        used += _met_again(again, keys[i] & last_bits)
    while first_bits > 6 and 1 << (first_bits - 3) > used:
        first_bits -= 1
    shift = np.uint64(64 - first_bits)
    once = np.zeros(1 << (first_bits - 6), dtype=np.uint64)
    again = np.zeros(len(once), dtype=np.uint64)
    for place in places[:used]:
        _meet(once, again, keys[place] >> shift)
    kept = 0
    for place in places[:used]:
        places[kept] = place
        kept += _met_again(again, keys[place] >> shift)
    return places[:kept]


@njit(cache=True, nogil=True)
def _meet(once: Array, again: Array, number: np.uint64) -> None:
    """Set the bit of a number that is met, of `again` where it was met before; in place."""
    bit = _ONE << (number & _LAST_6)
    again[number >> _S6] |= once[number >> _S6] & bit
    once[number >> _S6] |= bit


@njit(cache=True, nogil=True)
def _met_again(again: Array, number: np.uint64) -> int:
    bit: int = (again[number >> _S6] >> (number & _LAST_6)) & _ONE
    return bit


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
def order_within(keys: Array, texts: Array) -> None:
    """Bring the texts of every key into rising order; in place. Those of a key stand together, and most are few."""
    start = 0
    for place in range(1, len(keys) + 1):
        if place < len(keys) and keys[place] == keys[start]:
            continue
        if place - start > SHORT:
            texts[start:place] = np.sort(texts[start:place])
        else:
            for i in range(start + 1, place):
                text, j = texts[i], i
                while j > start and texts[j - 1] > text:
                    texts[j] = texts[j - 1]
                    j -= 1
                texts[j] = text
        start = place


@njit(cache=True, nogil=True)
def counted_bits(bits: Array, rows: Array) -> Array:
    """Return how many bits are set of every text of `rows`."""
    counts = np.zeros(len(rows), dtype=np.int64)
    for i in range(len(rows)):
        for part in bits[rows[i]]:
            counts[i] += bits_differing(part, np.uint64(0))
    return counts


@njit(cache=True, nogil=True)
def bits_differing(a: np.uint64, b: np.uint64) -> int:
    left, differing = a ^ b, 0
    while left:
        left &= left - np.uint64(1)
        differing += 1
    return differing


@njit(cache=True, nogil=True)
def differ_by_more(bits: Array, a: int, b: int, most: float) -> bool:
    """Return whether the bits of two texts differ in more places than are allowed."""
    differing = 0
    for part in range(bits.shape[1]):
        differing += bits_differing(bits[a, part], bits[b, part])
    return bool(differing > most)


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
def _join(
    text: int,
    first: int,
    before: int,
    sets: Array,
    bounds: Array,
    bits: Array,
    leader: Array,
    threshold: float,
    loose: float,
) -> None:
    """Join the units of a text and one of two others, if they are alike enough and their leaders loosely; in place."""
    # Sets of s words together that differ in d of them have the Jaccard index (s - d) / (s + d).
    most = (1 - threshold) / (1 + threshold)
    for other in (first, before):
        mine, theirs = leader_of(leader, text), leader_of(leader, other)
        if mine == theirs:
            break
        if bounds[text] == bounds[text + 1] or bounds[other] == bounds[other + 1]:
            continue  # ruled out already
        words = bounds[text + 1] - bounds[text] + bounds[other + 1] - bounds[other]
        if bits_differing(bits[text], bits[other]) > most * words + 1e-9:
            continue
        alike = jaccard(sets, bounds, text, other) >= threshold
        if alike and jaccard(sets, bounds, mine, theirs) >= loose:
            leader[max(mine, theirs)] = min(mine, theirs)
            break


@njit(cache=True, nogil=True)
def join_candidates(
    texts: Array,
    firsts: Array,
    befores: Array,
    sets: Array,
    bounds: Array,
    bits: Array,
    leader: Array,
    threshold: float,
    loose: float,
) -> None:
    """Do what `join_alike` does for texts and the two others that each is compared with, in this order; in place."""
    for i in range(len(texts)):
        _join(texts[i], firsts[i], befores[i], sets, bounds, bits, leader, threshold, loose)


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
    `bits` (of `word_bits`) do not already rule out that enough of them are shared. A text without words in `sets` is
    ruled out, too.
    """
    n = len(order)
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
            _join(text, order[start], order[place - 1], sets, bounds, bits, leader, threshold, loose)
        start = end


@njit(cache=True, nogil=True)
def mark_alike(keys: Array, order: Array, sizes: Array, bits: Array, threshold: float, needed: Array) -> None:
    """Mark the texts whose words `join_alike` looks at: those that `bits` do not rule out; in place.

    `sizes` are their numbers of words, repeated ones included. Places of -1 are texts that are ruled out already.
    """
    most = (1 - threshold) / (1 + threshold)
    start = 0
    for place in range(1, len(order)):
        if keys[place] != keys[start]:
            start = place
            continue
        text = order[place]
        for other in (order[start], order[place - 1]):
            if text < 0 or other < 0:
                continue
            if not differ_by_more(bits, text, other, most * (sizes[text] + sizes[other]) + 1e-9):
                needed[text] = True
                needed[other] = True


@njit(cache=True, nogil=True)
def leaders(leader: Array) -> Array:
    """Return the text that leads the unit of every text."""
    roots = np.empty(len(leader), dtype=np.int64)
    for text in range(len(leader)):
        roots[text] = leader_of(leader, text)
    return roots


@njit(cache=True, nogil=True)
def shared_words(words: Array, starts: Array, others: Array, other_starts: Array, runs: Array) -> Array:
    """Return how many different words of every text another text has, too: that of its run, such as their prompt.

    Texts from `runs[i]` to `runs[i + 1]` are compared with the other text i. Its words are looked up by their first
    bits in a table, in which those of other runs count as none.
    """
    counts = np.zeros(len(starts) - 1, dtype=np.int64)
    longest = 0
    for run in range(len(runs) - 1):
        longest = max(longest, other_starts[run + 1] - other_starts[run])
    first_bits = 10
    while 1 << first_bits < 4 * longest:
        first_bits += 1
    shift, last = np.uint64(64 - first_bits), np.uint64((1 << first_bits) - 1)
    of_run = np.full(1 << first_bits, -1)
    own, met = np.empty(1 << first_bits, dtype=np.uint64), np.empty(1 << first_bits, dtype=np.int64)
    for run in range(len(runs) - 1):
        for i in range(other_starts[run], other_starts[run + 1]):
            place = others[i] >> shift
            while of_run[place] == run and own[place] != others[i]:
                place = (place + _ONE) & last
            of_run[place], own[place], met[place] = run, others[i], -1
        for row in range(runs[run], runs[run + 1]):
            for i in range(starts[row], starts[row + 1]):
                place = words[i] >> shift
                while of_run[place] == run and own[place] != words[i]:
                    place = (place + _ONE) & last
                if of_run[place] == run and met[place] != row:
                    met[place] = row
                    counts[row] += 1
    return counts
