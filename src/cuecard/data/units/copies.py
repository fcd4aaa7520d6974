"""Which texts are copies of each other: the same words, or nearly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import on_threads, parts_of_rows, running_total, started
from cuecard.data.splits.sentences import normalised
from cuecard.data.units import _folding, _kernels
from cuecard.data.utf8 import utf8

#: Two texts are near copies if they share this much of their words (Jaccard index) …
ALIKE = 0.7
#: … or are linked by such texts and share this much of them with the text that leads the unit …
LOOSELY = 0.5
#: … and both have at least this many different words: shorter sentences resemble each other by chance.
LEAST_WORDS = 6
#: With bands of three hashes, two texts at the threshold are compared with a probability of 1 − (1 − .7³)¹⁰ = .985.
BANDS = 10
HEIGHT = 3
#: Fewer words are hashed on one thread: to start another takes longer.
WORDS_PER_THREAD = 200_000
#: Rows of a part in which texts are read, so that the copy of their bytes lies in memory that is used again.
ROWS_AT_ONCE = 20_000
NO_RUNS: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)

#: Signs that belong to a word, beside letters and digits: they keep C apart from C++ and 5 from -5.
_SIGNS = b"+-<>=%$#&@*/_"
#: What each byte does to the loop: letters are read in lower case.
_ACTIONS = np.zeros(256, dtype=np.uint64)
for _byte in range(256):
    if chr(_byte).isalpha() and _byte < 128:
        _ACTIONS[_byte] = ord(chr(_byte).lower())
    elif (chr(_byte).isdigit() and _byte < 128) or _byte >= 128 or _byte in _SIGNS:
        _ACTIONS[_byte] = _byte + _folding.SIGN
# Chinese and Japanese are written without spaces: every character (U+3000 to U+9FFF) is a word.
_ACTIONS[0xE3:0xEA] = _folding.ALONE


def copies(texts: pl.Series, *, near: bool = True) -> npt.NDArray[np.int64]:
    """Return a number for every text that its copies share, 0, 1, 2, … in order of first occurrence.

    Copies have the same words in the same order, whatever their case, spaces and punctuation. With `near`, texts are
    also one unit if at least `ALIKE` of their different words are shared, and so are texts linked by such ones as long
    as `LOOSELY` of the words are those of the text that leads the unit: a chain of texts that differ a little each does
    not become one. Units do not depend on the order of texts.
    """
    folded = FoldedTexts()
    folded.add(texts)
    return folded.copies(near=near)


@dataclass(eq=False)
class FoldedTexts:
    """Texts as hashes of their words, gathered from parts of a dataset: what `copies` compares."""

    _whole: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    _words: list[npt.NDArray[np.uint64]] = field(default_factory=list)
    _sizes: list[npt.NDArray[np.int64]] = field(default_factory=list)
    _signs: list[npt.NDArray[np.bool_]] = field(default_factory=list)

    def add(self, texts: pl.Series) -> None:
        """Add texts after those that are there."""
        whole, words, starts, signs = _folded(texts)
        self._whole.append(whole)
        self._words.append(words)
        self._sizes.append(np.diff(starts))
        self._signs.append(signs)

    def add_hashes(
        self,
        whole: npt.NDArray[np.uint64],
        words: npt.NDArray[np.uint64],
        sizes: npt.NDArray[np.integer[Any]],
    ) -> None:
        """Add texts after those that are there, of which `sizes` are the numbers of words."""
        self._whole.append(whole)
        self._words.append(words)
        self._sizes.append(sizes.astype(np.int64))
        self._signs.append(np.ones(len(whole), dtype=np.bool_))

    def extend(self, others: FoldedTexts) -> None:
        """Add the texts of others after those that are there."""
        self._whole += others._whole
        self._words += others._words
        self._sizes += others._sizes
        self._signs += others._signs

    @property
    def signs(self) -> npt.NDArray[np.bool_]:
        """Which texts may have a digit, a sign such as # or a character beyond ASCII; the others have none."""
        return np.concatenate(self._signs)

    def copies(self, *, near: bool = True) -> npt.NDArray[np.int64]:
        """Return the number that the copies of each text share, over all texts that were added."""
        whole, words, starts = self.arrays()
        if not near:
            return in_order(distinct(whole)[1])
        keys = band_keys(words, starts)[0]
        return _near_copies(whole, words, starts, keys, ALIKE, LOOSELY)

    def copies_and_runs(
        self, bounds: npt.NDArray[np.int64], alike: float, loosely: float
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the numbers of copies of texts, and those of runs of texts such as the choices of a question.

        Texts from `bounds[i]` to `bounds[i + 1]` are a run, in any order; `alike` and `loosely` are the shares of words
        for runs. Both come from one pass over the words.
        """
        whole, words, starts = self.arrays()
        keys, run_keys = band_keys(words, starts, bounds)
        of_texts = started(lambda: _near_copies(whole, words, starts, keys, ALIKE, LOOSELY))
        sums = np.add.reduceat(whole, bounds[:-1])
        of_runs = _near_copies(sums, words, starts[bounds], run_keys, alike, loosely)
        return of_texts(), of_runs

    def shared_with(
        self, others: FoldedTexts, runs: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.int64]:
        """Return how many different words of every text the other text of its row has, too.

        With `runs`, texts from `runs[i]` to `runs[i + 1]` have the other text i, as responses have their prompt.
        """
        _, words, starts = self.arrays()
        _, other_words, other_starts = others.arrays()
        of_others = np.arange(len(starts)) if runs is None else runs
        shared: npt.NDArray[np.int64] = _kernels.shared_words(
            words, starts, other_words, other_starts, of_others
        )
        return shared

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
    order = _kernels.rising_order(hashes)
    rising = hashes[order]
    begins = np.ones(len(order), dtype=np.bool_)
    begins[1:] = rising[1:] != rising[:-1]
    code = np.empty(len(order), dtype=np.int64)
    code[order] = np.cumsum(begins) - 1
    return order[begins], code


def _folded(
    texts: pl.Series,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the hash of every text, the hashes of its words in compressed rows, and which texts may have signs."""
    n_parts = max(1, min(pl.thread_pool_size(), len(texts) // ROWS_AT_ONCE))
    bounds = np.linspace(0, len(texts), n_parts + 1).astype(np.int64)
    parts = [texts.slice(int(first), int(last - first)) for first, last in pairwise(bounds)]
    rooms = [int(part.str.len_bytes().sum() or 0) // 2 + len(part) + 1 for part in parts]
    # Arrays of numpy lie in large pages, which are much quicker to fill than those that compiled code asks for.
    words, begins = np.empty(sum(rooms), dtype=np.uint64), running_total(np.array(rooms, np.int64))
    done = on_threads(lambda i: _folded_part(parts[i], words[begins[i] : begins[i + 1]]), n_parts)
    if n_parts == 1:
        return done[0]
    ends = running_total(np.array([len(own) for _, own, _, _ in done]))
    if (
        ends > begins
    ).any():  # texts in one form may be longer than they were: no part may cover the next one
        words = np.empty(ends[-1], dtype=np.uint64)
    for first, last, (_, own, _, _) in zip(ends[:-1], ends[1:], done, strict=True):
        words[first:last] = own
    starts = [
        np.zeros(1, np.int64),
        *(first + own[1:] for first, (_, _, own, _) in zip(ends, done, strict=False)),
    ]
    whole, signs = (np.concatenate([part[i] for part in done]) for i in (0, 3))
    return whole, words[: ends[-1]], np.concatenate(starts), signs


def _folded_part(
    texts: pl.Series, words: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return what `_folded` does of some texts; the hashes are written into `words`, or a longer array if need be."""
    n = len(texts)
    whole, starts, signs = np.empty(n, np.uint64), np.zeros(n + 1, np.int64), np.empty(n, np.bool_)
    for first in range(0, n, ROWS_AT_ONCE):
        part = texts.slice(first, ROWS_AT_ONCE)
        data, offsets = utf8(part)
        beyond_ascii = pl.Series([False])
        if data.max(initial=0) > 127:
            # Case, accents and quotation marks beyond ASCII are brought to one form before the loop over bytes.
            beyond_ascii = (part.str.len_bytes() != part.str.len_chars()).fill_null(False)
            part = part.clone().scatter(beyond_ascii.arg_true(), normalised(part.filter(beyond_ascii)))
            data, offsets = utf8(part)
        used = int(starts[first])
        if used + (len(data) + len(offsets)) // 2 + len(offsets) > len(words):
            # A text in one form may be longer than it was.
            words = np.concatenate([words[:used], np.empty(len(words) + len(data), dtype=np.uint64)])
        rows = slice(first, first + len(part))
        whole[rows], own, signs[rows] = _folding.fold_rows(data, offsets, _ACTIONS, words[used:])
        starts[first + 1 : first + len(part) + 1] = used + own[1:]
        signs[rows] |= beyond_ascii.to_numpy()
    return whole, words[: starts[-1]], starts, signs


def long_texts(
    words: npt.NDArray[np.uint64], starts: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return which texts of `rows` have at least `LEAST_WORDS` different words, and 64 bits of each one's words."""
    bits, at_least = _kernels.word_bits(words, starts, rows)
    unsure = at_least < LEAST_WORDS
    sizes = np.diff(_kernels.word_sets(words, starts, rows, unsure)[1])
    long = np.flatnonzero(~unsure | (sizes >= LEAST_WORDS))
    return long, bits[long]


def band_keys(
    words: npt.NDArray[np.uint64],
    starts: npt.NDArray[np.int64],
    runs: npt.NDArray[np.int64] = NO_RUNS,
    *,
    bands: int = BANDS,
    height: int = HEIGHT,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """Return a number for every band and text, and for every band and run of texts, that those alike often share."""
    # A part holds whole runs, so that each is hashed by one thread.
    bounds = runs if len(runs) > 1 else np.arange(len(starts))
    parts = parts_of_rows(starts[bounds], None, WORDS_PER_THREAD)

    keys, run_keys = (np.empty((bands, len(edges) - 1), dtype=np.uint64) for edges in (starts, runs))

    def write_part(part: int) -> None:
        first, last = parts[part]
        texts = (int(bounds[first]), int(bounds[last]))
        own_runs = runs[first : last + 1] if len(runs) > 1 else runs
        _kernels.band_keys(words, starts, own_runs, keys, run_keys, height, *texts, first)

    on_threads(write_part, len(parts))
    return keys, run_keys


def _near_copies(
    whole: npt.NDArray[np.uint64],
    words: npt.NDArray[np.uint64],
    starts: npt.NDArray[np.int64],
    keys: npt.NDArray[np.uint64],
    alike: float,
    loosely: float,
) -> npt.NDArray[np.int64]:
    """Return the number that the copies and near copies of each text share; `keys` has a row per band.

    Most texts share no key with another one, and most of the others too few words: what is done for a text beyond
    looking for its keys is done for few.
    """
    first = _first_copies(whole)
    rows = np.flatnonzero(first == np.arange(len(first)))
    of_bands = [_shared(of_band, rows) for of_band in keys]
    sharing = np.zeros(len(whole), dtype=np.bool_)
    for those, _ in of_bands:
        sharing[those] = True
    some = np.flatnonzero(sharing)
    # Texts are in the order of their hashes, so that units do not depend on the order of the rows.
    some = some[_kernels.rising_order(whole[some])]
    long, bits = long_texts(words, starts, some)
    some = some[long]
    place_of = np.full(len(whole), -1, dtype=np.int64)
    place_of[some] = np.arange(len(some))
    shared = [_in_order_of_texts(place_of[those], of_those) for those, of_those in of_bands]
    needed = _maybe_alike(words, starts, some, bits, shared, alike)
    sets, bounds = _kernels.word_sets(words, starts, some, needed)
    own = np.arange(len(some), dtype=np.int64)
    for of_texts, of_places in shared:
        _kernels.join_alike(of_places, of_texts, sets, bounds, bits, own, alike, loosely)
    return _numbered(first, some, _kernels.leaders(own))


def _maybe_alike(
    words: npt.NDArray[np.uint64],
    starts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    bits: npt.NDArray[np.uint64],
    shared: Sequence[tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]],
    alike: float,
) -> npt.NDArray[np.bool_]:
    """Return which texts of `rows` their bits do not tell apart from all those with the same key.

    64 bits tell short texts apart; where they do not, more bits are looked at.
    """
    sizes = starts[rows + 1] - starts[rows]
    needed = np.zeros(len(rows), dtype=np.bool_)
    for texts, keys in shared:
        _kernels.mark_alike(keys, texts, sizes, bits[:, None], alike, needed)
    some = np.flatnonzero(needed)
    width = _width(sizes[some])
    if width == 1:
        return needed
    more_bits = _kernels.wide_bits(words, starts, rows[some], width)
    place_of = np.full(len(rows), -1, dtype=np.int64)
    place_of[some] = np.arange(len(some))
    still = np.zeros(len(some), dtype=np.bool_)
    for texts, keys in shared:
        _kernels.mark_alike(keys, place_of[texts], sizes[some], more_bits, alike, still)
    needed[some] = still
    return needed


def _first_copies(whole: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
    """Return the first text with the hash of each text."""
    first = np.arange(len(whole), dtype=np.int64)
    some = _kernels.repeated(whole)
    begins, code = distinct(whole[some])
    first[some] = some[begins[code]]
    return first


def _shared(
    keys: npt.NDArray[np.uint64], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return those of the rows that have the key of another one, by rising key, and their keys."""
    every = len(rows) == len(keys)
    places = _kernels.repeated(keys if every else keys[rows])
    places = places if every else rows[places]
    of_places = keys[places]
    order = _kernels.rising_order(of_places)
    rising = of_places[order]
    more = np.zeros(len(rising), dtype=np.bool_)
    more[1:] = rising[1:] == rising[:-1]
    more[:-1] |= more[1:]
    return places[order[more]], rising[more]


def _width(sizes: npt.NDArray[np.int64]) -> int:
    """Return how many times 64 bits tell texts of a number of words apart: about four bits a word, at most 4,096."""
    most = min(float(sizes.mean()) / 16, 64.0) if len(sizes) else 1.0
    width = 1
    while width < most:
        width *= 2
    return width


def _in_order_of_texts(
    texts: npt.NDArray[np.int64], keys: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Return texts by rising key, those of one key in rising order, and the keys; texts of -1 are left out."""
    there = texts >= 0
    texts, keys = texts[there], keys[there]
    order = np.lexsort((texts, keys))
    return texts[order], keys[order]


def _numbered(
    first: npt.NDArray[np.int64], texts: npt.NDArray[np.int64], leader: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Return the number of every text's unit, by first occurrence.

    `first` is the first copy of every text; `texts[leader[i]]` leads the unit of `texts[i]`.
    """
    joined = np.flatnonzero(leader != np.arange(len(leader)))
    earliest = texts.copy()
    np.minimum.at(earliest, leader[joined], texts[joined])
    begins = np.arange(len(first), dtype=np.int64)
    begins[texts] = earliest[leader]
    begins = begins[first]
    return np.asarray((np.cumsum(begins == np.arange(len(begins))) - 1)[begins], dtype=np.int64)
