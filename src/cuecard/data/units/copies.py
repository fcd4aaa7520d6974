"""Which texts are copies of each other, the same words or nearly the same, and which near copies are nearest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import on_threads, parts_of_rows, started
from cuecard.data.space import MEMORY, Space
from cuecard.data.units.buckets import bucket_bits, repeated
from cuecard.data.units.sketches import BANDS, HEIGHT, LEAST_WORDS, Hashes, Sketch, Sketches, folded, sketch
from cuecard.stats import _native
from cuecard.stats.arrays import Array, Bools, Ints, chunks, counted

#: Two texts are near copies if they share this much of their words (Jaccard index) …
ALIKE = 0.7
#: … or are linked by such texts and share this much of them with the text that leads the unit …
LOOSELY = 0.5
#: Texts whose words are read again at a time.
_READ_AGAIN = 1 << 18
#: Fewer words are hashed on one thread: to start another takes longer.
WORDS_PER_THREAD = 200_000


def copies(texts: pl.Series, *, near: bool = True, space: Space = MEMORY) -> npt.NDArray[np.int64]:
    """Return a number for every text that its copies share, 0, 1, 2, … in order of first occurrence.

    Copies have the same words in the same order, whatever their case, spaces and punctuation. With `near`, texts are
    also one unit if at least `ALIKE` of their different words are shared, and so are texts linked by such ones as long
    as `LOOSELY` of the words are those of the text that leads the unit: a chain of texts that differ a little each does
    not become one. Units do not depend on the order of texts.
    """
    if not near:
        return in_order(distinct(folded(texts)[0])[1])
    return near_copies(sketch(texts, space=space).texts, ALIKE, LOOSELY)


def copies_and_runs(
    sketches: Sketches, alike: float, loosely: float
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the numbers of copies of texts, and those of runs of texts such as the choices of a question.

    `alike` and `loosely` are the shares of words for runs.
    """
    of_texts = started(lambda: near_copies(sketches.texts, ALIKE, LOOSELY))
    of_runs = near_copies(sketches.runs, alike, loosely)
    return of_texts(), of_runs


