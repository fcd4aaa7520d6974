"""What counts as a truth value and as a cue matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cuecard.stats.models.weakness import checked_members, checked_truths


def test_zeros_and_ones_are_truths_and_anything_else_is_refused() -> None:
    assert checked_truths([1, 0, 1.0], "correct").tolist() == [True, False, True]
    for bad in ([0.5, 1], [np.nan, 1], [2, 0]):
        with pytest.raises(ValueError, match="correct must hold only true and false"):
            checked_truths(bad, "correct")


def test_dense_and_sparse_members_are_the_same_and_counts_become_presence() -> None:
    dense = np.array([[2, 0], [0, 1], [0, 0]])
    for given in (dense, sparse.csc_matrix(dense)):
        np.testing.assert_array_equal(checked_members(given, 3, "has_cue").toarray(), dense > 0)
    with pytest.raises(ValueError, match=r"has_cue must have one row per instance \(4\)"):
        checked_members(dense, 4, "has_cue")
