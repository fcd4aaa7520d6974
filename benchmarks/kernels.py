"""Compiled loops beside what numpy, scipy, polars and scikit-learn do for the same answer, by processor time.

A loop that wins by less than three times would be the library's instead. Loops without a counterpart (annotation,
near copies, exact tails, training) are measured where they are used: cues, annotators, fasttext, neutral_weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from benchmarks.measure import timed, write_json
from cuecard.data.demo import demo_corpus
from cuecard.models.linear.ngram_features import (
    BITS,
    HashedRows,
    count_documents,
    frequent_columns,
    hash_rows,
)
from cuecard.stats import _native
from cuecard.text import presence, tokenise

Work = Callable[[], Any]
PAIRS = 60_000
REPEATS = 3


def rivals() -> dict[str, tuple[Work, Work]]:
    """Return by name a compiled loop and what a library does instead."""
    corpus = demo_corpus(PAIRS)
    texts = pl.concat([corpus["premise"].alias("text"), corpus["hypothesis"].alias("text")])
    tokens = tokenise(texts)
    premise, hypothesis = tokens.rows(0, PAIRS), tokens.rows(PAIRS, 2 * PAIRS)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, PAIRS).astype(np.int32)
    n = tokens.n_types

    def bags(part: Any) -> sparse.csr_matrix:
        ones = np.ones(len(part.ids), dtype=np.float64)
        made = sparse.csr_matrix((ones, part.ids, part.offsets), shape=(len(part), n))
        made.sum_duplicates()
        made.data[:] = 1
        return made

    both = bags(premise), bags(hypothesis)
    one_hot = sparse.csr_matrix((np.ones(PAIRS), (np.arange(PAIRS), labels)))
    keys = tokens.ids[:-1].astype(np.int64) * n + tokens.ids[1:]
    hashed = hash_rows([hypothesis])
    counted = np.ones(PAIRS, np.bool_)
    frequency = np.zeros(1 << BITS, dtype=np.int32)
    count_documents(hashed, counted, frequency)
    columns = frequent_columns(frequency, PAIRS)
    numbers = columns.numbers
    entries = np.concatenate(
        [hashed.slots[s : s + u] for s, u in zip(hashed.starts, hashed.used, strict=True)]
    )
    hash_bags = sparse.csr_matrix(
        (np.ones(len(entries)), entries, np.concatenate([[0], np.cumsum(hashed.used)])),
        shape=(PAIRS, 1 << BITS),
    )
    a, b = rng.zipf(1.5, 200_000) % 50_000, rng.zipf(1.5, 200_000) % 50_000
    graph = sparse.csr_matrix((np.ones(len(a)), (a, b)), shape=(50_000, 50_000))
    graph = sparse.csr_matrix(((graph + graph.T) > 0).astype(np.float64))
    indptr, neighbours = graph.indptr.astype(np.int64), graph.indices.astype(np.int32)
    edges = sparse.triu(graph, format="csr")
    number = sparse.csr_matrix((np.arange(1, edges.nnz + 1), edges.indices, edges.indptr), shape=graph.shape)
    edge_at = ((number + sparse.triu(number, 1).T).tocsr().data - 1).astype(np.int32)
    degrees = np.diff(indptr) - (graph.diagonal() != 0)

    def vectorised() -> Any:
        from sklearn.feature_extraction.text import CountVectorizer

        return CountVectorizer(binary=True).fit_transform(texts.to_list())

    def weighted() -> Any:
        from sklearn.feature_extraction.text import TfidfTransformer

        return TfidfTransformer().fit_transform(hash_bags[:, columns.slots])

    def compacted() -> Any:
        total = int(hashed.used.sum())
        arrays = np.zeros(PAIRS + 1, np.int64), np.empty(total, np.int32), np.empty(total)
        return _native.compact_rows(hashed.slots, hashed.starts, hashed.used, numbers, columns.idf, *arrays)

    def overlapping() -> Any:
        every_word = np.ones(n, dtype=np.bool_)
        return _native.overlap_counts(
            premise.ids, premise.offsets, hypothesis.ids, hypothesis.offsets, every_word
        )

    return {
        "encode_rows / CountVectorizer": (lambda: tokenise(texts, threads=1), vectorised),
        "number_keys / numpy.unique": (
            lambda: _native.number_keys(keys),
            lambda: np.unique(keys, return_inverse=True),
        ),
        "count_presence / scipy product": (
            lambda: _native.count_presence(hypothesis.ids, hypothesis.offsets, 0, PAIRS, labels, n, 3),
            lambda: bags(hypothesis).T @ one_hot,
        ),
        "distinct_in_rows / scipy sum_duplicates": (
            lambda: presence(hypothesis),
            lambda: bags(hypothesis),
        ),
        "overlap_counts / scipy multiply": (
            overlapping,
            lambda: (both[0].multiply(both[1]).sum(axis=1), both[1].sum(axis=1)),
        ),
        "compact_rows / TfidfTransformer": (compacted, weighted),
        "two_step / scipy A² at edges": (
            lambda: _native.two_step(indptr, neighbours, graph.data, edge_at, edges.nnz, degrees),
            lambda: (graph @ graph).multiply(edges),
        ),
    }


def _filled(hashed: HashedRows) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the places of hashes that are taken."""
    ends = np.cumsum(hashed.used)
    return np.repeat(hashed.starts - ends + hashed.used, hashed.used) + np.arange(ends[-1])


def main(argv: list[str]) -> None:
    """Print how many times longer each library takes than the compiled loop."""
    del argv
    ratios = {}
    for name, (ours, theirs) in rivals().items():
        ours()  # compiled before it is timed
        times = [timed(work, repeats=REPEATS).processor for work in (ours, theirs)]
        ratios[name] = times[1] / times[0]
        print(f"{name:42} {1000 * times[0]:8.1f} ms {1000 * times[1]:8.1f} ms {ratios[name]:6.1f} ×")
    print(f"written to {write_json('kernels', ratios)}")
