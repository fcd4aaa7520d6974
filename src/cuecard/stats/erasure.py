"""Linear concept erasure: vectors from which no linear model can tell a concept."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats

#: Directions whose variance is below this share of the largest carry nothing but rounding.
SMALLEST_SHARE = 1e-10


@dataclass(frozen=True, eq=False)
class Eraser:
    """x ↦ x − P (x − mean): an affine map, so that a linear layer after it is a linear layer before it."""

    projection: Floats
    mean: Floats

    def __call__(self, vectors: npt.ArrayLike) -> Floats:
        """Return vectors without the concept."""
        x = np.asarray(vectors, dtype=np.float64)
        return np.asarray(x - (x - self.mean) @ self.projection.T)

    def folded(self, weights: Floats, intercept: Floats) -> tuple[Floats, Floats]:
        """Return the layer that does to vectors what this one, of weights outputs × d, does to erased ones."""
        return weights - weights @ self.projection, intercept + weights @ (self.projection @ self.mean)


def leace(vectors: npt.ArrayLike, concepts: npt.ArrayLike) -> Eraser:
    """Return the least change of vectors after which no concept is linearly predictable (Belrose et al. 2023, LEACE).

    P = W⁺ U Uᵀ W with W = Σ_xx^(−1/2) and U an orthonormal basis of the columns of W Σ_xz: the covariance with every
    concept becomes 0, and of all affine maps that do so, this moves vectors least in the mean square.

    >>> x = np.array([[1.0, 0.0], [-1.0, 1.0], [1.0, 2.0], [-1.0, 3.0]])
    >>> erased = leace(x, x[:, :1])(x)
    >>> bool(abs(np.cov(erased.T, x[:, 0])[-1, :2]).max() < 1e-9)
    True
    """
    x, z = np.asarray(vectors, dtype=np.float64), np.asarray(concepts, dtype=np.float64)
    if x.ndim != 2 or z.ndim != 2 or len(x) != len(z) or not len(x):
        raise ValueError("vectors and concepts must be matrices with one row per example.")
    mean = x.mean(axis=0)
    centred, concept = x - mean, z - z.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred / len(x))
    kept = values > SMALLEST_SHARE * max(values.max(), 1e-300)
    roots, basis = np.sqrt(values[kept]), directions[:, kept]
    whitened = (basis / roots).T @ (centred.T @ concept / len(x))
    left, sizes, _ = np.linalg.svd(whitened, full_matrices=False)
    u = left[:, sizes > 1e-8 * max(sizes.max(initial=0.0), 1e-300)]
    return Eraser(np.asarray((basis * roots) @ u @ u.T @ (basis / roots).T), mean)
