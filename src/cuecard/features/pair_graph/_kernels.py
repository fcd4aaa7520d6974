"""Compiled walks over sparse rows; nothing is ever stored for a pair that is not an edge."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cuecard._compiled import njit

Ids = npt.NDArray[np.int32]
Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]


@njit(cache=True, nogil=True)
def _comes_before(u: int, v: int, indptr: Integers) -> bool:
    """Whether an edge is worked on from v's side: from the node with more neighbours, so hubs cost little."""
    size_u, size_v = indptr[u + 1] - indptr[u], indptr[v + 1] - indptr[v]
    return bool(size_u < size_v or (size_u == size_v and u <= v))


@njit(cache=True, nogil=True)
def two_step(
    indptr: Integers, neighbours: Ids, entries: Floats, edge_at: Ids, n_edges: int, degrees: Integers
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return A² at every edge, and the common neighbours' number, Σ 1/degree and Σ 1/log degree.

    The rows of the node with more neighbours are spread out in `mark` once; the shorter rows look themselves up:
    Σ over edges of the smaller degree, at most O(edges^1.5), also for a clique. About 70 × scipy's A² at the edges.
    """
    n = len(indptr) - 1
    walks = np.zeros(n_edges)
    common = np.zeros(n_edges)
    allocation = np.zeros(n_edges)
    adamic = np.zeros(n_edges)
    mark = np.zeros(n)
    for v in range(n):
        for p in range(indptr[v], indptr[v + 1]):
            mark[neighbours[p]] = entries[p]
        for p in range(indptr[v], indptr[v + 1]):
            u = neighbours[p]
            if not _comes_before(u, v, indptr):
                continue
            total, shared, share, logs = 0.0, 0, 0.0, 0.0
            for q in range(indptr[u], indptr[u + 1]):
                c = neighbours[q]
                if mark[c] == 0.0:
                    continue
                total += entries[q] * mark[c]
                if c != u and c != v:
                    shared += 1
                    share += 1.0 / degrees[c]
                    if degrees[c] > 1:
                        logs += 1.0 / math.log(degrees[c])
            edge = edge_at[p]
            walks[edge], common[edge], allocation[edge], adamic[edge] = total, shared, share, logs
        for p in range(indptr[v], indptr[v + 1]):
            mark[neighbours[p]] = 0.0
    return walks, common, allocation, adamic


@njit(cache=True, nogil=True)
def three_step(
    indptr: Integers, neighbours: Ids, entries: Floats, edge_at: Ids, n_edges: int, heavy_size: int
) -> Floats:
    """Return A³ at every edge {u, v}: Σ_c A[v, c] · A²[u, c].

    The sum over c is cut in two. Nodes c with at most `heavy_size` neighbours are walked through from v. For
    each of the few others one row of A² is spread out and read at the edges around it. Both parts cost at
    most O(edges · heavy_size) where heavy_size is about sqrt(edges), so a hub cannot blow it up.
    """
    n = len(indptr) - 1
    walks = np.zeros(n_edges)
    row = np.zeros(n)
    for v in range(n):
        wanted = False
        for p in range(indptr[v], indptr[v + 1]):
            wanted = wanted or _comes_before(neighbours[p], v, indptr)
        if wanted:
            _spread(v, 1.0, row, indptr, neighbours, entries, heavy_size)
            for p in range(indptr[v], indptr[v + 1]):
                u = neighbours[p]
                if _comes_before(u, v, indptr):
                    total = 0.0
                    for q in range(indptr[u], indptr[u + 1]):
                        total += entries[q] * row[neighbours[q]]
                    walks[edge_at[p]] += total
            _spread(v, 0.0, row, indptr, neighbours, entries, heavy_size)
    for h in range(n):
        if indptr[h + 1] - indptr[h] <= heavy_size:
            continue
        _spread(h, 1.0, row, indptr, neighbours, entries, n)
        for p in range(indptr[h], indptr[h + 1]):
            v = neighbours[p]
            for q in range(indptr[v], indptr[v + 1]):
                u = neighbours[q]
                if _comes_before(u, v, indptr):
                    walks[edge_at[q]] += entries[p] * row[u]
        _spread(h, 0.0, row, indptr, neighbours, entries, n)
    return walks


@njit(cache=True, nogil=True)
def _spread(
    v: int, factor: float, row: Floats, indptr: Integers, neighbours: Ids, entries: Floats, largest: int
) -> None:
    """Add v's row of A², through nodes of at most `largest` neighbours, to `row`; factor 0 clears it again."""
    for p in range(indptr[v], indptr[v + 1]):
        c = neighbours[p]
        if indptr[c + 1] - indptr[c] > largest:
            continue
        for q in range(indptr[c], indptr[c + 1]):
            d = neighbours[q]
            row[d] = (row[d] + entries[p] * entries[q]) * factor


@njit(cache=True, nogil=True)
def skip_gram(
    indptr: Integers,
    neighbours: Ids,
    vectors: Vectors,
    noise: Floats,
    walks: int,
    length: int,
    window: int,
    negatives: int,
    rng: np.random.Generator,
) -> Vectors:
    """Return the vectors after training on `walks` random walks from every node (skip-gram, negative sampling)."""
    n, size = vectors.shape
    contexts = np.zeros((n, size), dtype=np.float32)
    gradient = np.empty(size, dtype=np.float32)
    walk = np.empty(length, dtype=np.int64)
    for number in range(walks):
        order = rng.permutation(n)
        for place in range(n):
            rate = np.float32(max(0.025 * (1.0 - (number * n + place) / (walks * n)), 0.0001))
            node = order[place]
            for i in range(length):
                walk[i] = node
                node = neighbours[indptr[node] + rng.integers(0, indptr[node + 1] - indptr[node])]
            for i in range(length):
                reach = int(rng.integers(1, window + 1))
                for j in range(max(0, i - reach), min(length, i + reach + 1)):
                    if j != i:
                        _learn(vectors[walk[i]], walk[j], contexts, noise, negatives, rate, gradient, rng)
    return vectors


@njit(cache=True, nogil=True)
def _learn(
    vector: Vectors,
    context: int,
    contexts: Vectors,
    noise: Floats,
    negatives: int,
    rate: np.float32,
    gradient: Vectors,
    rng: np.random.Generator,
) -> None:
    """Move a vector towards a context that it was seen with and away from random ones."""
    gradient[:] = 0.0
    for draw in range(negatives + 1):
        target = context
        if draw > 0:
            target = min(int(np.searchsorted(noise, rng.random())), len(noise) - 1)
        if draw > 0 and target == context:
            continue
        other = contexts[target]
        dot = np.float32(0.0)
        for d in range(len(vector)):
            dot += vector[d] * other[d]
        step = rate * np.float32((1.0 if draw == 0 else 0.0) - 1.0 / (1.0 + math.exp(-dot)))
        for d in range(len(vector)):
            gradient[d] += step * other[d]
            other[d] += step * vector[d]
    for d in range(len(vector)):
        vector[d] += gradient[d]


@njit(cache=True, nogil=True)
def bleu_counts(ids: Ids, offsets: Integers, reference_ids: Ids, reference_offsets: Integers) -> Floats:
    """Return per text how many of its 1- to 4-grams occur in its reference, each at most as often as there."""
    n = len(offsets) - 1
    matches = np.zeros((n, 4))
    for row in range(n):
        start, end = offsets[row], offsets[row + 1]
        first, last = reference_offsets[row], reference_offsets[row + 1]
        for size in range(1, 5):
            for i in range(start, end - size + 1):
                # The k-th occurrence of an n-gram counts if the reference has k of them.
                occurrence = 1
                for j in range(start, i):
                    occurrence += _same(ids, j, ids, i, size)
                for j in range(first, last - size + 1):
                    occurrence -= _same(reference_ids, j, ids, i, size)
                    if occurrence == 0:
                        matches[row, size - 1] += 1
                        break
    return matches


@njit(cache=True, nogil=True)
def _same(left: Ids, i: int, right: Ids, j: int, size: int) -> int:
    for k in range(size):
        if left[i + k] != right[j + k]:
            return 0
    return 1
