from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import hypergeom

from cuecard.stats.correction import (
    CueGroups,
    advantages,
    constrained_probabilities,
    permutation_z,
    usual_shares,
    without_expert,
)


@pytest.fixture
def small():
    """Probabilities of three answers, cues that point to one of them, and right answers drawn from both."""
    rng = np.random.default_rng(3)
    n, k = 600, 3
    cue = rng.integers(-1, k, n)  # -1: none
    logits = rng.normal(size=(n, k)) * 1.5
    logits[np.arange(n)[cue >= 0], cue[cue >= 0]] += 1.0
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    gold = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    has = np.zeros((n, k), bool)
    has[np.arange(n)[cue >= 0], cue[cue >= 0]] = True
    groups = CueGroups(has, (cue >= 0)[:, None] & ~has)
    return p, gold, groups


def test_the_constrained_answers_are_those_of_a_linear_program(small):
    """The LP maximises expected accuracy over all random ways to answer, under the same constraint."""
    p, gold, groups = small
    overall, _ = usual_shares(groups, gold)
    gain = advantages(groups, overall)
    n, k = p.shape
    each = np.zeros((n, n * k))
    for i in range(n):
        each[i, i * k : (i + 1) * k] = 1
    best = linprog(-p.ravel(), A_ub=(p * gain).ravel()[None], b_ub=[0], A_eq=each, b_eq=np.ones(n))
    multiplier = -best.ineqlin.marginals[0]
    assert multiplier > 0.1
    ours = constrained_probabilities(p, [gain], [multiplier]).argmax(axis=1)
    expected = best.x.reshape(n, k)
    # A single example may be divided between two answers where the constraint binds.
    assert (expected[np.arange(n), ours] > 0.5).mean() > 0.995
    assert p[np.arange(n), ours].sum() == pytest.approx(-best.fun, abs=1)


def test_without_multipliers_probabilities_stay(small):
    p, gold, groups = small
    gains = [advantages(groups, shares) for shares in usual_shares(groups, gold)]
    assert constrained_probabilities(p, gains, [0, 0]) == pytest.approx(p)


def test_dividing_by_the_expert_undoes_a_product_of_experts():
    rng = np.random.default_rng(0)
    rest, expert = rng.dirichlet(np.ones(3), 50), rng.dirichlet(np.ones(3), 50)
    product = rest * expert**0.7
    product /= product.sum(axis=1, keepdims=True)
    assert without_expert(product, np.log(expert), 0.7) == pytest.approx(rest)


def test_an_answer_that_an_example_does_not_have_stays_impossible():
    p = np.array([[0.7, 0.3, 0.0]])
    corrected = without_expert(p, np.array([[np.log(0.9), np.log(0.1), -np.inf]]), 2.0)
    assert corrected[0, 2] == 0
    assert corrected.sum() == pytest.approx(1)


def test_z_is_the_standardised_hypergeometric_count():
    rng = np.random.default_rng(1)
    pool = rng.random(500) < 0.8
    usual = pool & (rng.random(500) < 0.4)
    right = rng.random(500) < np.where(usual, 0.8, 0.6)
    layer = rng.integers(0, 3, 500)
    for strata in (None, layer):
        count = mean = variance = 0.0
        for part in [np.ones(500, bool)] if strata is None else [layer == j for j in range(3)]:
            drawn = hypergeom((pool & part).sum(), (pool & part & right).sum(), (usual & part).sum())
            count += (usual & part & right).sum()
            mean, variance = mean + drawn.mean(), variance + drawn.var()
        assert permutation_z(right, usual, pool, strata) == pytest.approx((count - mean) / variance**0.5)
