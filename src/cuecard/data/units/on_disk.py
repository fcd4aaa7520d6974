"""Copies and near copies among texts whose words do not fit in memory: the same units, found bucket by bucket."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard._prefetch import prefetch
from cuecard.data.units import _folding, _kernels
from cuecard.data.units.buckets import AHEAD, Hashes, bucket_bits, by_first_bits, number_in_order, repeated
from cuecard.data.units.closest import SMALL, nearest_texts
from cuecard.data.units.copies import ALIKE, LOOSELY, band_keys, distinct, long_texts
from cuecard.data.units.in_parts import Records, Texts, Words
from cuecard.data.units.known import Known
from cuecard.data.units.sketches import BANDS
from cuecard.stats.arrays import Ints

Array = npt.NDArray[Any]
#: Texts that may be near copies, and two others that each may be one of, by their hashes.
Candidates = tuple[Hashes, Hashes, Hashes]

_TEXT = np.dtype([("key", np.uint64), ("whole", np.uint64), ("bits", np.uint64), ("size", np.int32)])
_WORDS = np.dtype([("whole", np.uint64), ("unit", np.int64), ("size", np.int64)])
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
#: Rows of units that are divided at a time, about.
DIVIDED = 1 << 20


def copies_on_disk(
    texts: Texts, units: Ints, folder: Path, *, alike: float = ALIKE, loosely: float = LOOSELY
) -> None:
    """Write the numbers that copies and near copies share into `units`, which has a place for every text.

    They are those of `FoldedTexts.copies`. Memory holds one bucket of texts at a time, and the words of texts that may
    be near copies. Texts are known by their hashes: their order is that of the hashes.
    """
    one, two, three = _candidates(texts, folder / "bands", alike)
    needed = Known(np.unique(np.concatenate([one, two, three])))
    sets, bounds, bits = _sets_of(texts, needed)
    leader = np.arange(len(needed.hashes), dtype=np.int64)
    places = map(needed.places, (one, two, three))
    _kernels.join_candidates(*places, sets, bounds, bits, leader, alike, loosely)
    led_by = _Renamed(needed.hashes, needed.hashes[_kernels.leaders(leader)])
    number_in_order(map(led_by, texts.hashes()), units, folder / "numbers")


def closest_on_disk(texts: Texts, units: Ints, closest: Ints, folder: Path) -> None:
    """Write the numbers that the nearest of near copies share into `closest`; they are those of `closest_folded`."""
    sizes = np.bincount(units, minlength=1).astype(np.int32)
    large = np.flatnonzero(sizes > SMALL)
    if not len(large):
        closest[:] = units
        return
    blocks = np.cumsum(sizes[large], dtype=np.int64) // DIVIDED

    def parts() -> Iterator[tuple[Hashes, Ints, Ints]]:
        """Yield the hashes and units of every part, and which of its texts belong to large units."""
        start = 0
        for whole in texts.hashes():
            own = units[start : start + len(whole)]
            start += len(own)
            yield whole, own, np.flatnonzero(sizes[own] > SMALL)

    in_blocks = ((rows, own[rows], blocks[np.searchsorted(large, own[rows])]) for _, own, rows in parts())
    renamed = texts.divided(_with_words, in_blocks, int(blocks[-1]) + 1, _led_by, folder / "blocks")
    led_by = _Renamed(*(np.concatenate(hashes) for hashes in zip(*renamed, strict=True)))

    def keys() -> Iterator[Hashes]:
        for whole, own, rows in parts():
            # What no unit of few rows has in common with a text of a large one.
            key = _random(own)
            key[rows] = led_by(whole[rows])
            yield key

    number_in_order(keys(), closest, folder / "numbers")


def pair_keys(one: Ints, two: Ints) -> Hashes:
    """Return a random number for every pair of numbers."""
    keys: Hashes = _random(one) + _random(_random(two).view(np.int64))
    return keys


@njit(cache=True, nogil=True)
def _random(numbers: Array) -> Array:
    values = np.empty(len(numbers), dtype=np.uint64)
    for i in range(len(numbers)):
        values[i] = _folding.mixed((np.uint64(numbers[i]) + np.uint64(1)) * _GOLDEN)
    return values


class _Renamed:
    """Hashes of some texts that are replaced by those of others."""

    def __init__(self, old: Hashes, new: Hashes) -> None:
        changed = np.flatnonzero(old != new)
        order = np.argsort(old[changed])
        self._old, self._new = Known(old[changed][order]), new[changed][order]

    def __call__(self, hashes: Hashes) -> Hashes:
        """Return the hashes with those of renamed texts replaced."""
        place = self._old.places(hashes)
        rows = np.flatnonzero(place >= 0)
        if not len(rows):
            return hashes
        renamed = hashes.copy()
        renamed[rows] = self._new[place[rows]]
        return renamed


def _candidates(texts: Texts, folder: Path, alike: float) -> Candidates:
    """Return texts that may be near copies, in the order in which they are compared, with the two others each.

    They share a number of a band with both: one text is the first of all that do, the other the one before it.
    """
    bits = bucket_bits(len(texts))
    found = texts.divided(
        partial(_by_band, bits), repeat(None), BANDS << bits, partial(_sharing_a_key, bits, alike), folder
    )
    nothing = (np.empty(0, dtype=np.uint64),) * 3
    one, two, three = zip(nothing, *found, strict=True)
    return np.concatenate(one), np.concatenate(two), np.concatenate(three)


def _by_band(bits: int, part: Words, _: None) -> Iterator[tuple[int, Records]]:
    """Yield the different texts of a part by band, and by the first bits of their key in it."""
    rows, _code = distinct(part.whole)
    long, word_bits = long_texts(part.words, part.starts, rows)
    rows = rows[long]
    words, starts = _gathered(part, rows)
    records = np.empty(len(rows), dtype=_TEXT)
    records["whole"], records["bits"], records["size"] = part.whole[rows], word_bits, np.diff(starts)
    for band, keys in enumerate(band_keys(words, starts)):
        records["key"] = keys
        for bucket, own in by_first_bits(keys, records, bits):
            yield band << bits | bucket, {"texts": own}


def _sharing_a_key(bits: int, alike: float, bucket: Records) -> Candidates:
    """Return the candidates of one bucket."""
    texts = bucket["texts"]
    # Most keys are those of one text alone.
    places = repeated(texts["key"], bits)
    keys = texts["key"][places]
    order = _kernels.rising_order(keys << np.uint64(bits))
    candidates: Candidates = _alike(keys[order], *_by_text(texts, places, keys, order), alike)
    return candidates


def _gathered(part: Words, rows: Ints) -> tuple[Hashes, Ints]:
    """Return the words of some texts in compressed rows."""
    sizes = np.diff(part.starts)[rows]
    starts = _starts(sizes)
    return part.words[np.repeat(part.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])], starts


def _sets_of(texts: Texts, needed: Known) -> tuple[Hashes, Ints, Hashes]:
    """Return the distinct words of some texts, where each text's begin, and 64 bits of each one's words."""
    pools, own, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    hashes = needed.hashes
    missing = np.ones(len(hashes), dtype=np.bool_)
    for place, words, size in texts.each(_sets_in, needed) if len(hashes) else ():
        new = np.flatnonzero(missing[place])
        missing[place] = False
        words, starts = _gathered(Words(hashes, words, _starts(size)), new)
        pools.append(words)
        own.append(place[new])
        sizes.append(np.diff(starts))
    together = Words(hashes, np.concatenate(pools), _starts(np.concatenate(sizes)))
    order = np.argsort(np.concatenate(own))
    sets, bounds = _gathered(together, order)
    bits, _ = _kernels.word_bits(sets, bounds, np.arange(len(hashes)))
    return sets, bounds, bits


def _sets_in(part: Words, needed: Known) -> tuple[Ints, Hashes, Ints]:
    """Return which of some texts a part has, the distinct words of these, and how many each has."""
    place = needed.places(part.whole)
    rows = np.flatnonzero(place >= 0)
    place, first = np.unique(place[rows], return_index=True)
    words, bounds = _kernels.word_sets(
        part.words, part.starts, rows[first], np.ones(len(place), dtype=np.bool_)
    )
    return place, words, np.diff(bounds)


def _starts(sizes: Ints) -> Ints:
    """Return where texts of some numbers of words begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _with_words(part: Words, own: tuple[Ints, Ints, Ints]) -> Iterator[tuple[int, Records]]:
    """Yield the different texts of some rows with their words, by block."""
    rows, units, blocks = own
    first, _ = distinct(part.whole[rows])
    for block in np.unique(blocks):
        here = first[blocks[first] == block]
        words, starts = _gathered(part, rows[here])
        texts = np.empty(len(here), dtype=_WORDS)
        texts["whole"], texts["unit"], texts["size"] = part.whole[rows[here]], units[here], np.diff(starts)
        yield int(block), {"texts": texts, "words": words}


