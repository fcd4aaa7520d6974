"""What a model recovers from part of its input, and whether its errors are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from cuecard.stats.models.paired import design_effects

__all__ = ["error_kappa", "recovered_share"]

Kinds = Sequence[npt.ArrayLike]
_Z = float(ndtri(0.975))


def recovered_share(
    part: npt.ArrayLike, full: npt.ArrayLike, chance: npt.ArrayLike, kinds: Kinds = ()
) -> tuple[float, float, float]:
    """The share of full-input accuracy above chance that a part of the input recovers, with its 95 % interval.

    (A_part − c) / (A_full − c). The interval is Fieller's, for a ratio of means of the same examples, wider where
    examples share units; its ends are nan where the full input is not surely above chance.

    Args:
        part: whether the model is right with the part, per example.
        full: the same with the full input.
        chance: the accuracy at chance, per example or one for all.
        kinds: codes of the units that examples share, one array per kind.

    >>> share, low, high = recovered_share([1] * 50 + [0] * 50, [1] * 75 + [0] * 25, 0.25)
    >>> round(share, 3), round(low, 3), round(high, 3)
    (0.5, 0.329, 0.661)
    """
    level = np.asarray(chance, dtype=np.float64)
    a, b = (np.asarray(right, dtype=np.float64) - level for right in (part, full))
    n, top, bottom = len(a), float(a.mean()), float(b.mean())
    if n < 2 or bottom == 0:
        return float("nan"), float("nan"), float("nan")
    ratio = top / bottom
    effect = _effect(a - ratio * b, kinds)
    t2 = _Z**2 * effect / n
    (aa, ab), (_, bb) = np.cov(a, b)
    square, linear, constant = bottom**2 - t2 * bb, top * bottom - t2 * ab, top**2 - t2 * aa
    if bottom < 0 or square <= 0:
        return ratio, float("nan"), float("nan")
    root = np.sqrt(max(linear**2 - square * constant, 0.0))
    return ratio, float((linear - root) / square), float((linear + root) / square)


def error_kappa(
    correct_a: npt.ArrayLike, correct_b: npt.ArrayLike, kinds: Kinds = ()
) -> tuple[float, float, float]:
    """Cohen's κ of two models' errors, with its 95 % interval: do they fail on the same examples?

    1: always on the same ones; 0: as often together as their accuracies make them (Geirhos et al. 2020). nan where
    one of them is always right or always wrong.

    >>> error_kappa([1, 1, 0, 0], [1, 1, 0, 0])[0], error_kappa([1, 1, 0, 0], [1, 0, 1, 0])[0]
    (1.0, 0.0)
    """
    x, y = (np.asarray(values, dtype=np.float64) for values in (correct_a, correct_b))
    p, q, same = float(x.mean()), float(y.mean()), (x == y).astype(np.float64)
    if p in (0.0, 1.0) or q in (0.0, 1.0):
        return float("nan"), float("nan"), float("nan")
    observed, expected = float(same.mean()), p * q + (1 - p) * (1 - q)
    kappa = (observed - expected) / (1 - expected)
    # How κ changes with every example.
    influence = (
        (same - observed) * (1 - expected) - (1 - observed) * ((2 * q - 1) * (x - p) + (2 * p - 1) * (y - q))
    ) / (1 - expected) ** 2
    error = float(np.sqrt(influence.var() / len(x) * _effect(influence, kinds)))
    return kappa, max(kappa - _Z * error, -1.0), min(kappa + _Z * error, 1.0)


def _effect(influence: npt.NDArray[Any], kinds: Kinds) -> float:
    """The design effect of the mean of how every example moves a figure."""
    return float(design_effects(influence - influence.mean(), np.ones((len(influence), 1)), kinds)[0])
