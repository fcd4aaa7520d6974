from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from cuecard.stats.decomposition import projected_svd


def words(rows: int, columns: int) -> sparse.csr_matrix:
    made = sparse.random(rows, columns, density=0.05, format="csr", random_state=0, dtype=np.float64)
    return made.multiply(np.geomspace(1, 0.01, columns)).tocsr()


@pytest.mark.parametrize("shape", [(300, 120), (120, 300)])
def test_the_numbers_are_those_of_scikit_learn(shape):
    matrix = words(*shape)
    ours = projected_svd(matrix, 12, seed=3)
    for mine, expected in zip(ours, randomized_svd(matrix, 12, n_iter=4, random_state=3), strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-7)


@pytest.mark.parametrize("shape", [(300, 120), (120, 300)])
def test_the_largest_singular_values_are_those_of_the_whole_decomposition(shape):
    matrix = words(*shape)
    left, singular, right = projected_svd(matrix, 12, seed=0)
    whole = np.linalg.svd(matrix.toarray(), compute_uv=False)
    np.testing.assert_allclose(singular[:4], whole[:4], rtol=1e-4)
    np.testing.assert_allclose(singular, whole[:12], rtol=0.03)  # the last ones are approximate
    np.testing.assert_allclose(left.T @ left, np.eye(12), atol=1e-8)
    np.testing.assert_allclose(right @ right.T, np.eye(12), atol=1e-8)
