"""How far apart label distributions are, row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr

from cuecard.stats._arrays import divided
from cuecard.stats.arrays import Floats


def as_distributions(name: str, rows: npt.ArrayLike) -> Floats:
    """Return rows scaled to sum to 1 (counts are welcome); a row of zeros becomes nan.

    >>> as_distributions("p", [[3, 1], [0, 0]])
    array([[0.75, 0.25],
           [ nan,  nan]])
    """
    array = np.asarray(rows, dtype=np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} must have at least one column, one for every label")
    if not np.isfinite(array).all() or (array < 0).any():
        raise ValueError(f"{name} must hold finite counts or probabilities that are not negative")
    sums = array.sum(axis=-1, keepdims=True)
    return divided(array, sums)


def kl_divergence(p: npt.ArrayLike, q: npt.ArrayLike, *, base: float = np.e) -> Floats:
    """Kullback–Leibler divergence KL(p ‖ q) = Σ p log(p / q) of each pair of rows; inf where q misses p.

    >>> kl_divergence([[1, 1], [1, 1]], [[1, 3], [1, 0]], base=2).round(4)
    array([0.2075,    inf])
    """
    left, right = _same_labels(p, q)
    return _in_base(rel_entr(left, right).sum(axis=-1), base)


def jensen_shannon(p: npt.ArrayLike, q: npt.ArrayLike, *, base: float = np.e) -> Floats:
    """Jensen–Shannon divergence of each pair of rows: ½ KL(p ‖ m) + ½ KL(q ‖ m) with m = (p + q) / 2.

    It is 0 for equal rows and log 2 for rows that share no label (1 with `base=2`).

    >>> jensen_shannon([[1, 0], [2, 2]], [[0, 1], [5, 5]]).round(4)
    array([0.6931, 0.    ])
    """
    left, right = _same_labels(p, q)
    middle = (left + right) / 2
    total = rel_entr(left, middle).sum(axis=-1) + rel_entr(right, middle).sum(axis=-1)
    # Rounding can leave equal rows at -1e-17, which has no square root.
    return _in_base(np.maximum(total / 2, 0.0), base)


def total_variation(p: npt.ArrayLike, q: npt.ArrayLike) -> Floats:
    """Total variation distance ½ Σ |p − q| of each pair of rows, between 0 and 1.

    >>> total_variation([[1, 0], [3, 1]], [[0, 1], [1, 1]])
    array([1.  , 0.25])
    """
    left, right = _same_labels(p, q)
    return np.asarray(np.abs(left - right).sum(axis=-1) / 2)


def _same_labels(p: npt.ArrayLike, q: npt.ArrayLike) -> tuple[Floats, Floats]:
    left, right = as_distributions("p", p), as_distributions("q", q)
    if left.shape[-1] != right.shape[-1]:
        raise ValueError(
            f"p and q must have the same labels, and have {left.shape[-1]} and {right.shape[-1]}"
        )
    return left, right


def _in_base(nats: Floats, base: float) -> Floats:
    if base <= 1:
        raise ValueError(f"base must be greater than 1, for example 2 for bits, and is {base}")
    return np.asarray(nats / np.log(base))
