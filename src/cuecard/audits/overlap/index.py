"""An index of the n-grams of a benchmark, and the exact hits of a stream of text in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.audits.overlap import _kernels
from cuecard.stats.arrays import Floats, Ints

#: Bits of a hash that are compared before the words themselves are.
BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
#: More spans of one text than this are counted and not listed.
MOST_SPANS = 20


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


class NgramIndex:
    """The n-grams of texts, equal ones once; n is the number of words of a text where that is less than `n`.

    Texts with fewer than `shortest` words are not searched: a name or a number occurs everywhere. Time and memory grow
    with the words of the texts and of the corpus, not with how many texts share an n-gram: an n-gram of the corpus is
    counted once for all texts that have it. Whatever a hash says is compared word by word.
    """

    def __init__(
        self, texts: Sequence[str], n: int = 13, shortest: int = 5, most_spans: int = MOST_SPANS
    ) -> None:
        encoded = [text.encode() for text in texts]
        self._data = np.frombuffer(b"\n".join(encoded) + b"\n", np.uint8)
        hashes, self._starts, self._ends = _kernels.word_hashes(self._data, False)
        bounds = np.cumsum([0, *(len(text) + 1 for text in encoded)])
        first_words = np.searchsorted(self._starts, bounds)
        self._first_word = first_words[:-1]
        self.lengths: Ints = np.diff(first_words)
        self.n, self.shortest, self._most_spans = n, shortest, most_spans
        size = np.minimum(self.lengths, n)
        self.sizes: list[int] = [int(s) for s in np.unique(size) if s >= shortest]
        # A text's runs of n words, then those of n + 1: where both occur, two of the first are one longer run.
        runs = np.where(self.searched, self.lengths - size + 1, 0)
        longer = np.where(self.searched & (self.lengths > n), self.lengths - n, 0)
        self._owner = np.repeat(np.arange(len(texts)), runs)
        self._place = _within(runs)
        self._longer_owner = np.repeat(np.arange(len(texts)), longer)
        first = self._first_word[self._owner] + self._place
        longer_first = self._first_word[self._longer_owner] + _within(longer)
        self._first = np.concatenate([first, longer_first])
        self._sizes = np.concatenate([size[self._owner], np.full(len(longer_first), n + 1)])
        self._power = _kernels.powers(n + 1)
        numbers, self._keys, self._held, self._occurs, self._leaders = _kernels.number_runs(
            self._data, self._starts, self._ends, _kernels.prefix_hashes(hashes), self._power, self._first,
            self._sizes, BITS,
        )  # fmt: skip
        self._numbers, self._longer_numbers = numbers[: len(first)], numbers[len(first) :]
        self._counts: Ints = np.zeros(len(self._leaders), np.int64)
        self._listed: Ints = np.zeros(len(texts), np.int64)
        order = np.argsort(self._numbers, kind="stable")
        ends = np.cumsum(np.bincount(self._numbers, minlength=len(self._leaders)))
        self._posts = (np.concatenate([[0], ends[:-1]]), ends, self._owner[order], self._place[order])
        self._widths = np.unique(self._sizes)

    @property
    def searched(self) -> npt.NDArray[np.bool_]:
        """Which texts are long enough to be searched for."""
        return np.asarray(self.lengths >= self.shortest)

    def hits(self, data: bytes, *, escapes: bool = False, again: int = 0) -> Iterator[Hit]:
        """Yield the longest runs of words that a part of the corpus shares with a text, each verified word by word.

        The first `again` bytes are the end of the part before: a run that began there is yielded again with all its
        words. A text has at most `most_spans` hits over all parts; `occurrences` counts the others, too.
        """
        hashes, starts, ends = _kernels.word_hashes(np.frombuffer(data, np.uint8), escapes)
        spans = _kernels.search(
            np.frombuffer(data, np.uint8), starts, ends, _kernels.prefix_hashes(hashes), self._power, again,
            self._widths, BITS, self._keys, self._held, self._occurs, self._first, self._sizes, self._leaders,
            self._data, self._starts, self._ends, self._first_word, self.lengths, *self._posts, self._counts,
            self._listed, self._most_spans, self.n + 1,
        )  # fmt: skip
        for span in spans.tolist():
            yield Hit(*span)

    def occurrences(self) -> Ints:
        """Return how many runs of words of every text the corpus holds: n-grams less those that continue another."""
        n = len(self.lengths)
        counts = np.bincount(self._owner, self._counts[self._numbers], n)
        counts -= np.bincount(self._longer_owner, self._counts[self._longer_numbers], n)
        return counts.astype(np.int64)

    def covered(self) -> Floats:
        """Return the share of every text's words that are in a run of the corpus."""
        hit = self._counts[self._numbers] > 0
        first, size = self._first[: len(hit)][hit], self._sizes[: len(hit)][hit]
        change = np.bincount(first, minlength=len(self._starts) + 1)
        change -= np.bincount(first + size, minlength=len(self._starts) + 1)
        inside = np.concatenate([[0], np.cumsum(np.cumsum(change)[:-1] > 0)])
        words = inside[self._first_word + self.lengths] - inside[self._first_word]
        return np.asarray(words / np.maximum(self.lengths, 1))


def _within(sizes: Ints) -> Ints:
    """Return 0, 1, 2, … within each of some runs."""
    return np.asarray(np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes))
