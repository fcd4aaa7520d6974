"""The paper's objective: gradient, descent, and why entropy balancing is the default."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime

from cuecard.stats.entropy_balancing import entropy_balance, err, softmax_weights
from cuecard.stats.entropy_balancing.constraints import LabelledFeatures
from cuecard.stats.entropy_balancing.dual import softmax_objective


def _leaning(seed: int, rows: int, columns: int) -> tuple[sparse.csr_matrix, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.arange(rows) % 3
    lean = rng.uniform(0.05, 0.4, size=(columns, 3))
    return sparse.csr_matrix((rng.random((rows, columns)) < lean[:, labels].T).astype(float)), labels


def test_gradient_equals_finite_differences() -> None:
    features, labels = _leaning(0, 40, 4)
    folded, target = LabelledFeatures(features, labels, 3), np.array([0.2, 0.3, 0.5])
    z = np.random.default_rng(1).normal(size=40)
    numeric = approx_fprime(z, lambda v: softmax_objective(v, folded, target)[0], 1e-6)
    np.testing.assert_allclose(softmax_objective(z, folded, target)[1], numeric, atol=1e-5)


def test_balances_but_keeps_no_more_sample_than_entropy_balancing() -> None:
    features, labels = _leaning(2, 1500, 30)
    paper = softmax_weights(features, labels, stop_at_err=1e-4)
    ours = entropy_balance(features, labels)
    assert paper.converged
    assert paper.err_after <= 1e-4
    assert paper.err_after == pytest.approx(err(paper.weights, features, labels))
    assert paper.err_before == pytest.approx(ours.err_before)
    assert paper.ess <= ours.ess + 1e-3
    assert paper.weights.mean() == pytest.approx(1.0)
