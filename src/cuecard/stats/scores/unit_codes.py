"""Codes of units and strata: small numbers are taken as they are, so that those of many examples are not sorted."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, counted

#: Numbers that are squared at a time.
CHUNK = 1 << 18
#: Numbers from 0 to below this many times the number of examples are codes already.
ROOM = 4


def unit_codes(values: npt.ArrayLike | None, n: int) -> tuple[npt.NDArray[np.integer[Any]], int]:
    """Return a number from 0 for every example that examples of one value share, and one more than the largest."""
    if values is None:
        return np.zeros(n, np.int8), min(n, 1)
    codes = np.asarray(values)
    if codes.shape != (n,):
        raise ValueError("strata and units must have one value per example")
    if not n:
        return np.zeros(0, np.int64), 0
    if np.issubdtype(codes.dtype, np.integer) and codes.min() >= 0 and codes.max() < ROOM * n:
        return codes, int(codes.max()) + 1
    codes = np.unique(codes, return_inverse=True)[1]
    return codes, int(codes.max()) + 1


def number_of_units(values: npt.NDArray[np.integer[Any]]) -> int:
    """Return how many different units there are."""
    codes, n = unit_codes(values, len(values))
    return int(np.count_nonzero(counted(codes, n)))


def weights_of(weights: npt.ArrayLike | None) -> Floats:
    """Return the weights of examples, or one number where all count the same."""
    return np.ones(1) if weights is None else np.asarray(weights, np.float64)


def sum_of_squares(values: npt.NDArray[Any], centre: float = 0.0) -> float:
    """Return the sum of the squared distances of numbers from one."""
    parts = (values[start : start + CHUNK] for start in range(0, len(values), CHUNK))
    return float(sum(((part - centre) ** 2).sum() for part in parts))
