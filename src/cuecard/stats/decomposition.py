"""The largest singular values of a sparse matrix, by random projection (Halko, Martinsson, Tropp 2011)."""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.sparse import csr_matrix

from cuecard.stats.arrays import Singles

#: Dimensions beyond the rank that are projected on, and rounds that let the largest values stand out.
OVERSAMPLED = 10
ROUNDS = 4


def projected_svd(matrix: csr_matrix, rank: int, *, seed: int) -> tuple[Singles, Singles, Singles]:
    """Return the first left singular vectors, singular values and right singular vectors of a matrix.

    The draws are those of scikit-learn's `randomized_svd(matrix, rank, n_iter=4, random_state=seed)`, so that both give
    the same numbers. The largest entry of each left vector is positive.
    """
    wide = matrix.shape[0] < matrix.shape[1]
    tall = matrix.T if wide else matrix
    basis = np.random.RandomState(seed).normal(size=(tall.shape[1], rank + OVERSAMPLED)).astype(matrix.dtype)
    for _ in range(ROUNDS):  # triangular factors keep the columns apart
        for side in (tall, tall.T):
            basis, _ = linalg.lu(side @ basis, permute_l=True, overwrite_a=True, check_finite=False)
    basis, _ = linalg.qr(tall @ basis, mode="economic", overwrite_a=True, check_finite=False)
    inner, singular, right = linalg.svd((tall.T @ basis).T, full_matrices=False, check_finite=False)
    left = (basis @ inner)[:, :rank]
    singular, right = singular[:rank], right[:rank]
    if wide:
        left, right = right.T, left.T
    signs = np.sign(left[np.abs(left).argmax(axis=0), np.arange(rank)])
    return left * signs, singular, right * signs[:, None]
