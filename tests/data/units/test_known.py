"""Random numbers that are known are found by their first bits."""

import numpy as np
import pytest

from cuecard.data.units.known import Known


@pytest.mark.parametrize("n", [0, 1, 2, 5_000])
def test_places_are_those_of_a_search(n: int) -> None:
    rng = np.random.default_rng(n)
    known = np.unique(rng.integers(0, 1 << 64, n, dtype=np.uint64))
    numbers = np.concatenate([rng.integers(0, 1 << 64, 1_000, dtype=np.uint64), known[::3]])
    expected = [int(np.searchsorted(known, x)) if x in known else -1 for x in numbers]
    assert Known(known).places(numbers).tolist() == expected


def test_numbers_with_the_same_first_bits_are_told_apart() -> None:
    known = np.arange(100, 200, dtype=np.uint64)
    assert Known(known).places(np.array([99, 100, 150, 199, 200], dtype=np.uint64)).tolist() == [
        -1,
        0,
        50,
        99,
        -1,
    ]
