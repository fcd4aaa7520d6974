"""Differences between many models, reliability, and items that better models fail, against independent oracles."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from benchmarks.calibration.runs import same_models
from scipy.stats import mannwhitneyu

from cuecard.stats.many_models import (
    failed_by_better,
    kr20,
    paired_differences,
    smallest_difference,
    split_half,
    tied_with_best,
)


def test_p_values_of_pairs_are_those_of_the_exact_binomial_test():
    from scipy.stats import binomtest

    rng = np.random.default_rng(1)
    right = rng.random((80, 3)) < [0.5, 0.6, 0.8]
    pairs = paired_differences(right)
    for i, (a, b) in enumerate(itertools.combinations(range(3), 2)):
        only_a, only_b = int((right[:, a] & ~right[:, b]).sum()), int((right[:, b] & ~right[:, a]).sum())
        assert 10 ** pairs.log10_p[i] == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
        assert pairs.difference[i] == pytest.approx(right[:, a].mean() - right[:, b].mean())
    assert (pairs.p_adjusted >= 10**pairs.log10_p).all()


@pytest.mark.parametrize("per_unit", [1, 4])
def test_equal_models_rarely_differ_and_intervals_cover(per_unit):
    held = total = false = 0
    for seed in range(60):
        right = same_models(200, 4, per_unit, np.random.default_rng(seed))
        pairs = paired_differences(right, [np.arange(200) // per_unit] if per_unit > 1 else [])
        false += bool((pairs.p_adjusted <= 0.05).any())
        held += int(((pairs.low <= 0) & (pairs.high >= 0)).sum())
        total += len(pairs.low)
    assert false <= 8
    assert held >= 0.93 * total


def test_the_smallest_difference_is_found_with_the_power_that_was_asked():
    rng, n, discordance = np.random.default_rng(2), 400, 0.25
    size = smallest_difference(discordance, n)
    hits = 0
    for _ in range(300):
        a, b, _ = rng.multinomial(n, [(discordance + size) / 2, (discordance - size) / 2, 1 - discordance])
        right = np.zeros((n, 2))
        right[:a, 0] = right[a : a + b, 1] = 1
        hits += bool(paired_differences(right).p_adjusted[0] <= 0.05)
    assert 0.7 <= hits / 300 <= 0.87
    assert smallest_difference(discordance, n / 4) > 1.9 * size
    assert smallest_difference(0.0, 3) == 1.0


def test_models_that_cannot_be_told_from_the_best_are_tied_with_it():
    right = np.zeros((200, 3))
    right[:150, 0] = right[:148, 1] = right[:60, 2] = 1
    pairs = paired_differences(right)
    assert tied_with_best(pairs, right.mean(axis=0), 0.05).tolist() == [True, True, False]


def test_reliability_is_cronbachs_alpha_and_its_interval_covers():
    rng = np.random.default_rng(3)
    held, n = {"kr20": 0, "split": 0}, 60
    for _ in range(60):
        ease = rng.normal(0.3, 1, n)

        def answers(many, ease=ease):
            return rng.random((n, many)) < 1 / (1 + np.exp(-(rng.normal(size=many) + ease[:, None])))

        covariance = np.cov(answers(3000))
        truth = n / (n - 1) * (1 - np.trace(covariance) / covariance.sum())
        table = answers(15)
        for name, (_, low, high) in (("kr20", kr20(table)), ("split", split_half(table, splits=50))):
            held[name] += low <= truth <= high
    assert min(held.values()) >= 52


def test_items_of_a_passage_count_together():
    rng = np.random.default_rng(4)
    table = rng.random((40, 12)) < 0.6
    assert kr20(np.repeat(table, 3, axis=0))[0] > 0.6  # copies of items look reliable
    units = np.repeat(np.arange(40), 3)
    assert kr20(np.repeat(table, 3, axis=0), units)[0] == pytest.approx(kr20(table)[0])
    assert np.isnan(kr20(np.ones((5, 4)))[0])
    assert np.isnan(split_half(np.ones((5, 3)))[0])


@pytest.mark.parametrize(("models", "method"), [(12, "exact"), (160, "asymptotic")])
def test_the_rank_test_is_that_of_scipy_where_scores_differ(models, method):
    rng = np.random.default_rng(5)
    strength = np.cumsum(rng.integers(3, 6, models))
    others = np.arange(strength[-1])[:, None] < strength[None, :]
    item = rng.random(models) < 0.4
    p = failed_by_better(np.vstack([others, item]))[-1]
    expected = mannwhitneyu(strength[item], strength[~item], alternative="less", method=method).pvalue
    assert p == pytest.approx(expected, rel=1e-6)


def test_items_answered_by_chance_keep_the_level():
    small = [
        (failed_by_better(np.random.default_rng(seed).random((100, 12)) < 0.5) <= 0.05).mean()
        for seed in range(20)
    ]
    assert np.mean(small) <= 0.055
    assert (failed_by_better(np.vstack([np.ones(5), np.zeros(5)])) == 1).all()
