"""Sums of values that rows share are those that numpy gives of all rows."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats import arrays as sums_in_parts
from cuecard.stats.arrays import sum_of_column, sum_of_rows


@pytest.mark.parametrize("n", [0, 1, 7, 129, 1000, 4321, 100_003])
def test_sums_have_the_last_digit_of_numpy(n, monkeypatch):
    monkeypatch.setattr(sums_in_parts, "CHUNK", 128)
    rng = np.random.default_rng(n)
    values, index = rng.random(50) * 10.0 ** rng.integers(-3, 9, 50), rng.integers(0, 50, n).astype(np.int32)
    assert sum_of_column(values, index) == values[index].sum()
    table = np.column_stack([values[index]] * 3)
    assert sum_of_rows(values, index) == table.sum(axis=0)[1]
