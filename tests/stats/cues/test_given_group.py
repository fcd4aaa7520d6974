from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cuecard.stats import conditional_strength
from cuecard.stats.cues.association import strength_given_group


def test_given_one_cue_it_is_the_conditional_strength() -> None:
    rng = np.random.default_rng(0)
    presence = sparse.csc_matrix((rng.random((300, 3)) < [0.4, 0.3, 0.2]).astype(np.int64))
    labels = rng.integers(0, 3, 300)
    one = conditional_strength(presence, labels, [2, 1], [0, 0], [1, 2])
    same = strength_given_group(presence, labels, [2, 1], [[0], [0]], [1, 2])
    assert same.z == pytest.approx(one.z)
    assert same.log_p == pytest.approx(one.log_p)


def test_level_holds_beside_two_stronger_cues_where_one_is_not_enough() -> None:
    """A cue that occurs with either of two stronger ones says nothing by itself."""
    rng = np.random.default_rng(1)
    adds = {"one": 0, "both": 0}
    for _ in range(100):
        strong = rng.random((1_000, 2)) < 0.15
        label = (rng.random(1_000) < 0.3 + 0.3 * strong.sum(axis=1)).astype(int)
        weak = rng.random(1_000) < 0.02 + 0.5 * strong.any(axis=1)
        presence = sparse.csc_matrix(np.column_stack([strong, weak]).astype(np.int64))
        for name, given in (("one", [0]), ("both", [0, 1])):
            adds[name] += bool(
                strength_given_group(presence, label, [2], [given], [1]).log_p[0] <= np.log(0.05)
            )
    assert adds["one"] >= 60
    assert adds["both"] <= 11


def test_copies_count_as_one_instance() -> None:
    rng = np.random.default_rng(2)
    presence = (rng.random((200, 2)) < 0.4).astype(np.int64)
    labels = rng.integers(0, 2, 200)
    once = strength_given_group(sparse.csc_matrix(presence), labels, [1], [[0]], [1])
    rows = np.repeat(np.arange(200), 4)
    many = strength_given_group(sparse.csc_matrix(presence[rows]), labels[rows], [1], [[0]], [1], units=rows)
    assert many.z == pytest.approx(once.z)
    assert many.log_p == pytest.approx(once.log_p)
