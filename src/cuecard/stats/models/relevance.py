"""Token relevance agreement: do two models look at the same tokens? (PECO's TRA, equations 9 and 10)"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats

__all__ = ["relevance_cosines", "token_relevance_agreement"]


def token_relevance_agreement(a: npt.ArrayLike, b: npt.ArrayLike) -> float:
    """Mean cosine of two models' saliency maps over the examples: 1 where they look alike, 0 where nowhere the same.

    Row i of either array holds how much each token of example i matters to a model, at the same place for both:
    tokens a model cannot see, and places after the end of a short example, are 0. So a hypothesis-only model has
    zeros where the premise stands. Maps need not sum to 1, because a cosine does not change with scale. Examples
    for which one map is all zeros have no angle and are left out; NaN if that leaves none.

    A premise of two tokens and a hypothesis of two; the full model looks at both, the other at the hypothesis:

    >>> full = [[0.25, 0.25, 0.5, 0.0], [0.0, 0.0, 0.6, 0.4]]
    >>> hypothesis_only = [[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.6, 0.4]]
    >>> [round(float(c), 3) for c in relevance_cosines(full, hypothesis_only)]
    [0.816, 1.0]
    >>> round(token_relevance_agreement(full, hypothesis_only), 3)
    0.908
    """
    cosines = relevance_cosines(a, b)
    defined = cosines[~np.isnan(cosines)]
    return float(defined.mean()) if len(defined) else float("nan")


def relevance_cosines(a: npt.ArrayLike, b: npt.ArrayLike) -> Floats:
    """Cosine of the two saliency maps of every example; NaN where one of them is all zeros.

    >>> relevance_cosines([[3.0, 4.0], [0.0, 0.0]], [[4.0, 3.0], [1.0, 0.0]]).round(2).tolist()
    [0.96, nan]
    """
    first, second = (np.asarray(maps, dtype=np.float64) for maps in (a, b))
    if first.ndim != 2 or first.shape != second.shape:
        raise ValueError(
            f"saliency maps must be two tables of one shape, examples × places, got {first.shape} and {second.shape}."
        )
    if any(not np.isfinite(maps).all() or (maps < 0).any() for maps in (first, second)):
        raise ValueError("saliency maps must be finite numbers of at least 0.")
    # Scaled by the largest entry first, so that squares of tiny gradients do not vanish.
    scaled = [
        maps / np.maximum(maps.max(axis=1, initial=0, keepdims=True), 1e-300) for maps in (first, second)
    ]
    lengths = [np.sqrt((maps**2).sum(axis=1)) for maps in scaled]
    with np.errstate(invalid="ignore"):
        cosines: Floats = (scaled[0] * scaled[1]).sum(axis=1) / (lengths[0] * lengths[1])
    return np.minimum(cosines, 1.0)
