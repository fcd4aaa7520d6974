"""An index of the n-grams of a benchmark, and the exact hits of a stream of text in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.audits.overlap._kernels import word_hashes
from cuecard.stats.arrays import Ints

Hashes = npt.NDArray[np.uint64]
_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True)
class Hit:
    """A run of words that a text of the benchmark and the corpus share: which words, and where in the corpus."""

    text: int
    first: int
    last: int
    """Words `first` to `last` − 1 of the text."""
    start: int
    end: int
    """Bytes of the corpus, counted in the part that was searched."""


@dataclass(frozen=True, eq=False)
class _Words:
    hashes: Hashes
    words: list[bytes]


class NgramIndex:
    """The n-grams of texts by hash; n is the number of words of a text where that is less than `n`.

    Texts with fewer than `shortest` words are not searched: a name or a number occurs everywhere.
    """

    def __init__(self, texts: Sequence[str], n: int = 13, shortest: int = 5) -> None:
        self.texts = [_words(text.encode(), escapes=False) for text in texts]
        self.lengths = np.array([len(t.words) for t in self.texts], np.int64)
        self.n, self.shortest = n, shortest
        sizes = np.minimum(self.lengths, n)
        self.sizes: list[int] = [int(size) for size in np.unique(sizes) if size >= shortest]
        self._of_size = {size: self._grams(np.flatnonzero(sizes == size), size) for size in self.sizes}

    @property
    def searched(self) -> npt.NDArray[np.bool_]:
        """Which texts are long enough to be searched for."""
        return self.lengths >= self.shortest

    def _grams(self, texts: Ints, size: int) -> tuple[Hashes, Ints, Ints]:
        """Return the sorted hashes of all n-grams of a size, with the text and the word of each."""
        hashes, owner, place = [], [], []
        for text in texts:
            grams = ngram_hashes(self.texts[text].hashes, size)
            hashes.append(grams)
            owner.append(np.full(len(grams), text))
            place.append(np.arange(len(grams)))
        every = np.concatenate(hashes)
        order = np.argsort(every, kind="stable")
        return every[order], np.concatenate(owner)[order], np.concatenate(place)[order]

    def hits(self, data: bytes, *, escapes: bool = False) -> Iterator[Hit]:
        """Yield the longest runs of words that a part of the corpus shares with a text, each verified word by word."""
        hashes, starts, ends = word_hashes(np.frombuffer(data, np.uint8), escapes)
        seen: dict[tuple[int, int], int] = {}
        for size in self.sizes:
            grams = ngram_hashes(hashes, size)
            if not len(grams):
                continue
            index, owner, place = self._of_size[size]
            low = np.searchsorted(index, grams, "left")
            candidates = np.flatnonzero(index[np.minimum(low, len(index) - 1)] == grams)
            for at in candidates.tolist():
                k = int(low[at])
                while k < len(index) and index[k] == grams[at]:
                    text, word = int(owner[k]), int(place[k])
                    k += 1
                    # A run that was extended over this n-gram has it already.
                    if seen.get((text, at - word), -1) >= at + size:
                        continue
                    run = self._verified(text, word, size, at, data, starts, ends)
                    if run is not None:
                        first, last = run
                        corpus = at - word
                        seen[text, corpus] = corpus + last
                        yield Hit(
                            text, first, last, int(starts[corpus + first]), int(ends[corpus + last - 1])
                        )

    def _verified(
        self, text: int, word: int, size: int, at: int, data: bytes, starts: Ints, ends: Ints
    ) -> tuple[int, int] | None:
        """Return the words of the text that agree around an n-gram, None where only its hash does."""
        words, shift = self.texts[text].words, at - word

        def same(i: int) -> bool:
            j = i + shift
            return 0 <= j < len(starts) and data[starts[j] : ends[j]].lower() == words[i]

        if not all(same(i) for i in range(word, word + size)):
            return None
        first, last = word, word + size
        while first > 0 and same(first - 1):
            first -= 1
        while last < len(words) and same(last):
            last += 1
        return first, last


def ngram_hashes(words: Hashes, n: int) -> Hashes:
    """Return the hash of every run of n words."""
    count = len(words) - n + 1
    if count <= 0:
        return np.empty(0, np.uint64)
    total = np.zeros(count, np.uint64)
    with np.errstate(over="ignore"):
        for k in range(n):
            total = total * _BASE + words[k : k + count]
    return total


def _words(data: bytes, *, escapes: bool) -> _Words:
    hashes, starts, ends = word_hashes(np.frombuffer(data, np.uint8), escapes)
    return _Words(hashes, [data[a:b].lower() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
