"""q-values: the false discovery rate among all that is at least as significant."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from cuecard.stats._arrays import FloatArray

Method = Literal["bh", "by"]


def log_q_values(log_p: npt.ArrayLike, method: Method = "bh") -> FloatArray:
    """Natural logs of the q-values of natural-log p-values, in the same order and shape.

    Benjamini–Hochberg ("bh"):  q_(i) = min_{j ≥ i} p_(j) m / j  over the m p-values in rising order, capped
    at 1; Benjamini–Yekutieli ("by") multiplies by Σ 1/i and holds under any dependence. Working on logs
    keeps apart p-values that a float would round to 0. A nan (not tested) stays nan and is not counted.

    >>> (log_q_values(np.array([-1000.0, -2000.0, np.nan])) / np.log(10)).round(2)
    array([-434.29, -868.29,     nan])
    """
    array = np.asarray(log_p, dtype=np.float64)
    if (array > 0).any():
        raise ValueError("log_p must not be positive: it holds natural logs of p-values")
    if method not in ("bh", "by"):
        raise ValueError(f'method must be "bh" or "by", and is "{method}"')
    flat = array.ravel()
    tested = np.flatnonzero(~np.isnan(flat))
    result = np.full(flat.shape, np.nan)
    m = len(tested)
    if m:
        order = tested[np.argsort(flat[tested], kind="stable")]
        ranks = np.arange(1, m + 1)
        penalty = np.log(np.sum(1 / ranks)) if method == "by" else 0.0
        scaled = flat[order] + np.log(m / ranks) + penalty
        result[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 0.0)
    return result.reshape(array.shape)


def q_values(log_p: npt.ArrayLike, method: Method = "bh") -> FloatArray:
    """q-values of natural-log p-values (see `log_q_values`); those below 1e-308 come out as 0.

    >>> q_values(np.log([0.01, 0.02, 0.5]))
    array([0.03, 0.03, 0.5 ])
    """
    return np.asarray(np.exp(log_q_values(log_p, method)))
