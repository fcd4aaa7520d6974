"""Gradients by finite differences, and the capped tilt against its definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

from cuecard.stats.entropy_balancing.constraints import LabelledFeatures
from cuecard.stats.entropy_balancing.dual import DualProblem, Units


def _features(seed: int, rows: int = 60, columns: int = 5) -> tuple[sparse.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    return sparse.csr_matrix((rng.random((rows, columns)) < 0.4).astype(float)), np.arange(rows) % 3


@pytest.mark.parametrize("max_weight", [None, 1.6])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gradient_equals_finite_differences(max_weight: float | None, grouped: bool, ridge: float) -> None:
    features, labels = _features(0)
    rng = np.random.default_rng(1)
    base = rng.uniform(0.8, 1.2, len(labels))
    groups = np.arange(len(labels)) // 2 if grouped else None
    units = Units.build(base / base.sum(), groups, max_weight)
    folded = LabelledFeatures(features, labels, 3)
    problem = DualProblem(folded, np.array([0.5, 0.3, 0.2]), units, np.full(5, ridge))
    x = 0.2 * rng.normal(size=15)
    numeric = approx_fprime(x, lambda v: problem.at(v).value, 1e-6)
    np.testing.assert_allclose(problem.at(x).gradient, numeric, atol=2e-6)
    if max_weight is not None:
        assert problem.at(x).probabilities.max() == pytest.approx(max_weight / 60)


def test_folded_products_equal_dense_arithmetic() -> None:
    features, labels = _features(2)
    for matrix in (
        features,
        features.multiply(np.random.default_rng(3).uniform(1, 3, features.shape)).tocsr(),
    ):
        folded = LabelledFeatures(matrix, labels, 3)
        multipliers, mass = np.random.default_rng(4).normal(size=(5, 3)), np.random.default_rng(5).random(60)
        dense = matrix.toarray()
        np.testing.assert_allclose(folded.scores(multipliers), (dense @ multipliers)[np.arange(60), labels])
        np.testing.assert_allclose(folded.totals(mass), dense.T @ (mass[:, None] * np.eye(3)[labels]))
        np.testing.assert_allclose(folded.squared_totals(mass), (dense**2).T @ mass)


def test_capped_tilt_is_a_maximum() -> None:
    rng = np.random.default_rng(6)
    units = Units.build(np.full(40, 1 / 40), None, 2.0)
    scores = 2 * rng.normal(size=40)
    value, q = units.tilt(scores)
    assert q.sum() == pytest.approx(1.0)
    assert q.max() <= 2.0 / 40 + 1e-15
    assert value == pytest.approx(q @ scores - np.sum(q * np.log(q * 40)))
    for _ in range(200):
        other = rng.dirichlet(np.full(40, 5.0))
        other = np.minimum(0.5 * q + 0.5 * other, 2.0 / 40)
        other += (1 - other.sum()) * (2.0 / 40 - other) / np.sum(2.0 / 40 - other)
        assert other @ scores - np.sum(other * np.log(other * 40)) <= value + 1e-12
