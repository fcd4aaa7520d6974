"""What features of choices say about the right one once other properties, such as length, are held fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import log_ndtr

from cuecard.stats.arrays import Floats

__all__ = ["GivenProperties", "features_given"]

_NEWTON_STEPS = 50
#: Keeps coefficients finite where a property decides every example.
_PENALTY = 1e-2


@dataclass(frozen=True, eq=False)
class GivenProperties:
    """One entry per feature: z of its score test given the properties, and the natural log of the p-value."""

    z: Floats
    """Above 0: choices with the feature are right more often than the properties explain; nan where nothing is free."""
    log_p: Floats


def features_given(
    right: npt.ArrayLike,
    examples: npt.ArrayLike,
    properties: npt.ArrayLike,
    having: Any,
    *,
    units: npt.ArrayLike | None = None,
) -> GivenProperties:
    """Score test of every feature in a conditional logit of the right choice on some properties.

    Each example's right choice is drawn with odds exp(properties · β), β by maximum likelihood without the feature; the
    test asks whether right choices have the feature more, or less, often than that. `having` may be sparse with any
    number of features: nothing of its size is made dense.

    Args:
        right: whether each choice is the right one; one per example.
        examples: code of every choice's example; the choices of an example stand together.
        properties: choices × properties held fixed.
        having: choices × features, whether the choice has the feature.
        units: code of every choice that copies of an example share; the variance of the score is then at least that of
            sums over units.

    >>> right, examples = [1, 0] * 12, np.repeat(np.arange(12), 2)
    >>> result = features_given(right, examples, np.zeros((24, 1)), sparse.csr_matrix([[1, 0], [0, 1]] * 12))
    >>> result.z.round(2)
    array([ 3.46, -3.46])
    """
    chosen = np.asarray(right, dtype=np.float64)
    group = np.unique(np.asarray(examples), return_inverse=True)[1]
    x = np.asarray(properties, dtype=np.float64)
    z = sparse.csr_matrix(having, dtype=np.float64)
    n = len(chosen)
    if not n == len(group) == len(x) == z.shape[0] or x.ndim != 2:
        raise ValueError("right, examples, properties and having must have one row per choice.")
    of_example = sparse.csr_matrix((np.ones(n), (group, np.arange(n))))

    def probabilities(beta: Floats) -> Floats:
        margin = x @ beta
        odds = np.exp(margin - np.maximum.reduceat(margin, starts)[group])
        return np.asarray(odds / (of_example @ odds)[group])

    def centred(p: Floats) -> Floats:
        return np.asarray(x - (of_example @ (p[:, None] * x))[group])

    starts = np.flatnonzero(np.diff(group, prepend=-1))
    if len(starts) != of_example.shape[0]:
        raise ValueError("the choices of an example must stand together.")
    beta = np.zeros(x.shape[1])
    for _ in range(_NEWTON_STEPS):
        p = probabilities(beta)
        inner = centred(p)
        curvature = (inner * p[:, None]).T @ inner + _PENALTY * np.eye(x.shape[1])
        step = np.linalg.solve(curvature, x.T @ (chosen - p) - _PENALTY * beta)
        beta = beta + step / max(1.0, float(np.abs(step).max()))
        if np.abs(step).max() < 1e-8:
            break
    p = probabilities(beta)
    inner = centred(p)
    weighted = z.multiply(p[:, None]).tocsr()
    # Σ p (z − z̄)² within examples, for features that are there or not.
    spread = _sums(weighted.multiply(z)) - _sums((of_example @ weighted).power(2))
    cross = np.asarray(weighted.T @ inner).T
    taken = np.linalg.pinv((inner * p[:, None]).T @ inner) @ cross
    information = spread - (cross * taken).sum(axis=0)
    residual = chosen - p
    score = np.asarray(z.T @ residual).ravel()
    free = information > 1e-9 * np.maximum(spread, 1e-12)
    if units is not None:
        code = np.unique(np.asarray(units), return_inverse=True)[1]
        of_unit = sparse.csr_matrix((np.ones(n), (code, np.arange(n))))
        own = (of_unit @ z.multiply(residual[:, None])).tocsr()
        of_properties = of_unit @ (residual[:, None] * inner)
        together = np.asarray(own.T @ of_properties).T
        squares = (
            _sums(own.power(2))
            - 2 * (taken * together).sum(axis=0)
            + (taken * (of_properties.T @ of_properties @ taken)).sum(axis=0)
        )
        information = np.maximum(information, squares)
    score_z = np.where(free, score / np.sqrt(np.where(free, information, 1.0)), np.nan)
    return GivenProperties(score_z, np.minimum(np.log(2.0) + log_ndtr(-np.abs(score_z)), 0.0))


def _sums(matrix: Any) -> Floats:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()
