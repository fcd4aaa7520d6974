"""What tests of a model start from: which instances it got right, and which instances have a cue."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

__all__ = ["checked_members", "checked_truths"]


def checked_truths(values: npt.ArrayLike, name: str) -> npt.NDArray[np.bool_]:
    """Truth values, one per instance."""
    array = np.asarray(values)
    if array.ndim != 1 or not len(array):
        raise ValueError(f"{name} must be a vector with one entry per instance, got shape {array.shape}.")
    if array.dtype != np.bool_ and not np.all((array == 0) | (array == 1)):
        raise ValueError(f"{name} must hold only true and false.")
    return array.astype(np.bool_)


def checked_members(has: Any, rows: int, name: str) -> Any:
    """Zeros and ones of an instances × cues matrix, dense or sparse, as CSR integers."""
    member = sparse.csr_matrix(has).astype(bool).astype(np.int64)
    if member.shape[0] != rows:
        raise ValueError(f"{name} must have one row per instance ({rows}), got shape {member.shape}.")
    return member
