"""Word n-grams of integer tokens as sparse rows for a linear learner, without a string being touched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data.utf8 import utf8
from cuecard.models.linear import _kernels
from cuecard.stats.arrays import Bools, Ints
from cuecard.text import Tokens

#: N-grams are hashed to this many bits and then renumbered, so a collision costs accuracy, never memory.
BITS = 22

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

    def numbers(self) -> Slots:
        """Return the column of every hash, -1 for those that have none."""
        column = np.full(1 << BITS, -1, dtype=np.int32)
        column[self.slots] = np.arange(len(self.slots), dtype=np.int32)
        return column


def word_keys(vocabulary: pl.Series) -> Ints:
    """Return a number for every word that depends on nothing but the word.

    Features hashed from such numbers are the same in every dataset, which a model that meets new texts needs.
    """
    keys: Ints = _kernels.hash_words(*utf8(vocabulary))
    return keys


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
    mask = np.uint64((1 << BITS) - 1)
    seen = np.empty(1 << BITS, dtype=np.int32)
    for salt, tokens in enumerate(texts):
        seen.fill(-1)
        _kernels.hash_ngrams(
            tokens.ids, tokens.offsets, keys, ngrams, salt + 1, mask, seen, slots, starts, used
        )
    if shared is not None:
        premise, hypothesis = shared
        stamp = np.full(hypothesis.n_types, -1, dtype=np.int64)
        places = (premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets)
        _kernels.hash_shared(*places, keys, 0, mask, stamp, slots, starts, used)
    return HashedRows(slots, starts, used)


def hash_columns(hashed: HashedRows, *, counted: Bools | None = None, min_count: int = 2) -> HashColumns:
    """Return columns for the features that at least `min_count` of the counted rows have (all by default)."""
    if counted is None:
        counted = np.ones(len(hashed.starts), np.bool_)
    frequency = np.zeros(1 << BITS, dtype=np.int32)
    count_documents(hashed, counted, frequency)
    return frequent_columns(frequency, int(counted.sum()), min_count=min_count)


def count_documents(hashed: HashedRows, counted: Bools, frequency: Slots) -> None:
    """Add how many of the counted rows have each hash to its frequency."""
    _kernels.count_documents(hashed.slots, hashed.starts, hashed.used, counted, frequency)


def frequent_columns(frequency: Slots, n: int, *, min_count: int = 2) -> HashColumns:
    """Return columns for the features that at least `min_count` of n rows have."""
    kept = np.flatnonzero(frequency >= min_count)
    # Frequent features first: their weights then lie together in the processor's cache.
    kept = kept[np.argsort(-frequency[kept], kind="stable")]
    idf = np.log((1 + n) / (1 + frequency[kept])) + 1
    return HashColumns(kept.astype(np.int32), idf)


def feature_rows(hashed: HashedRows, columns: HashColumns, numbers: Slots | None = None) -> sparse.csr_matrix:
    """Return the features that have a column, weighted by inverse document frequency, each row of length 1.

    `numbers` are those of the columns, where they have been looked up before.
    """
    n, total = len(hashed.starts), int(hashed.used.sum())
    indptr, indices, values = np.zeros(n + 1, np.int64), np.empty(total, np.int32), np.empty(total)
    numbers = columns.numbers() if numbers is None else numbers
    total = _kernels.compact_rows(
        hashed.slots, hashed.starts, hashed.used, numbers, columns.idf, indptr, indices, values
    )
    return sparse.csr_matrix((values[:total], indices[:total], indptr), shape=(n, len(columns)))


def ngram_features(
    texts: Sequence[Tokens],
    *,
    ngrams: int = 2,
    shared: tuple[Tokens, Tokens] | None = None,
    counted: Bools | None = None,
    min_count: int = 2,
) -> sparse.csr_matrix:
    """Return presence of word n-grams, weighted by inverse document frequency, each row of length 1.

    `counted` are the rows that document frequencies are counted on (the training rows); all by default. The other
    arguments are those of `hash_rows` and `hash_columns`.
    """
    hashed = hash_rows(texts, ngrams=ngrams, shared=shared)
    return feature_rows(hashed, hash_columns(hashed, counted=counted, min_count=min_count))


def word_overlap(premise: Tokens, hypothesis: Tokens) -> tuple[Ints, Ints]:
    """Return per row how many distinct words of the hypothesis the premise has, and how many there are."""
    stamp = np.full(hypothesis.n_types, -1, dtype=np.int64)
    shared, distinct = _kernels.overlap_counts(
        premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets, stamp
    )
    return shared, distinct
