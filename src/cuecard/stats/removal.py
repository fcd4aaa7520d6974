"""Features that stop predicting the label: erased from vectors, or by removing examples in order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Bools, Floats, Ints, Matrix

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


#: In how many steps all examples of a large dataset could be removed.
ROUNDS = 100


def feature_z(deviations: Matrix, variances: Matrix) -> Floats:
    """Return the z of every feature: how much more often than by chance it occurs with its label, in standard errors.

    Row i of `deviations` has, for every feature of example i, 1 minus the chance of the feature's label where the
    example has that label, and minus the chance where it has not; `variances` has chance × (1 − chance) there.
    """
    total = np.asarray(deviations.sum(axis=0)).ravel()
    spread = np.sqrt(np.maximum(np.asarray(variances.sum(axis=0)).ravel(), 1e-12))
    return np.asarray(total / spread)


def z_order(deviations: Matrix, variances: Matrix, allowed: Bools, target: float) -> Ints:
    """Return the allowed examples in an order that brings every |z| below `target` with few removals.

    Every step removes the examples whose removal lowers the z above the target most, with the z recounted after each
    of them where the data is small and after each hundredth of them otherwise: the sum over features of
    (|z| − target)₊ · sign z · deviation / standard error is the exact slope. The order ends where no z is beyond the
    target, or no example brings one nearer: to remove more would turn cues round.
    """
    left = allowed.copy()
    order: list[Ints] = []
    step = max(1, int(allowed.sum()) // ROUNDS) if allowed.sum() > 2_000 else 1
    total = np.asarray(deviations.sum(axis=0)).ravel()
    spread = np.asarray(variances.sum(axis=0)).ravel()
    while left.any():
        error = np.sqrt(np.maximum(spread, 1e-12))
        z = total / error
        slope = np.sign(z) * np.maximum(np.abs(z) - target, 0.0) / error
        if not slope.any():
            break
        gain = np.where(left, deviations @ slope, -np.inf)
        chosen = np.argsort(-gain, kind="stable")[:step]
        chosen = chosen[gain[chosen] > 0]
        if not len(chosen):
            break
        order.append(chosen)
        left[chosen] = False
        total = total - np.asarray(deviations[chosen].sum(axis=0)).ravel()
        spread = spread - np.asarray(variances[chosen].sum(axis=0)).ravel()
    return np.concatenate([*order, np.empty(0, dtype=np.int64)]).astype(np.int64)


def weight_order(weights: npt.ArrayLike, allowed: Bools, *, seed: int = 0) -> Ints:
    """Return the allowed examples in an order whose first ones leave a sample drawn in proportion to the weights.

    Example i is kept while u_i < w_i / c, with its own number u_i between 0 and 1: the more are removed (the larger c
    is), the closer the rest is to the weights, and every shorter list is the beginning of every longer one. The order
    ends at the largest weight, where the rest has exactly its proportions.
    """
    values = np.asarray(weights, dtype=np.float64)
    lots = np.random.default_rng(seed).random(len(values))
    threshold = values / np.maximum(lots, 1e-12)
    order = np.argsort(threshold, kind="stable")
    removed = allowed[order] & (threshold[order] < values.max(initial=0.0))
    return np.asarray(order[removed], dtype=np.int64)
