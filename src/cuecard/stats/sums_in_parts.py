"""Sums of values that many rows share, to the last digit that numpy gives of an array with the value of every row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import CHUNK, Floats, chunks


def sum_of_column(values: Floats, index: npt.NDArray[Any]) -> float:
    """Return `values[index].sum()`, without that array.

    Numpy halves long arrays, the first half a multiple of eight, and adds the sums of both; and so does this.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> values, index = rng.random(1000), rng.integers(0, 1000, 3_000_000)
    >>> sum_of_column(values, index) == float(values[index].sum())
    True
    """
    n = len(index)
    if n <= CHUNK:
        return float(values[index].sum())
    half = n // 2 - n // 2 % 8
    return sum_of_column(values, index[:half]) + sum_of_column(values, index[half:])


def sum_of_rows(values: Floats, index: npt.NDArray[Any]) -> float:
    """Return the sum of `values[index]` one after the other, as numpy adds up the rows of a table."""
    total = 0.0
    for rows in chunks(len(index)):
        total = float(np.cumsum(np.concatenate([[total], values[index[rows]]]))[-1])
    return total
