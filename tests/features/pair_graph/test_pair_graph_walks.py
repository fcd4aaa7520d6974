"""Graph features against dense matrix powers and against networkx."""

from __future__ import annotations

import tracemalloc

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cuecard.errors import InputError
from cuecard.features.pair_graph import (
    leakage_features,
    pair_graph,
    proximity_features,
    sentence_codes,
    walk_features,
)

pairs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=60)


def dense(edges: np.ndarray, n: int) -> np.ndarray:
    matrix = np.zeros((n, n))
    for a, b in edges:
        matrix[a, b] += 1
        matrix[b, a] += 1
    return matrix


@settings(max_examples=200, deadline=None)
@given(pairs)
def test_walks_are_entries_and_row_sums_of_powers_of_the_dense_adjacency_matrix(
    edges: list[tuple[int, int]],
) -> None:
    ends = np.array(edges)
    graph = pair_graph(ends[:, 0], ends[:, 1], 10)
    a = dense(ends, 10)
    two, three = a @ a, a @ a @ a
    i, j = ends.T
    expected = [a.sum(1)[i], a.sum(1)[j], two[i, j], three[i, j]]
    expected += [two.sum(1)[i], two.sum(1)[j], three.sum(1)[i], three.sum(1)[j]]
    np.testing.assert_array_equal(walk_features(graph), np.column_stack(expected))
    np.testing.assert_array_equal(leakage_features(graph), np.column_stack(expected[:3]))


def test_nodes_with_many_neighbours_take_the_other_way_to_the_same_walks() -> None:
    rng = np.random.default_rng(0)
    hubs = np.column_stack([rng.integers(0, 3, 900), rng.integers(0, 400, 900)])
    rest = rng.integers(0, 400, (300, 2))
    ends = np.concatenate([hubs, rest])
    graph = pair_graph(ends[:, 0], ends[:, 1], 400)
    assert (np.diff(graph.indptr) > np.sqrt(2 * graph.n_edges)).sum() == 3
    a = dense(ends, 400)
    np.testing.assert_array_equal(walk_features(graph)[:, 3], (a @ a @ a)[ends[:, 0], ends[:, 1]])


@settings(max_examples=60, deadline=None)
@given(pairs.map(lambda edges: [(a, b) for a, b in edges if a != b]).filter(bool))
def test_proximity_indices_are_those_of_networkx(edges: list[tuple[int, int]]) -> None:
    nx = pytest.importorskip("networkx")
    ends = np.array(edges)
    ours = proximity_features(pair_graph(ends[:, 0], ends[:, 1], 10))
    oracle = nx.Graph(edges)
    indices = (
        nx.resource_allocation_index, nx.jaccard_coefficient, nx.preferential_attachment, nx.adamic_adar_index,
    )  # fmt: skip
    theirs = np.column_stack([[value for _, _, value in index(oracle, edges)] for index in indices])
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    hub = nx.Graph([*edges, *((node, "hub") for node in range(10))])
    released = proximity_features(pair_graph(ends[:, 0], ends[:, 1], 10), hub=True)
    adamic = [value for _, _, value in nx.adamic_adar_index(hub, edges)]
    np.testing.assert_allclose(released, np.column_stack([theirs[:, :3], adamic]), rtol=1e-12)


@settings(max_examples=100, deadline=None)
@given(pairs, st.tuples(st.integers(0, 9), st.integers(0, 9)))
def test_a_pair_outside_the_graph_has_the_features_of_being_added_alone(
    edges: list[tuple[int, int]], asked: tuple[int, int]
) -> None:
    other = (asked[1], (asked[0] + 1) % 10)
    ends = np.array([*edges, other, asked])
    counted = np.arange(len(ends)) < len(edges)
    alone = np.array([*edges, asked])
    found = leakage_features(pair_graph(ends[:, 0], ends[:, 1], 10, counted=counted))
    np.testing.assert_array_equal(found[-1], leakage_features(pair_graph(alone[:, 0], alone[:, 1], 10))[-1])
    whole = leakage_features(pair_graph(ends[: len(edges), 0], ends[: len(edges), 1], 10))
    np.testing.assert_array_equal(found[: len(edges)], whole)


def test_a_sentence_paired_with_itself_occurs_twice() -> None:
    graph = pair_graph([0, 0], [0, 1])
    assert graph.frequency.tolist() == [3, 1]
    assert leakage_features(graph).tolist() == [[3, 3, 5], [3, 1, 2]]  # A = [[2, 1], [1, 0]]
    assert np.isfinite(proximity_features(graph)).all()


def test_the_same_string_is_one_node_in_either_column() -> None:
    first, second, n = sentence_codes(pl.Series(["b", "a", "b"]), pl.Series(["a", "b", "c"]))
    assert n == 3
    assert first.tolist() == [1, 0, 1]
    assert second.tolist() == [0, 1, 2]
    assert pair_graph(first, second, n).n_edges == 2


def test_no_pairs_give_no_features() -> None:
    graph = pair_graph(np.empty(0, dtype=int), np.empty(0, dtype=int))
    assert leakage_features(graph).shape == (0, 3)


def test_columns_of_different_length_are_refused() -> None:
    with pytest.raises(InputError, match="same length"):
        pair_graph([0, 1], [0])


def test_a_giant_clique_has_the_walks_of_a_complete_graph() -> None:
    n = 700
    i, j = np.triu_indices(n, 1)
    features = walk_features(pair_graph(i, j, n))
    # In K_n: A² = (n−2)A + (n−1)I off and on the diagonal, A³ = ((n−1) + (n−2)²) on edges.
    assert (features[:, 2] == n - 2).all()
    assert (features[:, 3] == (n - 1) + (n - 2) ** 2).all()


def test_memory_grows_with_edges_and_not_with_pairs_of_nodes() -> None:
    rng = np.random.default_rng(1)
    n = 300_000
    first = rng.integers(0, 1_000_000, n)
    second = np.where(rng.random(n) < 0.2, rng.integers(0, 5, n), rng.integers(0, 1_000_000, n))
    leakage_features(pair_graph([0], [1]))  # imports before measuring
    tracemalloc.start()
    try:
        features = leakage_features(pair_graph(first, second, 1_000_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert features.shape == (n, 3)
    assert peak < 200 * (n + 1_000_000)  # bytes; A² of the five hubs alone would hold 5 × 12,000² entries
