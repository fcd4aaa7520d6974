from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import binomtest

from cuecard.stats.units import unit_counts
from cuecard.stats.units.effective import copy_correlation, correlated_pairs


def pairs_of(has: np.ndarray, units: np.ndarray, correlation: float) -> float:
    """The correlated pairs of the rows that have a feature."""
    offsets = np.concatenate([[0], np.cumsum(has)])
    copies = unit_counts(np.zeros(int(has.sum()), np.int32), offsets, units, 1)
    squared = float((np.bincount(units) ** 2.0).sum())
    n = int(has.sum())
    return float(correlated_pairs([n], copies, correlation, rows=len(has), squared_sizes=squared)[0])


def test_agrees_with_counting_pairs_one_by_one() -> None:
    rng = np.random.default_rng(0)
    units, labels = rng.integers(0, 30, 200), rng.integers(0, 3, 200)
    pairs = [(i, j) for i, j in permutations(range(200), 2) if units[i] == units[j]]
    away = np.eye(3)[labels] - [0.4, 0.3, 0.3]
    expected = np.mean([away[i] @ away[j] for i, j in pairs]) / 0.66
    assert expected < copy_correlation(units, labels, [0.4, 0.3, 0.3]) < expected + 0.2


def test_independent_copies_are_found_nearly_independent() -> None:
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(3_000), 4)
    assert copy_correlation(units, rng.integers(0, 3, 12_000), [1 / 3] * 3) < 0.05


def test_copies_that_half_agree_are_half_correlated() -> None:
    rng = np.random.default_rng(2)
    block = np.repeat(rng.integers(0, 2, 4_000), 3)
    labels = np.where(rng.random(12_000) < np.sqrt(0.5), block, rng.integers(0, 2, 12_000))
    assert copy_correlation(np.repeat(np.arange(4_000), 3), labels, [0.5, 0.5]) == pytest.approx(
        0.5, abs=0.06
    )


@pytest.mark.parametrize("rho", [0.0, 0.4, 1.0])
def test_features_of_correlated_copies_are_rejected_at_most_at_the_level(rho: float) -> None:
    rng = np.random.default_rng(3)
    rejected, tests = 0, 0
    for _ in range(60):
        texts = np.repeat(np.arange(300), 4)
        block = np.repeat(rng.random(300) < 0.5, 4)
        labels = np.where(rng.random(1_200) < np.sqrt(rho), block, rng.random(1_200) < 0.5).astype(int)
        correlation = copy_correlation(texts, labels, [0.5, 0.5])
        for _ in range(10):
            has = np.repeat(rng.random(300) < 0.1, 4)
            n, k = int(has.sum()), int(labels[has].sum())
            if n == 0:
                continue
            worth = n**2 / (n + pairs_of(has, texts, correlation))
            size = round(float(worth))
            rejected += binomtest(round(k / n * size), size, 0.5).pvalue <= 0.05
            tests += 1
    assert rejected / tests <= 0.07


def test_rows_without_copies_say_nothing() -> None:
    assert copy_correlation([0, 1, 2], [0, 1, 0], [0.5, 0.5]) == 0.0


def test_pairs_of_rows_correlate_as_simulated_labels_of_units_do() -> None:
    """The variance of the labels of a feature's rows, given the share of all, by brute force."""
    rng = np.random.default_rng(4)
    units = np.repeat(np.arange(40), rng.integers(1, 30, 40))
    goes_with_units = rng.random(40)[units] < 0.3
    for has in (
        goes_with_units,
        rng.random(len(units)) < 0.5,
        rng.random(len(units)) < rng.random(40)[units],
    ):
        rho, sums = 0.5, []
        for _ in range(4_000):
            block = (rng.random(40) < 0.5)[units]
            labels = np.where(rng.random(len(units)) < np.sqrt(rho), block, rng.random(len(units)) < 0.5)
            sums.append(float((labels * (has - has.mean())).sum()))
        n, share = has.sum(), has.mean()
        expected = 0.25 * (
            (1 - rho) * n * (1 - share) + rho * (n * (1 - share) + pairs_of(has, units, 1.0) * (1 - share))
        )
        assert np.var(sums) == pytest.approx(expected, rel=0.12)


def test_a_feature_of_half_of_a_unit_counts_in_full_and_one_of_all_its_rows_once() -> None:
    units = np.repeat([0, 1], 200)
    assert pairs_of(np.arange(400) % 2 == 0, units, 1.0) == 0.0
    assert pairs_of(units == 0, units, 1.0) == pytest.approx(200 * 199 - 200, rel=0.01)


def test_copies_correlate_if_their_labels_have_other_shares_than_the_rest() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 1_500)
    assert copy_correlation(np.repeat(np.arange(50), 30), labels, [0.5, 0.5]) < 0.02
    expected = (0.5 - 0.8) ** 2 / (0.8 * 0.2)
    assert expected < copy_correlation(np.repeat(np.arange(50), 30), labels, [0.8, 0.2]) < expected + 0.25
