"""Word n-grams of integer tokens as sparse rows for a linear learner, without a string being touched."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.models import _kernels
from cuecard.text import Tokens

#: N-grams are hashed to this many bits and then renumbered, so a collision costs accuracy, never memory.
BITS = 22

Mask = npt.NDArray[np.bool_]


def ngram_features(
    texts: Sequence[Tokens],
    *,
    ngrams: int = 2,
    shared: tuple[Tokens, Tokens] | None = None,
    counted: Mask | None = None,
    min_count: int = 2,
) -> sparse.csr_matrix:
    """Return presence of word n-grams, weighted by inverse document frequency, each row of length 1.

    Args:
        texts: texts of every row; the same word in two of them is two features.
        ngrams: longest n-gram, in words.
        shared: premise and hypothesis; every word of the hypothesis becomes a feature that also tells whether
            the premise has it.
        counted: rows that document frequencies are counted on (the train rows); all by default.
        min_count: features of fewer counted rows are left out.
    """
    blocks = [*texts, *(shared or ())]
    n = len(blocks[0])
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
        _kernels.hash_ngrams(tokens.ids, tokens.offsets, ngrams, salt + 1, mask, seen, slots, starts, used)
    if shared is not None:
        premise, hypothesis = shared
        stamp = np.full(len(hypothesis.vocabulary), -1, dtype=np.int64)
        _kernels.hash_shared(
            premise.ids,
            premise.offsets,
            hypothesis.ids,
            hypothesis.offsets,
            0,
            mask,
            stamp,
            slots,
            starts,
            used,
        )
    frequency = _kernels.document_frequency(
        slots, starts, used, np.ones(n, np.bool_) if counted is None else counted, 1 << BITS
    )
    kept = np.flatnonzero(frequency >= min_count)
    # Frequent features first: their weights then lie together in the processor's cache.
    kept = kept[np.argsort(-frequency[kept], kind="stable")]
    column = np.full(1 << BITS, -1, dtype=np.int32)
    column[kept] = np.arange(len(kept), dtype=np.int32)
    rows = n if counted is None else int(counted.sum())
    idf = np.log((1 + rows) / (1 + frequency[kept])) + 1
    total = int(used.sum())
    indptr, indices, values = np.zeros(n + 1, np.int64), np.empty(total, np.int32), np.empty(total)
    total = _kernels.compact_rows(slots, starts, used, column, idf, indptr, indices, values)
    return sparse.csr_matrix((values[:total], indices[:total], indptr), shape=(n, len(kept)))


def word_overlap(premise: Tokens, hypothesis: Tokens) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return per row how many distinct words of the hypothesis the premise has, and how many there are."""
    stamp = np.full(len(hypothesis.vocabulary), -1, dtype=np.int64)
    shared, distinct = _kernels.overlap_counts(
        premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets, stamp
    )
    return shared, distinct
