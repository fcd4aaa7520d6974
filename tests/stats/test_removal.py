"""Orders of removal: z by hand, the greedy order against brute force, rounded weights against the weights."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from cuecard.stats import artifact_z
from cuecard.stats.removal import feature_z, weight_order, z_order


def evidence(having, labels, prior=0.5):
    having = np.asarray(having, dtype=float)
    deviations = having * (np.asarray(labels)[:, None] - prior)
    return sparse.csr_matrix(deviations), sparse.csr_matrix(having * prior * (1 - prior))


def test_z_is_that_of_the_binomial_test():
    rng = np.random.default_rng(0)
    having, labels = rng.random((60, 4)) < 0.5, rng.random(60) < 0.6
    expected = [
        float(artifact_z((having[:, f] & labels).sum(), having[:, f].sum(), prior=0.5)) for f in range(4)
    ]
    assert feature_z(*evidence(having, labels)) == pytest.approx(expected)


TARGET = 1.0


def test_the_fewest_removals_that_brute_force_finds_are_found():
    rng = np.random.default_rng(1)
    for _ in range(6):
        having = rng.random((9, 2)) < 0.6
        labels = rng.random(9) < 0.8
        deviations, variances = evidence(having, labels)
        order = z_order(deviations, variances, np.ones(9, dtype=bool), TARGET)

        def met(removed, deviations=deviations, variances=variances):
            kept = np.setdiff1d(np.arange(9), removed)
            return (np.abs(feature_z(deviations[kept], variances[kept])) <= TARGET).all()

        fewest = next(k for k in range(10) if any(met(c) for c in combinations(range(9), k)))
        greedy = next((k for k in range(len(order) + 1) if met(order[:k])), None)
        assert greedy is not None
        assert greedy <= fewest + 1


def test_only_allowed_examples_are_removed_and_the_order_ends_before_cues_turn_round():
    having, labels = np.ones((40, 1)), np.array([1] * 30 + [0] * 10)
    allowed = np.arange(40) < 25
    deviations, variances = evidence(having, labels)
    order = z_order(deviations, variances, allowed, 1.0)
    assert set(order) <= set(np.flatnonzero(allowed))
    kept = np.setdiff1d(np.arange(40), order)
    assert 0 < feature_z(deviations[kept], variances[kept])[0] <= 1.0


def test_what_rounded_weights_leave_has_the_proportions_of_the_weights():
    weights = np.repeat([0.2, 0.5, 1.0], 4_000)
    order = weight_order(weights, np.ones(12_000, dtype=bool), seed=3)
    kept = np.setdiff1d(np.arange(12_000), order)
    assert np.bincount(kept // 4_000) / 4_000 == pytest.approx([0.2, 0.5, 1.0], abs=0.02)
