"""The exact test of one cluster against brute force, Fisher's test and shuffled labels."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import fisher_exact

from cuecard.stats.clusters import divergence as cluster_tests
from cuecard.stats.clusters.divergence import cluster_log_p


def brute_force(row: list[int], totals: list[int]) -> float:
    size, whole = sum(row), sum(totals)

    def chance(drawn: tuple[int, ...]) -> float:
        return float(np.prod([comb(t, x) for t, x in zip(totals, drawn, strict=True)])) / comb(whole, size)

    seen = chance(tuple(row))
    tables = (x for x in product(*(range(t + 1) for t in totals)) if sum(x) == size)
    return sum(p for p in map(chance, tables) if p <= seen * (1 + 1e-9))


@pytest.mark.parametrize("seed", range(5))
def test_p_values_equal_a_sum_over_all_tables(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 6, (3, 4))
    expected = [brute_force(list(row), list(counts.sum(axis=0))) for row in counts.tolist()]
    np.testing.assert_allclose(np.exp(cluster_log_p(counts)), expected, rtol=1e-9)


def test_two_labels_are_fishers_exact_test() -> None:
    counts = np.array([[12, 5], [30, 41], [3, 22]])
    whole = counts.sum(axis=0)
    expected = [fisher_exact([row, whole - row])[1] for row in counts]
    np.testing.assert_allclose(np.exp(cluster_log_p(counts)), expected, rtol=1e-9)


def test_a_label_that_never_occurs_changes_nothing() -> None:
    counts = np.array([[12, 5, 9], [30, 41, 3]])
    padded = np.insert(counts, 1, 0, axis=1)
    np.testing.assert_array_equal(cluster_log_p(counts), cluster_log_p(padded))


def test_an_empty_contrast_is_no_evidence() -> None:
    np.testing.assert_array_equal(cluster_log_p([[5, 0], [7, 0]]), [0, 0])
    np.testing.assert_array_equal(cluster_log_p([[5, 3]]), [0])


def test_extreme_clusters_keep_their_logarithm() -> None:
    log_p = cluster_log_p([[2000, 0, 0], [0, 2000, 2000]])
    assert np.isfinite(log_p).all()
    assert log_p[0] < -1500


@pytest.mark.parametrize("most", [cluster_tests.MOST_TABLES, 0])
def test_level_holds_on_shuffled_labels_both_ways(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster_tests, "MOST_TABLES", most)
    rng = np.random.default_rng(1)
    labels, clusters = np.repeat([0, 1, 2], [60, 80, 100]), rng.integers(0, 6, 240)
    p = []
    for _ in range(150):
        table = np.zeros((6, 3), dtype=int)
        np.add.at(table, (clusters, rng.permutation(labels)), 1)
        p.append(np.exp(cluster_log_p(table)))
    rejected = float(np.mean(np.array(p) <= 0.05))
    assert 0.01 < rejected <= 0.065


def test_the_two_ways_agree_on_a_strong_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [[60, 10, 10], [100, 160, 150]]
    exact = cluster_log_p(counts)
    monkeypatch.setattr(cluster_tests, "MOST_TABLES", 0)
    np.testing.assert_allclose(cluster_log_p(counts), exact, rtol=0.15)


@pytest.mark.parametrize("labels", [71, 200])
def test_clusters_of_many_labels_of_which_one_is_empty_are_tested(labels: int) -> None:
    counts = np.random.default_rng(0).integers(0, 4, (6, labels))
    counts[0] = 0
    log_p = cluster_log_p(counts)
    assert log_p[0] == 0
    assert np.all(log_p <= 0)
