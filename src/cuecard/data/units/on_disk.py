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
from cuecard.data.units import _folding, _kernels
from cuecard.data.units.buckets import Hashes, bucket_bits, by_first_bits, number_in_order, repeated
from cuecard.data.units.closest import SMALL, nearest_texts
from cuecard.data.units.copies import ALIKE, LOOSELY, band_keys, distinct, long_texts
from cuecard.data.units.in_parts import Records, Texts, Words
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
    needed = np.unique(np.concatenate([one, two, three]))
    sets, bounds, bits = _sets_of(texts, needed)
    leader = np.arange(len(needed), dtype=np.int64)
    places = (np.searchsorted(needed, hashes) for hashes in (one, two, three))
    _kernels.join_candidates(*places, sets, bounds, bits, leader, alike, loosely)
    led_by = _Renamed(needed, needed[_kernels.leaders(leader)])
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
        self._old, self._new = old[changed][order], new[changed][order]

    def __call__(self, hashes: Hashes) -> Hashes:
        """Return the hashes with those of renamed texts replaced."""
        if not len(self._old):
            return hashes
        place = np.minimum(np.searchsorted(self._old, hashes), len(self._old) - 1)
        return np.where(self._old[place] == hashes, self._new[place], hashes)


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
    texts = texts[repeated(texts["key"], bits)]
    order = _kernels.rising_order(np.ascontiguousarray(texts["key"]) << np.uint64(bits))
    key, whole = texts["key"][order], texts["whole"][order]
    _order_by_text(key, whole, order)
    candidates: Candidates = _alike(
        *(np.ascontiguousarray(texts[name][order]) for name in _TEXT.names or ()), alike
    )
    return candidates


def _gathered(part: Words, rows: Ints) -> tuple[Hashes, Ints]:
    """Return the words of some texts in compressed rows."""
    sizes = np.diff(part.starts)[rows]
    starts = _starts(sizes)
    return part.words[np.repeat(part.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])], starts


def _sets_of(texts: Texts, needed: Hashes) -> tuple[Hashes, Ints, Hashes]:
    """Return the distinct words of some texts, where each text's begin, and 64 bits of each one's words."""
    pools, own, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    missing = np.ones(len(needed), dtype=np.bool_)
    for place, words, size in texts.each(_sets_in, needed) if len(needed) else ():
        new = np.flatnonzero(missing[place])
        missing[place] = False
        words, starts = _gathered(Words(needed, words, _starts(size)), new)
        pools.append(words)
        own.append(place[new])
        sizes.append(np.diff(starts))
    together = Words(needed, np.concatenate(pools), _starts(np.concatenate(sizes)))
    order = np.argsort(np.concatenate(own))
    sets, bounds = _gathered(together, order)
    bits, _ = _kernels.word_bits(sets, bounds, np.arange(len(needed)))
    return sets, bounds, bits


def _sets_in(part: Words, needed: Hashes) -> tuple[Ints, Hashes, Ints]:
    """Return which of some texts a part has, the distinct words of these, and how many each has."""
    place = np.minimum(np.searchsorted(needed, part.whole), len(needed) - 1)
    rows = np.flatnonzero(needed[place] == part.whole)
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
def _order_by_text(keys: Array, wholes: Array, order: Array) -> None:
    """Bring the places of each key into the order of the texts' hashes; in place."""
    start = 0
    for end in range(1, len(keys) + 1):
        if end < len(keys) and keys[end] == keys[start]:
            continue
        if end - start > 1:
            rising = np.argsort(wholes[start:end], kind="mergesort")
            order[start:end] = order[start:end][rising]
        start = end


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
