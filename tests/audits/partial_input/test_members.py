"""Examples that are named by their folds are those that a list of them would have."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.audits.partial_input.folds import Draws, Members, shuffled
from cuecard.stats.arrays import chunks


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(chunks, "__defaults__", (17,))


@pytest.mark.parametrize("runs", [[[0, 2, 3]], [[0], [1]], [[3], [0, 1], [2]], [[1]], []])
def test_members_are_listed_run_after_run(runs):
    rng = np.random.default_rng(0)
    among, fold = np.sort(rng.permutation(500)[:200]), rng.integers(0, 4, 200).astype(np.int16)
    listed = np.concatenate([among[:0], *(among[np.isin(fold, run)] for run in runs)])
    members = Members(among, fold, runs)
    assert len(members) == len(listed)
    if runs:
        assert members[np.arange(len(listed))].tolist() == listed.tolist()
        places = np.sort(rng.permutation(len(listed))[: len(listed) // 3])
        assert members[places].tolist() == listed[places].tolist()


@pytest.mark.parametrize("n", [1, 10, 12_345])
def test_numbers_are_shuffled_as_a_permutation_is(n):
    one, other = np.random.default_rng(4), np.random.default_rng(4)
    for _ in range(2):
        assert shuffled(one, n).tolist() == other.permutation(n).tolist()


def test_fewer_places_are_the_first_of_more():
    draws = Draws(seed=2, most=50)
    order = np.random.default_rng(2).permutation(1_000)
    assert draws.places(1_000, 20).tolist() == sorted(order[:20])
    assert draws.places(1_000, 50).tolist() == sorted(order[:50])