def _led_by(block: Records) -> tuple[Hashes, Hashes]:
    """Return the texts of whole units that another one leads among its nearest, and that one."""
    texts = block["texts"]
    rows, _ = distinct(np.ascontiguousarray(texts["whole"]))
    whole = texts["whole"][rows]
    leaders = nearest_texts(block["words"], _starts(texts["size"]), rows, texts["unit"][rows])
    joined = np.flatnonzero(leaders != np.arange(len(leaders)))
    return whole[joined], whole[leaders[joined]]


@njit(cache=True, nogil=True)
def _by_text(texts: Array, places: Array, keys: Array, order: Array) -> tuple[Array, Array, Array]:
    """Return hash, bits and size of texts by rising key, those of a key by rising hash; `order` is that of the keys.

    All that is needed of a record is taken at once, because each comes from another place in memory.
    """
    n = len(order)
    wholes, bits = np.empty(n, dtype=np.uint64), np.empty(n, dtype=np.uint64)
    sizes = np.empty(n, dtype=np.int32)
    start = 0
    for i in range(n):
        if i + AHEAD < n:
            prefetch(texts, places[order[i + AHEAD]])
        text = texts[places[order[i]]]
        wholes[i], bits[i], sizes[i] = text["whole"], text["bits"], text["size"]
        if i + 1 == n or keys[order[i + 1]] != keys[order[i]]:
            _sort_by_text(wholes[start : i + 1], bits[start : i + 1], sizes[start : i + 1])
            start = i + 1
    return wholes, bits, sizes


