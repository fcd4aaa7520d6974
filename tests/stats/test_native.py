"""Every compiled loop beside a few lines of numpy, scipy or Python that say the same."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components

from cuecard.stats import _native

FNV_START, FNV_PRIME, GOLDEN, MIX_A, MIX_B, MIX_C = (
    0xCBF29CE484222325, 0x100000001B3, 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xC2B2AE3D27D4EB4F,
)  # fmt: skip
EVERY = 2**64


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def tokens(rng):
    """Rows of token ids below 40, some of them empty."""
    sizes = rng.integers(0, 9, 300)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return rng.integers(0, 40, offsets[-1]).astype(np.int32), offsets


def rows_of(ids, offsets):
    return [ids[a:b].tolist() for a, b in pairwise(offsets)]


def mixed(value):
    value = (value ^ value >> 30) * MIX_A % EVERY
    value = (value ^ value >> 27) * MIX_B % EVERY
    return value ^ value >> 31


def mixed_two(a, b):
    h = (a * GOLDEN + b * MIX_C) % EVERY
    h = (h ^ h >> 29) * MIX_A % EVERY
    return h ^ h >> 32


def test_tails_of_a_binomial_are_those_of_scipy(rng):
    n, p = rng.integers(1, 60, 200).astype(float), rng.random(200)
    k = np.floor(rng.random(200) * (n + 1))
    less, greater = np.empty(200), np.empty(200)
    _native.binomial_log_tails(k, n, p, less, greater)
    np.testing.assert_allclose(less, stats.binom.logcdf(k, n, p), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(greater, stats.binom.logsf(k - 1, n, p), rtol=1e-9, atol=1e-12)


def test_tails_of_sums_are_those_of_convolutions(rng):
    trials, chances = rng.integers(1, 12, 6), rng.uniform(0.1, 0.9, 6)
    size = rng.integers(8, 30, (1, 6))
    drawn, marked = size // 3, size // 2
    binomial, hypergeometric = np.ones(1), np.ones(1)
    for g in range(6):
        binomial = np.convolve(binomial, stats.binom.pmf(np.arange(trials[g] + 1), trials[g], chances[g]))
        counts = np.arange(drawn[0, g] + 1)
        pmf = stats.hypergeom.pmf(counts, size[0, g], marked[0, g], drawn[0, g])
        hypergeometric = np.convolve(hypergeometric, pmf)
    for k in range(trials.sum() + 1):
        less, greater, theta = np.empty(1), np.empty(1), np.empty(1)
        _native.poisson_binomial_log_tails(
            np.array([k]), np.array([0, 6]), trials, chances, less, greater, theta
        )
        assert np.exp([less[0], greater[0]]) == pytest.approx([binomial[: k + 1].sum(), binomial[k:].sum()])
    for k in np.flatnonzero(hypergeometric > 1e-12):
        less, greater = np.empty(1), np.empty(1)
        _native.stratified_log_tails(np.array([k]), drawn, marked, size, less, greater)
        expected = [hypergeometric[: k + 1].sum(), hypergeometric[k:].sum()]
        assert np.exp([less[0], greater[0]]) == pytest.approx(expected)


def test_keys_are_numbered_by_first_occurrence(rng):
    keys = rng.integers(0, 3000, 9000)
    numbers, distinct = _native.number_keys(keys)
    _, first = np.unique(keys, return_index=True)
    assert distinct.tolist() == keys[np.sort(first)].tolist()
    assert distinct[numbers].tolist() == keys.tolist()


def test_tokens_in_rows(tokens, rng):
    ids, offsets = tokens
    rows = rows_of(ids, offsets)
    codes = rng.integers(-1, 3, len(rows)).astype(np.int32)
    presence = np.zeros((40, 3), dtype=int)
    for row, code in zip(rows, codes, strict=True):
        if code >= 0:
            presence[list(set(row)), code] += 1
    assert _native.count_presence(ids, offsets, 0, len(rows), codes, 40, 3).tolist() == presence.tolist()
    names = rng.permutation(np.repeat(np.arange(-1, 9), 4)).astype(np.int32)
    named = [[int(name) for name in dict.fromkeys(names[row].tolist()) if name >= 0] for row in rows]
    assert rows_of(*_native.distinct_in_rows(ids, offsets, names, 9)) == named
    keys, key_offsets = _native.ngram_keys(ids, offsets, ids, offsets, 2, 40)
    assert rows_of(keys, key_offsets) == [[a * 40 + b for a, b in pairwise(row)] for row in rows]


def test_words_that_two_texts_share(tokens, rng):
    ids, offsets = tokens
    other = rng.permutation(ids)
    counted = rng.random(40) < 0.7
    shared, distinct = _native.overlap_counts(other, offsets, ids, offsets, counted)
    pairs = zip(rows_of(other, offsets), rows_of(ids, offsets), strict=True)
    sets = [(set(a), {word for word in b if counted[word]}) for a, b in pairs]
    assert shared.tolist() == [len(a & b) for a, b in sets]
    assert distinct.tolist() == [len(b) for _, b in sets]


def test_hashes_of_bytes_words_and_ngrams(rng):
    texts = [b"", b"a", b"abc", "né".encode()]
    data, offsets = np.frombuffer(b"".join(texts), np.uint8), np.cumsum([0, *map(len, texts)])
    for text, found, word in zip(
        texts, _native.byte_hashes(data, offsets), _native.hash_words(data, offsets), strict=True
    ):
        value, key = FNV_START, len(text)
        for byte in text:
            value = (value ^ byte) * FNV_PRIME % EVERY
            key = mixed_two(key, byte + 1)
        assert (int(found), int(word)) == (mixed(value), key >> 1)
    ids, keys, mask = np.array([0, 1, 0, 1], np.int32), np.array([5, 9]), 255
    out, used = np.empty(8, np.int32), np.zeros(1, np.int64)
    _native.hash_ngrams(
        ids, np.array([0, 4]), keys, 2, 1, mask, np.full(256, -1, np.int32), out, np.zeros(1, np.int64), used
    )
    unigrams = [mixed_two(1, 5), mixed_two(1, 9)]
    expected = {*unigrams, mixed_two(unigrams[0], 9), mixed_two(unigrams[1], 5)}
    assert sorted(out[: used[0]].tolist()) == sorted({h & mask for h in expected})


def test_orders_and_sets_of_hashes(rng):
    keys = rng.integers(0, EVERY - 1, 900, dtype=np.uint64)[rng.integers(0, 900, 2000)]
    assert _native.rising_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()
    _, first, code = np.unique(keys, return_index=True, return_inverse=True)
    assert _native.first_places(keys).tolist() == first[code].tolist()
    starts, needed = np.array([0, 3, 3, 400, 2000]), np.array([True, True, False, True])
    sets, bounds = _native.word_sets(keys, starts, np.arange(4), needed)
    expected = [
        np.unique(keys[a:b]).tolist() if n else [] for (a, b), n in zip(pairwise(starts), needed, strict=True)
    ]
    assert rows_of(sets, bounds) == expected
    others, other_starts = keys[::2].copy(), np.array([0, 500, 1000])
    counts = _native.shared_words(keys, starts, others, other_starts, np.array([0, 2, 4]))
    of_runs = [set(others[:500].tolist()), set(others[500:].tolist())]
    rows = [set(keys[a:b].tolist()) for a, b in pairwise(starts)]
    assert counts.tolist() == [len(row & of_runs[i // 2]) for i, row in enumerate(rows)]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_joined_units_are_connected_components(rng, dtype):
    ones, others = rng.integers(0, 500, (2, 300))
    leader = np.arange(500, dtype=dtype)
    _native.join_pairs(ones, others, leader)
    _native.number_units(leader)
    graph = sparse.coo_array((np.ones(300), (ones, others)), shape=(500, 500))
    assert leader.tolist() == connected_components(graph, directed=False)[1].tolist()


def test_sums_within_units(tokens, rng):
    ids, offsets = tokens
    units, weights = np.sort(rng.integers(0, 60, 300)), rng.random(300)
    bounds = np.flatnonzero(np.diff(units, prepend=-1, append=-1))
    found = _native.repeated_sums(ids, offsets, np.arange(300), bounds, weights, 40, 16)
    bags = np.zeros((300, 40))
    for row, words in enumerate(rows_of(ids, offsets)):
        bags[row, words] = 1
    member = (units[:, None] == np.unique(units)).astype(float)
    counts = member.T @ bags
    assert found[0].tolist() == (counts > 0).sum(axis=0).tolist()
    np.testing.assert_allclose(found[1], ((member * weights[:, None]).T @ bags).__pow__(2).sum(axis=0))
    np.testing.assert_allclose(found[3].sum(axis=1), (counts**2).sum(axis=0))
    assert found[4].tolist() == bags.sum(axis=0).tolist()
    np.testing.assert_allclose(found[5], member.sum(axis=0) @ counts)


@pytest.mark.parametrize("squared", [False, True])
def test_sums_by_column(rng, squared):
    matrix = sparse.random(50, 20, density=0.2, format="csr", random_state=1)
    x, out = rng.random(50), np.zeros(20)
    _native.add_by_column(matrix.indptr.astype(np.int64), matrix.indices, matrix.data, x, out, squared)
    np.testing.assert_allclose(out, (matrix.power(2) if squared else matrix).T @ x)


def test_rows_of_features_have_length_one(rng):
    slots, starts, used = rng.integers(0, 9, 40).astype(np.int32), np.arange(0, 40, 4), np.full(10, 3)
    column, idf = np.array([0, -1, 1, 2, -1, 3, 4, 5, 6], np.int32), rng.random(7) + 1
    indptr, indices, values = np.zeros(11, np.int64), np.empty(40, np.int32), np.empty(40)
    total = _native.compact_rows(slots, starts, used, column, idf, indptr, indices, values)
    kept = [[column[s] for s in slots[a : a + 3] if column[s] >= 0] for a in starts]
    assert rows_of(indices[:total], indptr) == kept
    for row, (a, b) in zip(kept, pairwise(indptr), strict=True):
        np.testing.assert_allclose(values[a:b], idf[row] / max(np.linalg.norm(idf[row]), 1e-9))
    weights, margins = rng.random((7, 2)), np.zeros((10, 2))
    _native.add_margins(
        indptr, indices, values, 0.5, np.arange(10), np.arange(7, dtype=np.int32), weights, margins
    )
    matrix = sparse.csr_matrix((values[:total], indices[:total], indptr), shape=(10, 7))
    np.testing.assert_allclose(margins, 0.5 * (matrix @ weights))


@pytest.mark.parametrize("heavy_size", [1, 4, 30])
def test_walks_of_a_graph_are_powers_of_its_matrix(rng, heavy_size):
    dense = rng.integers(0, 3, (30, 30)) * (rng.random((30, 30)) < 0.2)
    dense = (dense + dense.T).astype(float)
    graph = sparse.csr_matrix(dense)
    rows = np.repeat(np.arange(30), np.diff(graph.indptr))
    ends = np.sort(np.column_stack([rows, graph.indices]), axis=1)
    edges, edge_at = np.unique(ends, axis=0, return_inverse=True)
    a, b = edges.T
    loopless = (dense > 0) & ~np.eye(30, dtype=bool)
    degrees = loopless.sum(axis=1)
    shape = (
        graph.indptr.astype(np.int64), graph.indices.astype(np.int32), graph.data,
        edge_at.ravel().astype(np.int32), len(edges),
    )  # fmt: skip
    walks, common, allocation, _ = _native.two_step(*shape, degrees)
    np.testing.assert_allclose(walks, (dense @ dense)[a, b])
    shared = [(loopless[i] & loopless[j])[:] for i, j in edges]
    assert common.tolist() == [int(both.sum()) for both in shared]
    np.testing.assert_allclose(allocation, [(1 / degrees[both]).sum() for both in shared])
    np.testing.assert_allclose(_native.three_step(*shape, heavy_size), (dense @ dense @ dense)[a, b])


def test_tails_without_strata_are_certain():
    counts, empty = np.zeros(3, np.int64), np.zeros((3, 0), np.int64)
    less, greater = np.full(3, -1.0), np.full(3, -1.0)
    _native.stratified_log_tails(counts, empty, empty, empty, less, greater)
    assert (less == 0).all()
    assert (greater == 0).all()


def test_texts_with_one_key_are_compared_with_the_first_and_the_last_of_it(rng):
    sources = [rng.choice(40, 12, replace=False).tolist() for _ in range(4)]
    texts = [{*sources[i % 4][1:], 40 + i % 7} for i in range(60)]
    keys, order = np.sort(rng.integers(0, 9, 60)).astype(np.uint64), rng.permutation(60)
    bits = np.array([[sum(1 << word for word in text)] for text in texts], dtype=np.uint64)
    sizes, needed = np.full(60, 12), np.zeros(60, dtype=np.bool_)
    found = _native.maybe_alike(keys, order, sizes, bits, 0.7, needed)
    expected, pairs = [], []
    for place in range(60):
        start = int(np.searchsorted(keys, keys[place]))
        others = [order[start], order[place - 1]] if place > start else []
        alike = [
            (order[place], other) for other in others if jaccard(texts[order[place]], texts[other]) >= 0.7
        ]
        pairs += alike
        expected += [[order[place], *others]] if alike else []
    assert found.tolist() == expected
    assert np.flatnonzero(needed).tolist() == sorted({text for pair in pairs for text in pair})
    sets = np.array([sorted(text) for text in texts], dtype=np.uint64).ravel()
    leader, bounds = np.arange(60), np.arange(0, 721, 12)
    _native.join_alike(found, sets, np.stack([bounds[:-1], bounds[1:]], 1), bits[:, 0].copy(), leader, 0.7, 0)
    unit = np.arange(60)
    for text, *others in expected:
        for other in others:
            if unit[text] == unit[other]:
                break
            if jaccard(texts[text], texts[other]) >= 0.7:
                unit[np.isin(unit, unit[[text, other]])] = min(unit[text], unit[other])
                break
    assert _native.leaders(leader).tolist() == unit.tolist()
    assert len(set(unit)) < 60


def jaccard(one: set[int], other: set[int]) -> float:
    return len(one & other) / len(one | other)
