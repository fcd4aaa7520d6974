from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.removal import leace


@pytest.fixture
def vectors():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, (800, 2)).astype(float)
    x = rng.normal(size=(800, 6)) @ rng.normal(size=(6, 6)) + z @ rng.normal(size=(2, 6)) + 3
    return x, z


def covariance(x, z):
    return (x - x.mean(axis=0)).T @ (z - z.mean(axis=0)) / len(x)


def test_no_linear_model_tells_the_concept_from_erased_vectors(vectors):
    x, z = vectors
    erased = leace(x, z)(x)
    design = np.column_stack([np.ones(len(x)), erased])
    fitted = design @ np.linalg.lstsq(design, z, rcond=None)[0]
    assert np.abs(covariance(x, z)).max() > 0.1
    assert fitted == pytest.approx(np.broadcast_to(z.mean(axis=0), z.shape), abs=1e-8)


def test_the_projection_is_idempotent_and_as_small_as_the_concept(vectors):
    x, z = vectors
    projection = leace(x, z).projection
    assert projection @ projection == pytest.approx(projection)
    assert np.linalg.matrix_rank(projection) == 2


def test_no_other_affine_map_that_erases_moves_vectors_less(vectors):
    """The least change under linear constraints, by Lagrange multipliers: min tr(P Σ Pᵀ) with P Σ_xz = Σ_xz."""
    x, z = vectors
    sigma, cross = np.cov(x.T, bias=True), covariance(x, z)
    solved = np.linalg.solve(sigma, cross)
    best = cross @ np.linalg.solve(cross.T @ solved, solved.T)
    eraser = leace(x, z)
    assert eraser.projection == pytest.approx(best, abs=1e-8)
    moved = ((x - eraser(x)) ** 2).sum()
    basis = np.linalg.qr(cross)[0]
    orthogonal = ((x - x.mean(axis=0)) @ basis @ basis.T) ** 2
    assert moved < orthogonal.sum()


def test_a_layer_after_the_eraser_is_folded_into_one_before(vectors):
    x, z = vectors
    eraser = leace(x, z)
    rng = np.random.default_rng(1)
    weights, intercept = rng.normal(size=(3, 6)), rng.normal(size=3)
    folded, constant = eraser.folded(weights, intercept)
    assert x @ folded.T + constant == pytest.approx(eraser(x) @ weights.T + intercept)


def test_vectors_that_do_not_vary_everywhere_are_erased(vectors):
    x, z = vectors
    doubled = np.column_stack([x, x[:, 0]])
    assert covariance(leace(doubled, z)(doubled), z) == pytest.approx(np.zeros((7, 2)), abs=1e-8)


def test_matrices_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match="one row per example"):
        leace(np.ones((3, 2)), np.ones((2, 1)))
