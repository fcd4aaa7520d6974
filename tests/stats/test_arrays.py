"""Long arrays are gone through in parts that leave nothing out."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats import arrays
from cuecard.stats.arrays import chunks, counted, follows


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(chunks, "__defaults__", (7,))


@pytest.mark.parametrize("n", [0, 1, 7, 8, 50])
def test_parts_are_all_of_an_array(n):
    values = np.arange(n)
    parts = [values[some] for some in chunks(n)]
    assert np.concatenate([values[:0], *parts]).tolist() == values.tolist()
    assert all(0 < len(part) <= 7 for part in parts)


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.uint32, np.int64])
def test_small_numbers_are_counted_as_numpy_counts_them(kind):
    codes = np.random.default_rng(0).integers(0, 9, 100).astype(kind)
    assert counted(codes, 12).tolist() == np.bincount(codes, minlength=12).tolist()
    assert counted(codes).tolist() == np.bincount(codes).tolist()
    assert counted(codes[:0], 2).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([], False),
        ([4], True),
        (range(3, 40), True),
        ([0, 2, 1, 3], False),
        ([*range(7), *range(8, 15), 7, *range(15, 20)], False),
        ([5, 4, 3], False),
    ],
)
def test_a_gap_or_a_step_back_is_seen_wherever_it_is(numbers, expected):
    assert follows(np.array(numbers, dtype=np.int64)) is expected


def test_a_part_has_a_million_entries_by_default(monkeypatch):
    monkeypatch.undo()
    assert next(chunks(1 << 22)) == slice(0, arrays.CHUNK)
