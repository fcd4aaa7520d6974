"""How reliably a benchmark ranks models: KR-20 and split halves, over units of items that hang together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import fdtri, ndtri

from cuecard.stats.arrays import Floats, Ints

__all__ = ["kr20", "split_half"]

_Z = float(ndtri(0.975))


def kr20(correct: npt.ArrayLike, units: npt.ArrayLike | None = None) -> tuple[float, float, float]:
    """Kuder and Richardson's formula 20 with its 95 % interval over models (Feldt 1965).

    k / (k − 1) · (1 − Σ variance of a unit / variance of the total). Items of one unit, such as questions of one
    passage, count together: their sum is one item (Cronbach's α of testlets). nan where the totals do not differ,
    and −1 where it would be less.

    Args:
        correct: items × models, 1 where right.
        units: codes of items that are one observation; every item by default.

    >>> answers = np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> round(kr20(answers)[0], 3)
    0.75
    """
    totals = _by_unit(correct, units)
    k, models = totals.shape
    spread = float(totals.sum(axis=0).var())
    if k < 2 or models < 2 or spread == 0:
        return float("nan"), float("nan"), float("nan")
    alpha = k / (k - 1) * (1 - float(totals.var(axis=1).sum()) / spread)
    quantiles = [float(fdtri(models - 1, (models - 1) * (k - 1), level)) for level in (0.975, 0.025)]
    low, high = (1 - (1 - alpha) * quantile for quantile in quantiles)
    return max(alpha, -1.0), max(low, -1.0), max(high, -1.0)


def split_half(
    correct: npt.ArrayLike, units: npt.ArrayLike | None = None, *, splits: int = 200, seed: int = 0
) -> tuple[float, float, float]:
    """The correlation of models' scores on two random halves, for the whole length, with its 95 % interval.

    Fisher's z of the correlation is averaged over random halves and its interval is that over models; Spearman and
    Brown's formula 2r / (1 + r) takes both to the length of the whole. Units are not divided.
    """
    totals = _by_unit(correct, units)
    k, models = totals.shape
    if k < 2 or models < 4 or float(totals.sum(axis=0).var()) == 0:
        return float("nan"), float("nan"), float("nan")
    rng = np.random.default_rng(seed)
    halves = np.argsort(rng.random((splits, k)), axis=1) < k // 2
    first = halves.astype(np.float64) @ totals
    second = (~halves).astype(np.float64) @ totals
    a, b = (side - side.mean(axis=1, keepdims=True) for side in (first, second))
    scale = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    usable = scale > 0
    if not usable.any():
        return float("nan"), float("nan"), float("nan")
    r = np.clip((a * b).sum(axis=1)[usable] / scale[usable], -0.999999, 0.999999)
    z = float(np.arctanh(r).mean())
    margin = _Z / np.sqrt(models - 3)
    value, low, high = (max(2 * half / (1 + half), -1.0) for half in np.tanh([z, z - margin, z + margin]))
    return float(value), float(low), float(high)


def _by_unit(correct: npt.ArrayLike, units: npt.ArrayLike | None) -> Floats:
    """Return units × models, how many items of a unit a model has right."""
    right = np.asarray(correct, dtype=np.float64)
    if units is None:
        return right
    codes: Ints = np.unique(np.asarray(units), return_inverse=True)[1].ravel().astype(np.int64)
    totals = np.zeros((int(codes.max(initial=-1)) + 1, right.shape[1]))
    np.add.at(totals, codes, right)
    return totals