@njit(cache=True, nogil=True)
def _sort_by_text(wholes: Array, bits: Array, sizes: Array) -> None:
    """Bring texts into the order of their hashes; in place. Most are few."""
    if len(wholes) > _kernels.SHORT:
        rising = np.argsort(wholes, kind="mergesort")
        wholes[:], bits[:], sizes[:] = wholes[rising], bits[rising], sizes[rising]
        return
    for i in range(1, len(wholes)):
        whole, own, size, j = wholes[i], bits[i], sizes[i], i
        while j > 0 and wholes[j - 1] > whole:
            wholes[j], bits[j], sizes[j] = wholes[j - 1], bits[j - 1], sizes[j - 1]
            j -= 1
        wholes[j], bits[j], sizes[j] = whole, own, size


@njit(cache=True, nogil=True)
def _alike(
    keys: Array, wholes: Array, bits: Array, sizes: Array, threshold: float
) -> tuple[Array, Array, Array]:
    """Return texts that may share enough words with the first text of their key or the one before, and these two."""
    most = (1 - threshold) / (1 + threshold)
    one, two, three = np.empty_like(wholes), np.empty_like(wholes), np.empty_like(wholes)
    used = start = before = 0
    for place in range(1, len(keys)):
        if keys[place] != keys[start]:
            start = before = place
            continue
        if wholes[place] == wholes[before]:  # the same text in another part
            continue
        for other in (start, before):
            differing = _kernels.bits_differing(bits[place], bits[other])
            if differing <= most * (sizes[place] + sizes[other]) + 1e-9:
                one[used], two[used], three[used] = wholes[place], wholes[start], wholes[before]
                used += 1
                break
        before = place
    return one[:used].copy(), two[:used].copy(), three[:used].copy()
