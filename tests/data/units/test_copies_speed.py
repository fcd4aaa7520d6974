"""What makes the search for copies fast changes no unit."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.data.units import _kernels
from cuecard.data.units.copies import in_order


@pytest.mark.parametrize("codes", [[3, 1, 3, 0, 1, 5], [0], [2, 2, 2], [7, 900, 7]])
def test_small_and_large_codes_are_numbered_alike_by_first_occurrence(codes: list[int]) -> None:
    numbers: dict[int, int] = {}
    expected = [numbers.setdefault(code, len(numbers)) for code in codes]
    assert in_order(np.array(codes, dtype=np.int64)).tolist() == expected
    assert in_order(np.array(codes, dtype=np.float64)).tolist() == expected


def test_bits_never_rule_out_texts_that_are_alike() -> None:
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, 40, dtype=np.uint64)
    sets = [np.sort(rng.choice(words, rng.integers(6, 20), replace=False)) for _ in range(300)]
    bounds = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
    bits = _kernels.bit_sets(np.concatenate(sets), bounds)
    for a, b in rng.integers(0, 300, (2000, 2)):
        differing = len(np.setxor1d(sets[a], sets[b]))
        assert bin(int(bits[a] ^ bits[b])).count("1") <= differing
    assert len(np.unique(bits)) > 250
