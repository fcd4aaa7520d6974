"""Paired comparison against scipy's exact test, its level, power, and interval coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from cuecard.stats.models.paired import mcnemar_log_p, paired_by_cue, paired_comparison, reliance_change


def test_exact_p_equals_the_binomial_test() -> None:
    for only_a in range(9):
        for only_b in range(9):
            expected = binomtest(only_a, only_a + only_b, 0.5).pvalue if only_a + only_b else 1.0
            assert np.exp(mcnemar_log_p(only_a, only_b)) == pytest.approx(expected, rel=1e-12)


def test_p_far_below_the_smallest_float() -> None:
    # All of 3,000 on one side: p = 2 · 2^-3000.
    assert mcnemar_log_p(3000, 0) / np.log(10) == pytest.approx(-2999 * np.log10(2), rel=1e-12)


def test_small_case_by_hand() -> None:
    result = paired_comparison([1, 1, 1, 0, 0], [1, 0, 0, 0, 1])
    assert (result.n, result.only_a, result.only_b) == (5, 2, 1)
    assert result.difference == pytest.approx(0.2)
    assert result.accuracy_a - result.accuracy_b == pytest.approx(0.2)
    assert result.low <= 0.2 <= result.high
    assert result.p_value == 1.0


def test_level_holds_for_equally_good_models_and_interval_covers_the_truth() -> None:
    rng = np.random.default_rng(0)
    small, covered = 0, 0
    for i in range(400):
        shared = rng.random(250) < 0.6
        a, b = shared | (rng.random(250) < 0.3), shared | (rng.random(250) < 0.2)
        null = np.where(rng.random(250) < 0.5, a, b)
        other = np.where(null == a, b, a)
        small += paired_comparison(null, other, draws=200, seed=i).p_value <= 0.05
        result = paired_comparison(a, b, draws=400, seed=i)
        covered += result.low <= 0.04 <= result.high
    assert small / 400 <= 0.05 + 3 * np.sqrt(0.0475 / 400)
    assert abs(covered / 400 - 0.95) < 0.04


def test_a_better_model_is_found() -> None:
    rng = np.random.default_rng(1)
    b = rng.random(2000) < 0.7
    a = b | (rng.random(2000) < 0.1)
    result = paired_comparison(a, b)
    assert result.log10_p < -10
    assert result.low > 0


def test_each_cue_gets_the_comparison_it_would_get_alone() -> None:
    rng = np.random.default_rng(2)
    a, b, has = rng.random(500) < 0.7, rng.random(500) < 0.6, rng.random((500, 6)) < 0.2
    has[:, 5] = False
    together = paired_by_cue(a, b, has, draws=4000)
    for j in range(5):
        alone = paired_comparison(a[has[:, j]], b[has[:, j]], draws=4000)
        assert together.difference[j] == pytest.approx(alone.difference)
        assert together.log10_p[j] == pytest.approx(alone.log10_p)
        assert (together.n[j], together.only_a[j], together.only_b[j]) == (
            alone.n,
            alone.only_a,
            alone.only_b,
        )
        assert together.low[j] == pytest.approx(alone.low, abs=0.03)
    assert np.isnan(together.difference[5])
    assert together.log10_p[5] == 0.0


def test_bad_input_is_one_clear_sentence() -> None:
    with pytest.raises(ValueError, match="the same instances, got 2 and 1"):
        paired_comparison([1, 0], [1])
    with pytest.raises(ValueError, match="only true and false"):
        paired_comparison([1, 0], [1, 2])
    with pytest.raises(ValueError, match="one row per instance"):
        paired_by_cue([1, 0], [1, 0], np.ones((3, 1)))
    with pytest.raises(ValueError, match="confidence"):
        paired_comparison([1, 0], [1, 1], confidence=1.0)


def reliance_world(seed, n=800, cues=12, less=0.0):
    """Correctness of two models on examples with cues; model A relies on all of them, B on the first one less."""
    rng = np.random.default_rng(seed)
    gold = rng.integers(0, 2, n)
    has = rng.random((n, cues)) < 0.25
    usual = has & (gold == 1)[:, None]
    lean = 0.15 * (usual.sum(axis=1) - (has & ~usual).sum(axis=1))
    a = rng.random(n) < np.clip(0.7 + lean, 0.05, 0.95)
    shift = less * (usual[:, 0].astype(float) - (has & ~usual)[:, 0])
    # B answers most examples as A does, and is better at one label throughout.
    b = np.where(rng.random(n) < 0.7, a, rng.random(n) < np.clip(0.7 + lean, 0.05, 0.95))
    b = np.where(rng.random(n) < np.abs(shift), shift < 0, b) | ((gold == 0) & (rng.random(n) < 0.1))
    return a, b, usual, has & ~usual, gold


def test_a_change_of_reliance_keeps_its_level_and_is_found():
    wrong = tested = found = 0
    for seed in range(60):
        a, b, usual, unusual, gold = reliance_world(seed)
        p = 10 ** reliance_change(a, b, usual, unusual, strata=gold).log10_p
        wrong, tested = wrong + int((p <= 0.05).sum()), tested + len(p)
        a, b, usual, unusual, gold = reliance_world(seed, less=0.5)
        changed = reliance_change(a, b, usual, unusual, strata=gold)
        found += changed.log10_p[0] <= np.log10(0.05) and changed.high[0] < 0
    assert wrong / tested <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / tested)
    assert found >= 55


def test_a_cue_with_few_examples_of_either_kind_has_no_verdict():
    usual, unusual = np.zeros((40, 2)), np.zeros((40, 2))
    usual[:10], unusual[10:20, 0], unusual[10:14, 1] = 1, 1, 1
    changed = reliance_change(np.ones(40), np.ones(40), usual, unusual)
    assert changed.change[0] == 0
    assert changed.low[0] < 0 < changed.high[0]
    assert np.isnan(changed.log10_p[1])