@dataclass(eq=False)
class FoldedTexts:
    """Texts as hashes of their words, gathered from parts of a dataset."""

    _whole: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    _words: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    _sizes: list[npt.NDArray[np.int64]] = field(default_factory=list)

    def add(self, texts: pl.Series) -> None:
        """Add texts after those that are there."""
        whole, words, starts, _ = folded(texts)
        self._whole.append(whole)
        self._words.append(words)
        self._sizes.append(np.diff(starts))

    def arrays(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return the hash of every text, and the hashes of its words in compressed rows."""
        if len(self._whole) > 1:
            self._whole, self._words, self._sizes = (
                [np.concatenate(self._whole)], [np.concatenate(self._words)], [np.concatenate(self._sizes)]
            )  # fmt: skip
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(self._sizes[0])])
        return self._whole[0], self._words[0], starts


def in_order(codes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the codes renumbered 0, 1, 2, … by first occurrence."""
    values = np.asarray(codes)
    if values.dtype == np.int64 and len(values) and 0 <= values.min() <= values.max() < 2 * len(values):
        # Small numbers need no sorting: of all places that are written for a number, the first is written last.
        places = np.arange(len(values))
        first_place = np.empty(int(values.max()) + 1, dtype=np.int64)
        first_place[values[::-1]] = places[::-1]
        begins = first_place[values] == places
        return np.asarray((np.cumsum(begins) - 1)[first_place[values]], dtype=np.int64)
    _, first, code = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[code.ravel()]


def distinct(hashes: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return where each distinct hash is first, by rising hash, and the number of every text's hash among them."""
    order = _native.rising_order(hashes)
    rising = hashes[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = rising[1:] != rising[:-1]
    code = np.empty(len(order), dtype=np.int64)
    code[order] = np.cumsum(begins) - 1
    return order[begins], code


def long_texts(
    words: npt.NDArray[np.uint64], starts: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return which texts of `rows` have at least `LEAST_WORDS` different words, and 64 bits of each one's words."""
    bits = _native.wide_bits(words, starts, rows, 1)[:, 0]
    unsure = np.bitwise_count(bits) < LEAST_WORDS
    sizes = np.diff(_native.word_sets(words, starts, rows, unsure)[1])
    long = np.flatnonzero(~unsure | (sizes >= LEAST_WORDS))
    return long, bits[long]


def band_keys(
    words: npt.NDArray[np.uint64],
    starts: npt.NDArray[np.int64],
    *,
    bands: int = BANDS,
    height: int = HEIGHT,
) -> npt.NDArray[np.uint64]:
    """Return a number for every band and text that those alike often share."""
    keys, none = (np.empty((bands, count), dtype=np.uint64) for count in (len(starts) - 1, 0))
    no_bits, no_runs = np.empty((len(starts) - 1, 0), dtype=np.uint64), np.zeros(1, dtype=np.int64)
    parts = parts_of_rows(starts, None, WORDS_PER_THREAD)

    def write_part(part: int) -> None:
        first, last = parts[part]
        own = starts[first : last + 1]
        _native.band_keys(words, own, no_runs, height, keys, none, no_bits, no_bits[:0], first, 0, 0)

    on_threads(write_part, len(parts))
    return keys


def near_copies(texts: Sketch, alike: float, loosely: float) -> npt.NDArray[np.int64]:
    """Return the number that the copies and near copies of each text share.

    Most texts share no key with another one, and most of the others too few words: what is done for a text beyond
    looking for its keys is done for few. Memory holds one band of some texts at a time.
    """
    space = texts.space
    first = _first_copies(texts.whole, space)
    rows = _distinct_by_hash(texts, first)
    threads = None if space.folder is None else 1
    of_bands = on_threads(
        lambda band: _shared(space.gathered(texts.keys[band], rows), space), len(texts.keys), threads
    )
    sharing = np.zeros(len(rows), dtype=np.bool_)
    for those, _ in of_bands:
        sharing[those] = True
    place_of, found, n_long = space.array(np.int64, len(rows)), space.growing(np.int64), 0
    are_long = _are_long(texts, rows, sharing)
    for chunk in chunks(len(rows)):
        long = np.flatnonzero(are_long[chunk])
        place_of[chunk] = -1
        place_of[chunk][long] = np.arange(n_long, n_long + len(long))
        found.add(rows[chunk][long])
        n_long += len(long)
    some = found.array()
    bits, sizes = space.gathered(texts.bits, some), space.gathered(texts.sizes, some)
    needed = np.zeros(len(some), dtype=np.bool_)

    def compared(band: int) -> Ints:
        of_texts, keys = _placed(place_of, *of_bands[band])
        found = space.growing(np.int64)
        for chunk in _whole_keys(keys):
            pairs = _native.maybe_alike(keys[chunk], of_texts[chunk], sizes, bits, alike, needed)
            found.add(pairs.ravel())
        return found.array().reshape(-1, 3)

    maybe = on_threads(compared, len(of_bands), threads)
    sets, bounds = _sets_of_maybe_alike(texts, some, bits.shape[1], sizes, maybe, needed, alike)
    leader = space.array(np.int64, len(some))
    for chunk in chunks(len(some)):
        leader[chunk] = np.arange(chunk.start, chunk.stop)
    first_bits = space.stored(np.ascontiguousarray(bits[:, 0]))
    for those_of_band in maybe:
        _native.join_alike(those_of_band, sets, bounds, first_bits, leader, alike, loosely)
    return _numbered(first, some, leader, space)


def _whole_keys(keys: npt.NDArray[np.uint64]) -> Iterator[slice]:
    """Yield chunks of sorted keys; none divides texts with the same key."""
    start = 0
    for chunk in chunks(len(keys)):
        if chunk.stop > start:
            end = int(np.searchsorted(keys, keys[chunk.stop - 1], side="right"))
            yield slice(start, end)
            start = end


def _by_hash(hashes: npt.NDArray[np.uint64], which: Bools | None, space: Space) -> Iterator[Ints]:
    """Yield the rows of all hashes, or of some, by their first bits and then in their order; all of them in memory."""
    bits = 0 if space.folder is None else bucket_bits(len(hashes))
    if not bits:
        yield np.arange(len(hashes)) if which is None else np.flatnonzero(which)
        return
    bucket = np.empty(len(hashes), dtype=np.uint16)
    for chunk in chunks(len(hashes)):
        bucket[chunk] = hashes[chunk] >> np.uint64(64 - bits)
        if which is not None:
            bucket[chunk][~which[chunk]] = 1 << bits
    for number in range(1 << bits):
        yield np.concatenate([s.start + np.flatnonzero(bucket[s] == number) for s in chunks(len(hashes))])


def _distinct_by_hash(texts: Sketch, first: Ints) -> Ints:
    """Return the distinct texts of enough words by rising hash: units do not depend on the order of the rows."""
    which, found = np.empty(len(first), dtype=np.bool_), texts.space.growing(np.int64)
    for chunk in chunks(len(first)):
        which[chunk] = (first[chunk] == np.arange(chunk.start, chunk.stop)) & (
            texts.sizes[chunk] >= LEAST_WORDS
        )
    for rows in _by_hash(texts.whole, which, texts.space):
        found.add(rows[_rising(texts.whole[rows], len(texts.whole), texts.space)])
    return found.array()


def _rising(hashes: npt.NDArray[np.uint64], n: int, space: Space) -> Ints:
    """Return the order of rising hashes, those of `_by_hash` of n."""
    bits = 0 if space.folder is None else bucket_bits(n)
    return _native.rising_order(hashes << np.uint64(bits) if bits else hashes)


def _are_long(texts: Sketch, rows: Ints, which: Bools) -> Bools:
    """Return which of some texts of `rows` have at least `LEAST_WORDS` different words."""
    long, unsure = (np.zeros(len(rows), dtype=np.bool_) for _ in range(2))
    for chunk in chunks(len(rows)):
        own = np.flatnonzero(which[chunk])
        of_texts = rows[chunk][own]
        long[chunk][own] = np.bitwise_count(texts.bits[of_texts]).sum(axis=1) >= LEAST_WORDS
        # Two words may have one bit.
        unsure[chunk][own] = ~long[chunk][own] & (texts.sizes[of_texts] >= LEAST_WORDS)
    if unsure.any():
        for places, words, starts in _reader(texts, rows)(unsure):
            every = np.ones(len(places), dtype=np.bool_)
            bounds = _native.word_sets(words, starts, np.arange(len(places)), every)[1]
            long[places] = np.diff(bounds) >= LEAST_WORDS
    return long


def _sets_of_maybe_alike(
    texts: Sketch,
    rows: npt.NDArray[np.int64],
    width: int,
    sizes: Ints,
    maybe: Sequence[Ints],
    needed: Bools,
    alike: float,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the different words of texts of `rows` that their bits do not tell apart from those with the same key.

    The texts that few bits do not tell apart, which are `needed`, are read again, and more bits of them looked at. All
    others have no words. The second array has for each text where its words begin and end.
    """
    space = texts.space
    read = _reader(texts, rows)
    # Where they are on disk, texts are read again for every look at their words.
    found = list(read(needed)) if space.folder is None else None
    still, wider = needed, _width(sizes[needed])
    if wider > width:
        more_bits = space.array(np.uint64, (len(rows), wider))
        for places, words, starts in read(needed) if found is None else found:
            more_bits[places] = _native.wide_bits(words, starts, np.arange(len(places)), wider)
        still = np.zeros(len(rows), dtype=np.bool_)
        for those in maybe:
            for some in chunks(len(those), _READ_AGAIN):
                for pair in (those[some, :2], those[some, ::2]):
                    still[pair[_not_told_apart(pair, sizes, more_bits, alike)]] = True
    sets, bounds, end = space.growing(np.uint64), space.array(np.int64, (len(rows), 2)), 0
    for places, words, starts in read(still) if found is None else found:
        own, ends = _native.word_sets(words, starts, np.arange(len(places)), still[places])
        sets.add(own)
        bounds[places, 0], bounds[places, 1] = end + ends[:-1], end + ends[1:]
        end += len(own)
    return sets.array(), bounds


def _not_told_apart(pairs: Ints, sizes: Ints, bits: Hashes, alike: float) -> Bools:
    """Return which pairs of texts share enough bits to be alike."""
    one, other = pairs.T
    differing = np.bitwise_count(bits[one] ^ bits[other]).sum(axis=1)
    return np.asarray(differing <= (1 - alike) / (1 + alike) * (sizes[one] + sizes[other]) + 1e-9)


def _reader(texts: Sketch, rows: Ints) -> Callable[[Bools], Iterator[tuple[Ints, Hashes, Ints]]]:
    """Return what yields the places of some texts of `rows` with their words, in the order in which texts stand."""
    space, n = texts.space, len(texts.whole)
    place_of = space.array(np.int64, n)
    place_of[:] = -1
    for chunk in chunks(len(rows)):
        place_of[rows[chunk]] = np.arange(chunk.start, chunk.stop)

    def read(which: Bools) -> Iterator[tuple[Ints, Hashes, Ints]]:
        for chunk in chunks(n, max(n, 1) if space.folder is None else _READ_AGAIN):
            there = chunk.start + np.flatnonzero(place_of[chunk] >= 0)
            there = there[which[place_of[there]]]
            if len(there):
                yield place_of[there], *texts.words(there)

    return read


def _first_copies(whole: npt.NDArray[np.uint64], space: Space) -> npt.NDArray[np.int64]:
    """Return the first text with the hash of each text."""
    first = space.array(np.int64, len(whole))
    for chunk in chunks(len(whole)):
        first[chunk] = np.arange(chunk.start, chunk.stop)
    for rows in _by_hash(whole, None, space):
        of_rows = whole if len(rows) == len(whole) else whole[rows]
        some = rows[_repeated(of_rows, len(whole), space)]
        begins, code = distinct(whole[some])
        first[some] = some[begins[code]]
    return first


def _repeated(hashes: npt.NDArray[np.uint64], n: int, space: Space) -> Ints:
    return repeated(hashes, 0 if space.folder is None else bucket_bits(n))


def _shared(
    keys: npt.NDArray[np.uint64], space: Space
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the places of keys that occur more than once, by rising key and then by place, and these keys."""
    texts, of_texts = space.growing(np.int64), space.growing(np.uint64)
    for rows in _by_hash(keys, None, space):
        of_rows = keys if len(rows) == len(keys) else keys[rows]
        places = _repeated(of_rows, len(keys), space)
        of_places = of_rows[places]
        order = _rising(of_places, len(keys), space)
        rising = of_places[order]
        more = np.zeros(len(rising), dtype=np.bool_)
        more[1:] = rising[1:] == rising[:-1]
        more[:-1] |= more[1:]
        texts.add(rows[places[order[more]]])
        of_texts.add(rising[more])
    space.release()
    return texts.array(), of_texts.array()


def _width(sizes: npt.NDArray[np.int64]) -> int:
    """Return how many times 64 bits tell texts of a number of words apart: about four bits a word, at most 4,096."""
    most = min(float(sizes.mean()) / 16, 64.0) if len(sizes) else 1.0
    width = 1
    while width < most:
        width *= 2
    return width


def _placed(
    place_of: Ints, rows: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return the places of rows, and their keys, in the same memory; rows without a place are left out."""
    end = 0
    for chunk in chunks(len(rows)):
        places = place_of[rows[chunk]]
        there = places >= 0
        n = int(np.count_nonzero(there))
        rows[end : end + n], keys[end : end + n] = places[there], keys[chunk][there]
        end += n
    return rows[:end], keys[:end]


def _numbered(first: Ints, texts: Ints, leader: Ints, space: Space) -> npt.NDArray[np.int64]:
    """Return the number of every text's unit, by first occurrence.

    `first` is the first copy of every text; `texts[leader[i]]` and what leads that leads the unit of `texts[i]`.
    """
    roots, earliest = _native.leaders(leader), space.array(np.int64, len(texts))
    for chunk in chunks(len(texts)):
        earliest[chunk] = texts[chunk]
    for chunk in chunks(len(texts)):
        joined = chunk.start + np.flatnonzero(roots[chunk] != np.arange(chunk.start, chunk.stop))
        np.minimum.at(earliest, roots[joined], texts[joined])
    begins, units = (space.array(np.int64, len(first)) for _ in range(2))
    for chunk in chunks(len(first)):
        begins[chunk] = np.arange(chunk.start, chunk.stop)
    for chunk in chunks(len(texts)):
        begins[texts[chunk]] = earliest[roots[chunk]]
    for chunk in chunks(len(first)):
        units[chunk] = begins[first[chunk]]
    _native.number_units(units)
    return units


#: Units of up to this many rows are not divided: a text and its copies.
SMALL = 3
#: A text is compared with all others of its unit; of a larger unit, with those of a part of this size.
BLOCK = 2_000
#: Rows whose units are divided at a time where texts are on disk, about.
_DIVIDED = 1 << 19
#: A unit of this many groups of nearest copies is that of a template: a set of its own, rather than one observation.
TEMPLATE_GROUPS = 20


def closest_copies(texts: pl.Series, units: Ints, space: Space = MEMORY) -> Ints:
    """Return a number for every row that the nearest of its near copies share, 0, 1, 2, … in order of first occurrence.

    `units` are those of `copies`. A template links hundreds of sentences to one unit, in which copies of one sentence
    are still closer to each other than to the rest: each text of a unit is joined with the one that shares most of its
    words. Copies with the same words stay together, and units of at most `SMALL` rows are not divided.
    """
    sizes = counted(units, 1)
    sizes[sizes <= SMALL] = 0
    before = np.cumsum(sizes, out=sizes)
    if not before[-1]:
        return units
    # Units of some rows together are divided at a time; those of all others are led by their first row.
    bounds = np.arange(0, int(before[-1]), _DIVIDED if space.folder is not None else int(before[-1]))
    ends = np.append(np.searchsorted(before, bounds[1:]) + 1, len(before))
    leader, first = space.array(np.int64, len(units)), space.array(np.int64, len(before))
    for chunk in reversed(list(chunks(len(units)))):
        own = units[chunk][::-1]
        first[own] = np.arange(
            chunk.stop - 1, chunk.start - 1, -1
        )  # of equal places, the last one written stays
    large = np.empty(len(units), dtype=np.bool_)
    for chunk in chunks(len(units)):
        leader[chunk] = first[units[chunk]]
        own = units[chunk]
        large[chunk] = before[own] > np.where(own > 0, before[own - 1], 0)
    for start, end in pairwise([0, *ends.tolist()]):
        rows = np.concatenate(
            [
                chunk.start + np.flatnonzero(large[chunk] & _between(units[chunk], start, end))
                for chunk in chunks(len(units))
            ]
        )
        folded = FoldedTexts()
        folded.add(texts.gather(rows))
        closest = closest_folded(folded, units[rows] - start)
        leader[rows] = rows[np.unique(closest, return_index=True)[1][closest]]
    _native.number_units(leader)
    return leader


def _between(values: Ints, low: int, high: int) -> Bools:
    return np.asarray((values >= low) & (values < high))


def divided_templates(near: Ints, closest: Ints) -> tuple[Ints, Ints | None]:
    """Return units in which a template's sentences are not one, and what is only comparable within templates.

    `near` and `closest` are codes of `copies` and `closest_copies` for the same rows. The second array has a code for
    the rows of each template and another one for all other rows; None without templates.
    """
    # Only units of at least as many rows can have as many groups; most texts have few copies.
    rows = np.flatnonzero((np.bincount(near, minlength=1) >= TEMPLATE_GROUPS)[near])
    if not len(rows):
        return near, None
    base = int(closest.max(initial=0)) + 1
    pairs = np.unique(near[rows] * base + closest[rows]) // base
    templated = np.bincount(pairs, minlength=int(near.max(initial=0)) + 1)[near] >= TEMPLATE_GROUPS
    if not templated.any():
        return near, None
    return np.where(templated, int(near.max()) + 1 + closest, near), np.where(templated, near, -1)


def closest_folded(folded: FoldedTexts, units: Ints) -> Ints:
    """Return such numbers for texts that are given as hashes of their words."""
    whole, words, starts = folded.arrays()
    rows = np.flatnonzero((np.bincount(units, minlength=1) > SMALL)[units])
    first, code = distinct(whole[rows])
    joined = nearest_texts(words, starts, rows[first], units[rows[first]])
    codes = units.copy()
    codes[rows] = int(units.max(initial=-1)) + 1 + joined[code]
    return in_order(codes)


def nearest_texts(words: Array, starts: Ints, rows: Ints, units: Ints) -> Ints:
    """Return the place of the text that leads the group of nearest texts, for every text of `rows`.

    These are distinct texts of whole units, by rising hash.
    """
    long, bits = long_texts(words, starts, rows)
    sets, bounds = _native.word_sets(words, starts, rows[long], np.ones(len(long), dtype=np.bool_))
    unit = units[long]
    # Like texts stand near each other in a unit that is too large for one part.
    keys = band_keys(sets, bounds, bands=1, height=1)[0]
    order = np.lexsort((keys, unit))
    ordered = unit[order]
    begins = np.ones(len(order) + 1, dtype=np.bool_)
    begins[1:-1] = ordered[1:] != ordered[:-1]
    leaders = _native.nearest(sets, bounds, bits, order, np.flatnonzero(begins), BLOCK)
    joined = np.arange(len(rows), dtype=np.int64)
    joined[long] = long[leaders]
    return joined
