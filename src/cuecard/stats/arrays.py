"""The types of arrays that functions here take and return, named once, and how long ones are gone through."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Singles = npt.NDArray[np.float32]

#: Entries of long arrays that are looked at at a time.
CHUNK = 1 << 20


def chunks(n: int, size: int = CHUNK) -> Iterator[slice]:
    """Yield where the parts of an array of n entries are, each of bounded size."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))
