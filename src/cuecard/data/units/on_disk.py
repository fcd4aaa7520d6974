"""Copies and near copies among texts whose words do not fit in memory: the same units, found bucket by bucket."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit
from cuecard.data.units import _kernels
from cuecard.data.units.buckets import Buckets, Hashes, number_in_order
from cuecard.data.units.closest import SMALL, nearest_texts
from cuecard.data.units.copies import ALIKE, LOOSELY, band_keys, distinct, long_texts
from cuecard.data.units.sketches import BANDS
from cuecard.stats.arrays import Ints

Array = npt.NDArray[Any]

_TEXT = np.dtype([("key", np.uint64), ("whole", np.uint64), ("bits", np.uint64), ("size", np.int32)])
_WORDS = np.dtype([("whole", np.uint64), ("unit", np.int64), ("size", np.int64)])
#: Rows of units that are divided at a time, about.
DIVIDED = 1 << 20


class Words(NamedTuple):
    """Some texts: the hash of each, and the hashes of its words in compressed rows."""

    whole: Hashes
    words: Hashes
    starts: Ints


#: Goes through all texts, in parts, as often as it is called.
Parts = Callable[[], Iterator[Words]]


def copies_on_disk(
    parts: Parts, units: Ints, folder: Path, *, alike: float = ALIKE, loosely: float = LOOSELY
) -> None:
    """Write the numbers that copies and near copies share into `units`, which has a place for every text.

    They are those of `FoldedTexts.copies`. Memory holds one bucket of texts at a time, and the words of texts that may
    be near copies. Texts are known by their hashes: their order is that of the hashes.
    """
    one, two, three = _candidates(parts, len(units), folder / "bands", alike)
    needed = np.unique(np.concatenate([one, two, three]))
    sets, bounds, bits = _sets_of(parts, needed)
    leader = np.arange(len(needed), dtype=np.int64)
    texts = (np.searchsorted(needed, hashes) for hashes in (one, two, three))
    _kernels.join_candidates(*texts, sets, bounds, bits, leader, alike, loosely)
    led_by = _Renamed(needed, needed[_kernels.leaders(leader)])
    number_in_order((led_by(part.whole) for part in parts()), units, folder / "numbers")


def closest_on_disk(parts: Parts, units: Ints, closest: Ints, folder: Path) -> None:
    """Write the numbers that the nearest of near copies share into `closest`; they are those of `closest_folded`."""
    sizes = np.bincount(units, minlength=1).astype(np.int32)
    large = np.flatnonzero(sizes > SMALL)
    blocks = np.cumsum(sizes[large], dtype=np.int64) // DIVIDED
    if len(large):
        _write_blocks(parts, units, sizes, large, blocks, folder)
    old, new = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    for block in np.unique(blocks):
        records = np.fromfile(folder / f"{block}.texts", dtype=_WORDS)
        words = np.fromfile(folder / f"{block}.words", dtype=np.uint64)
        rows, _ = distinct(np.ascontiguousarray(records["whole"]))
        whole = records["whole"][rows]
        starts = np.concatenate([[0], np.cumsum(records["size"])]).astype(np.int64)
        leaders = nearest_texts(words, starts, rows, records["unit"][rows])
        joined = np.flatnonzero(leaders != np.arange(len(leaders)))
        old.append(whole[joined])
        new.append(whole[leaders[joined]])
    shutil.rmtree(folder, ignore_errors=True)
    led_by = _Renamed(np.concatenate(old), np.concatenate(new))

    def keys() -> Iterator[Hashes]:
        start = 0
        for part in parts():
            own = units[start : start + len(part.whole)]
            # What no unit of few rows has in common with a text of a large one.
            yield np.where(sizes[own] > SMALL, led_by(part.whole), _random(own))
            start += len(own)

    number_in_order(keys(), closest, folder / "numbers")


def pair_keys(one: Ints, two: Ints) -> Hashes:
    """Return a random number for every pair of numbers."""
    return _random(one) + _random(_random(two).view(np.int64))


def _random(numbers: Ints) -> Hashes:
    values = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(values ^ (values >> np.uint64(31)))


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


def _candidates(parts: Parts, expected: int, folder: Path, alike: float) -> tuple[Hashes, Hashes, Hashes]:
    """Return texts that may be near copies, in the order in which they are compared, with the two others each.

    They share a number of a band with both: one text is the first of all that do, the other the one before it.
    """
    bands = [Buckets(folder / str(band), _TEXT, expected) for band in range(BANDS)]
    for part in parts():
        rows, _ = distinct(part.whole)
        long, bits = long_texts(part.words, part.starts, rows)
        rows = rows[long]
        words, starts = _gathered(part, rows)
        keys = band_keys(words, starts)
        records = np.empty(len(rows), dtype=_TEXT)
        records["whole"], records["bits"], records["size"] = part.whole[rows], bits, np.diff(starts)
        for band, own in zip(bands, keys, strict=True):
            records["key"] = own
            band.add(own, records)
    found: list[tuple[Hashes, Hashes, Hashes]] = []
    for band in bands:
        for records in band:
            order = band.order(records["key"])
            key, whole = records["key"][order], records["whole"][order]
            _order_by_text(key, whole, order)
            key, whole, bits, size = (
                np.ascontiguousarray(records[name][order]) for name in _TEXT.names or ()
            )
            found.append(_alike(key, whole, bits, size, alike))
    folder.rmdir()
    nothing = np.empty(0, dtype=np.uint64)
    one, two, three = zip(*found, strict=True) if found else ((nothing,),) * 3
    return np.concatenate(one), np.concatenate(two), np.concatenate(three)


def _gathered(part: Words, rows: Ints) -> tuple[Hashes, Ints]:
    """Return the words of some texts in compressed rows."""
    sizes = np.diff(part.starts)[rows]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return part.words[np.repeat(part.starts[rows] - starts[:-1], sizes) + np.arange(starts[-1])], starts


def _sets_of(parts: Parts, needed: Hashes) -> tuple[Hashes, Ints, Hashes]:
    """Return the distinct words of some texts, where each text's begin, and 64 bits of each one's words."""
    pools, own, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    missing = np.ones(len(needed), dtype=np.bool_)
    for part in parts() if len(needed) else ():
        place = np.minimum(np.searchsorted(needed, part.whole), len(needed) - 1)
        rows = np.flatnonzero((needed[place] == part.whole) & missing[place])
        place, first = np.unique(place[rows], return_index=True)
        missing[place] = False
        every = np.ones(len(place), dtype=np.bool_)
        words, bounds = _kernels.word_sets(part.words, part.starts, rows[first], every)
        pools.append(words)
        own.append(place)
        sizes.append(np.diff(bounds))
    size = np.concatenate(sizes)
    together = Words(needed, np.concatenate(pools), np.concatenate([[0], np.cumsum(size)]).astype(np.int64))
    order = np.argsort(np.concatenate(own))
    sets, bounds = _gathered(together, order)
    bits, _ = _kernels.word_bits(sets, bounds, np.arange(len(needed)))
    return sets, bounds, bits


def _write_blocks(parts: Parts, units: Ints, sizes: Array, large: Ints, blocks: Ints, folder: Path) -> None:
    """Write the texts of large units with their words, in files of whole units."""
    folder.mkdir(parents=True)
    start = 0
    for part in parts():
        own = units[start : start + len(part.whole)]
        start += len(own)
        rows, _ = distinct(part.whole)
        rows = rows[sizes[own[rows]] > SMALL]
        block = blocks[np.searchsorted(large, own[rows])]
        for number in np.unique(block):
            here = rows[block == number]
            words, starts = _gathered(part, here)
            records = np.empty(len(here), dtype=_WORDS)
            records["whole"], records["unit"], records["size"] = part.whole[here], own[here], np.diff(starts)
            for name, values in (("texts", records), ("words", words)):
                with (folder / f"{number}.{name}").open("ab") as file:
                    values.tofile(file)


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
