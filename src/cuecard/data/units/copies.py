"""Which texts are copies of each other: the same words, or nearly the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.splits.sentences import normalised
from cuecard.data.units import _kernels

#: Two texts are near copies if they share this much of their words (Jaccard index) …
ALIKE = 0.7
#: … or are linked by such texts and share this much of them with the text that leads the unit …
LOOSELY = 0.5
#: … and both have at least this many different words: shorter sentences resemble each other by chance.
LEAST_WORDS = 6
#: With bands of three hashes, two texts at the threshold are compared with a probability of 1 − (1 − .7³)¹⁰ = .985.
BANDS = 10
HEIGHT = 3

#: Signs that belong to a word, beside letters and digits: they keep C apart from C++ and 5 from -5.
_SIGNS = b"+-<>=%$#&@*/_"
_KINDS = np.zeros(256, dtype=np.uint8)
_LETTERS = np.arange(256, dtype=np.uint8)
for _byte in range(256):
    if (chr(_byte).isalnum() and _byte < 128) or _byte >= 128 or _byte in _SIGNS:
        _KINDS[_byte] = _kernels.BELONGS
    if ord("A") <= _byte <= ord("Z"):
        _LETTERS[_byte] = _byte + 32
# Chinese and Japanese are written without spaces: every character (U+3000 to U+9FFF) is a word.
_KINDS[0xE3:0xEA] = _kernels.ALONE


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

    def add(self, texts: pl.Series) -> None:
        """Add texts after those that are there."""
        whole, words, starts = _folded(texts)
        self._whole.append(whole)
        self._words.append(words)
        self._sizes.append(np.diff(starts))

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

    def extend(self, others: FoldedTexts) -> None:
        """Add the texts of others after those that are there."""
        self._whole += others._whole
        self._words += others._words
        self._sizes += others._sizes

    def joined(self, bounds: npt.NDArray[np.int64]) -> FoldedTexts:
        """Return one text for each run of texts from `bounds[i]` to `bounds[i + 1]`, such as the choices of a question.

        The order of texts in a run makes no difference.
        """
        whole, sizes = np.concatenate(self._whole), np.concatenate(self._sizes)
        first = bounds[:-1]
        return FoldedTexts(
            [np.add.reduceat(whole, first)], [np.concatenate(self._words)], [np.add.reduceat(sizes, first)]
        )

    def copies(
        self, *, near: bool = True, alike: float = ALIKE, loosely: float = LOOSELY
    ) -> npt.NDArray[np.int64]:
        """Return the number that the copies of each text share, over all texts that were added."""
        whole, words, starts = self.arrays()
        first, code = distinct(whole)
        if near:
            code = _near(words, starts, first, alike, loosely)[code]
        return in_order(code)

    def arrays(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
        """Return the hash of every text, and the hashes of its words in compressed rows."""
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(self._sizes))])
        return np.concatenate(self._whole), np.concatenate(self._words), starts


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
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the hash of every text, and the hashes of its words in compressed rows."""
    beyond_ascii = (texts.str.len_bytes() != texts.str.len_chars()).fill_null(False)
    if beyond_ascii.any():
        # Case, accents and quotation marks beyond ASCII are brought to one form before the loop over bytes.
        texts = texts.clone().scatter(beyond_ascii.arg_true(), normalised(texts.filter(beyond_ascii)))
    array = texts.fill_null("").rechunk().to_arrow(compat_level=pl.CompatLevel.oldest())
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.zeros(len(array) + 1, dtype=np.int64)
    if len(array) and offset_buffer is not None:
        offsets = np.frombuffer(offset_buffer, dtype=np.int64)[array.offset : array.offset + len(array) + 1]
    data = np.frombuffer(data_buffer if data_buffer is not None else b"", dtype=np.uint8)
    whole, words, starts = _kernels.fold_rows(
        np.require(data, np.uint8, "C"), offsets.copy(), _KINDS, _LETTERS
    )
    return whole, words, starts


def _near(
    words: npt.NDArray[np.uint64],
    starts: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    alike: float,
    loosely: float,
) -> npt.NDArray[np.int64]:
    """Return for each text of `rows` the number of the text among them that it is a near copy of, or its own."""
    leaders = np.arange(len(rows), dtype=np.int64)
    # Texts are in the order of their hashes, so that units do not depend on the order of the rows.
    sets, bounds, long = _kernels.word_sets(words, starts, rows, LEAST_WORDS)
    bits = _kernels.bit_sets(sets, bounds)
    own = np.arange(len(long), dtype=np.int64)
    for of_band in _kernels.band_keys(sets, bounds, BANDS, HEIGHT):
        places = _kernels.repeated(of_band)
        keys = of_band[places]
        rising = _kernels.rising_order(keys)
        _kernels.join_alike(keys[rising], places[rising], sets, bounds, bits, own, alike, loosely)
    leaders[long] = long[_kernels.leaders(own)]
    return leaders
