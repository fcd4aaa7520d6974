"""Balance of held-out rows: against a plain refit by hand, best ridge by signal, and the boundary."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from cuecard.stats.entropy_balancing import entropy_balance, err, held_out_balance


def words(n: int, features: int, strength: float, seed: int) -> tuple[csr_matrix, np.ndarray]:
    """Return binary features that each lean to one of two labels, by `strength`."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    leaning = strength * rng.choice([-1.0, 1.0], features)
    rate = 0.1 * (1 + leaning * np.where(labels == 1, 1.0, -1.0)[:, None])
    return csr_matrix(rng.random((n, features)) < rate).astype(float), labels


def test_held_out_err_is_that_of_a_refit_by_hand() -> None:
    matrix, labels = words(400, 4, 0.6, 0)
    found = held_out_balance(matrix, labels, ridges=[0.0, 0.5], seed=3)
    drawn = np.random.default_rng(3).permutation(np.arange(400) % 2)
    for at, ridge in enumerate([0.0, 0.5]):
        errors = []
        for fold in (0, 1):
            x, out = matrix.toarray()[drawn != fold], matrix.toarray()[drawn == fold]
            sign = np.where(labels == 1, 0.5, -0.5)
            rest, held = x * sign[drawn != fold, None], out * sign[drawn == fold, None]
            scale = np.sqrt(x.mean(axis=0))

            def dual(
                beta: np.ndarray, rest: np.ndarray = rest, scale: np.ndarray = scale, ridge: float = ridge
            ) -> float:
                # Two multipliers per feature, centred: the second is minus the first, so the penalty counts twice.
                return float(
                    np.log(np.exp(rest @ beta).mean()) + 0.25 * 2 * ridge * ((beta * scale) ** 2).sum()
                )

            beta = minimize(dual, np.zeros(4), tol=1e-10).x
            errors.append(err(np.exp(held @ beta), csr_matrix(out), labels[drawn == fold]))
        assert found.err[at] == pytest.approx(np.mean(errors), abs=3e-3)


def test_without_signal_soft_is_best_and_with_much_signal_hard_is() -> None:
    noise = held_out_balance(*words(1500, 80, 0.0, 1))
    assert noise.best >= 1.0
    assert noise.err[0] > noise.unweighted
    strong = held_out_balance(*words(6000, 5, 0.8, 2))
    assert strong.best <= 0.03
    assert strong.err.min() < strong.unweighted / 3
    assert 0 < strong.floor < strong.err.min()


def test_exact_balance_overfits_where_there_are_many_weak_features() -> None:
    found = held_out_balance(*words(1200, 120, 0.25, 3))
    assert 0 < found.best < 3
    assert found.at(found.best) < found.at(0.0)
    assert np.all(np.diff(found.ess) > 0)


def test_groups_stay_together_and_bad_ridges_are_refused() -> None:
    matrix, labels = words(200, 6, 0.5, 4)
    found = held_out_balance(matrix, labels, groups=np.repeat(np.arange(100), 2))
    assert np.isfinite(found.err).all()
    with pytest.raises(ValueError, match="negative"):
        held_out_balance(matrix, labels, ridges=[-1.0])
    with pytest.raises(ValueError, match="folds"):
        held_out_balance(matrix, labels, folds=1)


def boundary() -> tuple[csr_matrix, np.ndarray]:
    """Return rows in which balancing both features needs weight zero for five rows that only the first has."""
    features = csr_matrix(np.array([[1, 1]] * 20 + [[1, 0]] * 5 + [[0, 0]] * 20, dtype=float))
    return features, np.array([0, 1] * 10 + [0] * 5 + [0, 1] * 10)


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-8])
def test_a_balance_that_needs_weights_of_zero_is_called_infeasible(tolerance: float) -> None:
    features, labels = boundary()
    found = entropy_balance(features, labels, tolerance=tolerance)
    assert found.vanishing == 5
    assert [(entry.feature, entry.reason) for entry in found.unbalanced] == [(0, "boundary")]


def test_small_weights_that_stay_are_no_boundary() -> None:
    labels = np.repeat([1, 0, 1, 0], [60_000, 5, 3_000, 3_000])
    features = csr_matrix((np.arange(len(labels)) < 60_005).astype(float)[:, None])
    found = entropy_balance(features, labels)
    assert found.weights.min() < 0.2
    assert found.vanishing == 0
    assert found.unbalanced == ()
    soft = entropy_balance(*boundary(), ridge=0.1)
    assert soft.vanishing == 0
