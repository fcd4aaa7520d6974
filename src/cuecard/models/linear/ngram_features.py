"""Word n-grams of integer tokens as sparse rows for a linear learner, without a string being touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data.fingerprint import utf8
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Ints, chunks
from cuecard.text import Tokens

#: N-grams are hashed to this many bits and then renumbered, so a collision costs accuracy, never memory.
BITS = 22
#: Rows whose hashes are counted at a time.
_ROWS = 1 << 17

Slots = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class HashedRows:
    """The features of every row as hashes: those of row i are `slots[starts[i] : starts[i] + used[i]]`."""

    slots: Slots
    starts: Ints
    used: Ints


@dataclass(frozen=True, eq=False)
class HashColumns:
    """Which hashes have a column, in its order, and the inverse document frequency of each."""

    slots: Slots
    idf: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.slots)

    @cached_property
    def numbers(self) -> Slots:
        """The column of every hash, -1 for those that have none."""
        column = np.full(1 << BITS, -1, dtype=np.int32)
        column[self.slots] = np.arange(len(self.slots), dtype=np.int32)
        return column


def word_keys(vocabulary: pl.Series) -> Ints:
    """Return a number for every word that depends on nothing but the word.

    Features hashed from such numbers are the same in every dataset, which a model that meets new texts needs.
    """
    return _native.hash_words(*utf8(vocabulary))


def hash_rows(
    texts: Sequence[Tokens],
    *,
    ngrams: int = 2,
    shared: tuple[Tokens, Tokens] | None = None,
    keys: Ints | None = None,
) -> HashedRows:
    """Return the distinct word n-grams of every row as hashes.

    Args:
        texts: texts of every row; the same word in two of them is two features.
        ngrams: longest n-gram, in words.
        shared: premise and hypothesis; every word of the hypothesis becomes a feature that also says whether
            the premise has it.
        keys: the number each word of the vocabulary is known by; its place there by default.
    """
    blocks = [*texts, *(shared or ())]
    n = len(blocks[0])
    if keys is None:
        keys = np.arange(1, blocks[0].n_types + 1, dtype=np.int64)
    capacity = sum((tokens.lengths * ngrams for tokens in texts), np.zeros(n, np.int64))
    if shared is not None:
        capacity = capacity + shared[1].lengths
    starts = np.concatenate([[0], np.cumsum(capacity)])[:n].astype(np.int64)
    slots = np.empty(int(capacity.sum()), dtype=np.int32)
    used = np.zeros(n, dtype=np.int64)
    mask = (1 << BITS) - 1
    seen = np.empty(1 << BITS, dtype=np.int32)
    for salt, tokens in enumerate(texts):
        seen.fill(-1)
        _native.hash_ngrams(
            tokens.ids, tokens.offsets, keys, ngrams, salt + 1, mask, seen, slots, starts, used
        )
    if shared is not None:
        premise, hypothesis = shared
        stamp = np.full(hypothesis.n_types, -1, dtype=np.int64)
        places = (premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets)
        _native.hash_shared(*places, keys, 0, mask, stamp, slots, starts, used)
    return HashedRows(slots, starts, used)


def count_documents(hashed: HashedRows, counted: Bools, frequency: Slots) -> None:
    """Add how many of the counted rows have each hash to its frequency."""
    rows = np.flatnonzero(counted)
    for chunk in chunks(len(rows), _ROWS):
        starts, used = hashed.starts[rows[chunk]], hashed.used[rows[chunk]]
        places = np.repeat(starts - np.cumsum(used) + used, used)
        places += np.arange(len(places))
        frequency += np.bincount(hashed.slots[places], minlength=len(frequency)).astype(frequency.dtype)


def frequent_columns(frequency: Slots, n: int, *, min_count: int = 2) -> HashColumns:
    """Return columns for the features that at least `min_count` of n rows have."""
    frequent = np.flatnonzero(frequency >= min_count)
    # Frequent features first: their weights then lie together in the processor's cache.
    frequent = frequent[np.argsort(-frequency[frequent], kind="stable")]
    idf = np.log((1 + n) / (1 + frequency[frequent])) + 1
    return HashColumns(frequent.astype(np.int32), idf)


def feature_rows(hashed: HashedRows, columns: HashColumns) -> sparse.csr_matrix:
    """Return the features that have a column, weighted by inverse document frequency, each row of length 1."""
    n, total = len(hashed.starts), int(hashed.used.sum())
    indptr, indices, values = np.zeros(n + 1, np.int64), np.empty(total, np.int32), np.empty(total)
    total = _native.compact_rows(
        hashed.slots, hashed.starts, hashed.used, columns.numbers, columns.idf, indptr, indices, values
    )
    return sparse.csr_matrix((values[:total], indices[:total], indptr), shape=(n, len(columns)))


def word_overlap(premise: Tokens, hypothesis: Tokens) -> tuple[Ints, Ints]:
    """Return per row how many distinct words of the hypothesis the premise has, and how many there are."""
    every_word = np.ones(hypothesis.n_types, dtype=np.bool_)
    return _native.overlap_counts(
        premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets, every_word
    )
