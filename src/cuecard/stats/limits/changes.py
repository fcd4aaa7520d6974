"""The change of a share between two versions of a dataset, paired where they hold the same examples."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats


def change_of_share(
    shared_before: npt.ArrayLike,
    shared_after: npt.ArrayLike,
    only_before: npt.ArrayLike = (),
    only_after: npt.ArrayLike = (),
) -> tuple[float, float]:
    """Return the mean after minus the mean before, and its standard error.

    An example of both versions adds a_i / n_after − b_i / n_before to the difference, one of a single version only its
    own part; contributions of separate examples are independent, and those of one kind scatter around their mean. With
    no shared example this is the standard error of two independent means, with shared ones alone that of paired
    differences.

    >>> change, error = change_of_share([1, 0, 1, 0], [1, 1, 1, 0])
    >>> change, round(error, 4)
    (0.25, 0.25)
    """
    before, after = (np.asarray(part, dtype=np.float64) for part in (shared_before, shared_after))
    old, new = (np.asarray(part, dtype=np.float64) for part in (only_before, only_after))
    n_before, n_after = len(before) + len(old), len(after) + len(new)
    if not n_before or not n_after:
        raise ValueError("both versions need at least one example")
    parts: list[Floats] = [after / n_after - before / n_before, new / n_after, -old / n_before]
    change = float(sum(part.sum() for part in parts))
    variance = sum(len(part) * float(part.var(ddof=1)) for part in parts if len(part) > 1)
    return change, math.sqrt(variance)
