"""PECO over several clusterings: level by simulation, agreement with one clustering, intervals that cover."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import kstest

from cuecard.stats import peco, peco_null, peco_starts
from cuecard.stats.clusters.peco import SampleDesign

Ints = npt.NDArray[np.int64]


def other_starts(clusters: Ints, k: int, n: int, rng: np.random.Generator) -> list[Ints]:
    """Clusterings that put three in ten instances elsewhere, each in its own way."""
    moved = [
        np.where(rng.random(len(clusters)) < 0.3, rng.integers(0, k, len(clusters)), clusters)
        for _ in range(n)
    ]
    return [np.asarray(clustering) for clustering in moved]


def leaning(k: int, per_cluster: int, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Labels of two kinds whose share goes from a fifth to four fifths over the clusters."""
    clusters = rng.integers(0, k, k * per_cluster)
    return (rng.random(len(clusters)) < np.linspace(0.2, 0.8, k)[clusters]).astype(np.int64), clusters


def choices_in_clusters(n: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Questions with two choices, the right one more often in an even cluster."""
    clusters = rng.integers(0, 6, (n, 2))
    odds = np.where(clusters % 2 == 0, 3.0, 1.0)
    second = rng.random(n) < odds[:, 1] / odds.sum(axis=1)
    labels = np.stack([second, ~second], axis=1).astype(int)
    return labels.ravel(), clusters.ravel(), np.repeat(np.arange(n), 2)


def test_scores_are_those_of_each_clustering_and_their_mean() -> None:
    rng = np.random.default_rng(0)
    labels, clusters = leaning(8, 60, rng)
    starts = [clusters, *other_starts(clusters, 8, 3, rng), clusters // 2]
    wanted = (("l2", "exact"), ("l2", "released"), ("kl", "exact"), ("kl", "released"))
    for found, (divergence, mode) in zip(peco_starts(labels, starts, wanted=wanted), wanted, strict=True):
        alone = [peco(labels, c, divergence=divergence, mode=mode) for c in starts]
        np.testing.assert_allclose(found.scores, alone)
        assert found.score == pytest.approx(np.mean(alone))
        assert found.excess == pytest.approx(found.score - found.null_mean)
        assert found.excesses.mean() == pytest.approx(found.excess)
        assert found.low <= found.excess <= found.high


@pytest.mark.parametrize("grouped", [False, True])
def test_one_clustering_has_the_null_of_a_single_score(grouped: bool) -> None:
    labels, clusters, groups = choices_in_clusters(300, np.random.default_rng(2))
    given = groups if grouped else None
    found = peco_starts(labels, [clusters], design=SampleDesign(groups=given), permutations=2000, draws=2)[0]
    single = peco_null(labels, clusters, design=SampleDesign(groups=given), permutations=2000)
    assert found.null_mean == pytest.approx(single.null_mean, rel=0.08)
    assert found.null_high == pytest.approx(np.quantile(single.null, 0.95), rel=0.1)


@pytest.mark.parametrize(("n", "k"), [(500, 10), (500, 100), (2000, 50)])
def test_the_verdict_over_starts_keeps_its_level_where_the_best_start_does_not(n: int, k: int) -> None:
    rng = np.random.default_rng(n + k)
    starts = other_starts(rng.integers(0, k, n), k, 5, rng)
    together, best = [], []
    for i in range(150):
        found = peco_starts(rng.permutation(np.arange(n) % 3), starts, permutations=99, draws=2, seed=i)[0]
        together.append(found.p_value)
        best.append(found.p_values.min())
    assert kstest(together, "uniform").pvalue > 1e-3
    assert np.mean(np.array(together) <= 0.1) <= 0.1 + 3 * np.sqrt(0.09 / 150)
    assert np.mean(np.array(best) <= 0.1) > 0.2


def test_a_leak_that_single_starts_find_only_now_and_then_is_found_by_all_together() -> None:
    rng = np.random.default_rng(4)
    alone, together = [], []
    for i in range(25):
        clusters = rng.integers(0, 20, 1000)
        labels = (rng.random(1000) < np.where(clusters < 3, 0.68, 0.5)).astype(np.int64)
        found = peco_starts(labels, other_starts(clusters, 20, 8, rng), permutations=99, draws=2, seed=i)[0]
        alone.append((found.p_values <= 0.05).mean())
        together.append(found.p_value <= 0.05)
    assert np.mean(together) > np.mean(alone) + 0.1


@pytest.mark.parametrize("k", [5, 20])
@pytest.mark.parametrize("mode", ["exact", "released"])
def test_the_interval_of_the_excess_covers_the_expected_excess(k: int, mode: Any) -> None:
    rng = np.random.default_rng(k)
    found = []
    for i in range(150):
        labels, clusters = leaning(k, 100, rng)
        starts = other_starts(clusters, k, 3, rng)
        found += peco_starts(labels, starts, wanted=[("l2", mode)], permutations=50, draws=100, seed=i)
    truth = np.mean([result.excess for result in found])
    # Two standard errors of a coverage of 95 % below it.
    assert np.mean([result.low <= truth <= result.high for result in found]) >= 0.95 - 2 * 0.018


def test_whole_groups_are_redrawn_where_labels_depend_on_each_other() -> None:
    rng = np.random.default_rng(1)
    found = []
    for i in range(100):
        labels, clusters, groups = choices_in_clusters(400, rng)
        found += peco_starts(
            labels, [clusters], design=SampleDesign(groups=groups), permutations=50, draws=100, seed=i
        )
    truth = np.mean([result.excess for result in found])
    assert np.mean([result.low <= truth <= result.high for result in found]) >= 0.95 - 2 * 0.022
    # The same rows twice as a group carry no more information than once: the interval must not shrink.
    twice = [np.concatenate([part, part]) for part in (labels, clusters, groups)]
    single = peco_starts(labels, [clusters], design=SampleDesign(groups=groups))[0]
    double = peco_starts(twice[0], [twice[1]], design=SampleDesign(groups=twice[2]))[0]
    loose = peco_starts(twice[0], [twice[1]])[0]
    assert double.high - double.low == pytest.approx(single.high - single.low)
    assert loose.high - loose.low < double.high - double.low


def test_clusterings_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    labels, clusters = leaning(20, 100, rng)
    same = peco_starts(labels, [clusters] * 4)[0]
    mixed = peco_starts(labels, [clusters, clusters, rng.permutation(clusters), rng.permutation(clusters)])[0]
    assert (mixed.high - mixed.low) / mixed.excess > 1.5 * (same.high - same.low) / same.excess


def test_a_perfectly_even_set_has_a_finite_interval() -> None:
    labels, clusters = np.tile([0, 1], 60), np.repeat(np.arange(6), 20)
    found = peco_starts(labels, [clusters, clusters // 2, clusters // 3])[0]
    assert found.score == 0
    assert found.p_value == 1
    assert -found.null_mean == pytest.approx(found.low)
    assert found.low <= found.excess <= found.high < 20


def test_the_same_seed_gives_the_same_figures() -> None:
    labels, clusters = leaning(5, 40, np.random.default_rng(7))
    first, second = (peco_starts(labels, [clusters, clusters // 2], seed=3)[0] for _ in range(2))
    assert (first.p_value, first.low, first.high) == (second.p_value, second.low, second.high)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: peco_starts([0, 1], []), "one or more vectors"),
        (lambda: peco_starts([0, 1], [[0, 1, 1]]), "as long as labels, got lengths 3"),
        (lambda: peco_starts([0, 1], [[0, 1]], design=SampleDesign(groups=[0])), "groups must be as long"),
        (lambda: peco_starts([0, 1], [[0, 1]], permutations=0), "at least 1 and 2"),
        (lambda: peco_starts([0, 1], [[0, 1]], confidence=1.0), "between 0 and 1"),
    ],
)
def test_bad_input_is_one_clear_sentence(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_the_interval_of_the_weighted_excess_covers_the_excess_of_the_weighted_world() -> None:
    rng = np.random.default_rng(4)
    shares = np.array([[0.7, 0.3], [0.5, 0.5], [0.4, 0.6], [0.55, 0.45], [0.3, 0.7]] * 4)
    mean = shares.mean(axis=0)
    values = ((shares - mean) ** 2).sum(axis=1)
    truth = 100 * (values.mean() - values.min())
    covered = 0
    for i in range(150):
        clusters = np.repeat(np.arange(20), 150)
        labels = (rng.random(3000) > shares[clusters, 0]).astype(int)
        weights = rng.lognormal(0, 0.6, 3000)
        found = peco_starts(
            labels, [clusters], design=SampleDesign(weights=weights), permutations=30, draws=200, seed=i
        )[0]
        covered += found.low <= truth <= found.high
    assert covered / 150 >= 0.86


def test_whole_weights_score_as_repeated_instances_and_equal_ones_as_none() -> None:
    rng = np.random.default_rng(5)
    labels, clusters = leaning(6, 50, rng)
    starts, times = [clusters, *other_starts(clusters, 6, 2, rng)], rng.integers(1, 4, len(clusters))
    copies = np.repeat(np.arange(len(times)), times)
    weighted = peco_starts(labels, starts, design=SampleDesign(weights=times), permutations=5, draws=2)[0]
    repeated = peco_starts(labels[copies], [s[copies] for s in starts], permutations=5, draws=2)[0]
    np.testing.assert_allclose(weighted.scores, repeated.scores)
    plain, ones = (
        peco_starts(labels, starts, design=SampleDesign(weights=w), permutations=20)[0]
        for w in (None, np.ones(len(labels)))
    )
    assert (plain.p_value, plain.low, plain.high) == (ones.p_value, ones.low, ones.high)


@pytest.mark.parametrize("grouped", [False, True])
def test_the_weighted_null_is_that_of_a_single_weighted_score(grouped: bool) -> None:
    labels, clusters, groups = choices_in_clusters(200, np.random.default_rng(6))
    given = groups if grouped else None
    weights = np.random.default_rng(7).lognormal(0, 0.7, 200).repeat(2)
    found = peco_starts(
        labels, [clusters], design=SampleDesign(groups=given, weights=weights), permutations=1000, draws=2
    )[0]
    single = peco_null(
        labels, clusters, design=SampleDesign(groups=given, weights=weights), permutations=1000
    )
    assert found.score == pytest.approx(single.score)
    assert found.null_mean == pytest.approx(single.null_mean, rel=0.08)


def test_the_weighted_verdict_keeps_its_level_where_weights_go_with_clusters() -> None:
    rng = np.random.default_rng(8)
    clusters = np.concatenate([np.repeat(np.arange(15), 20), np.repeat(np.arange(15, 20), 200)])
    small = 0
    for i in range(150):
        weights = np.where(clusters < 15, rng.lognormal(0, 1.5, len(clusters)), 1.0)
        labels = rng.integers(0, 3, len(clusters))
        found = peco_starts(
            labels, [clusters], design=SampleDesign(weights=weights), permutations=39, draws=2, seed=i
        )[0]
        small += found.p_value <= 0.05
    assert small <= 17  # 7.5 expected


def test_weights_that_are_not_positive_are_refused() -> None:
    for wrong in ([1.0, 0.0, 1.0], [1.0, -1.0, 1.0], [1.0, np.nan, 1.0]):
        with pytest.raises(ValueError, match="positive and finite"):
            peco_starts([0, 1, 0], [[0, 0, 1]], design=SampleDesign(weights=wrong))
