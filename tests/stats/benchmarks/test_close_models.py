"""Reliability of models that are nearly equal: bounded, and in order."""

from __future__ import annotations

import numpy as np

from cuecard.stats.many_models import kr20, split_half


def test_reliability_of_nearly_equal_models_stays_in_its_bounds():
    rng = np.random.default_rng(0)
    correct = np.stack([rng.permutation(np.arange(200) < 160 + i % 2) for i in range(6)], axis=1)
    for value, low, high in (split_half(correct), kr20(correct)):
        assert -1 <= low <= value <= high <= 1


def test_models_with_the_same_total_have_no_reliability():
    rng = np.random.default_rng(1)
    correct = np.stack([rng.permutation(np.arange(200) < 160) for _ in range(6)], axis=1)
    assert np.isnan(split_half(correct)).all()
