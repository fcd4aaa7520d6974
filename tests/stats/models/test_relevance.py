from __future__ import annotations

import doctest

import numpy as np
import pytest

import cuecard as cc
from cuecard.stats import relevance_cosines
from cuecard.stats.models import agreement as relevance


def test_the_worked_examples_are_true() -> None:
    outcome = doctest.testmod(relevance)
    assert outcome.attempted > 4
    assert outcome.failed == 0


def test_cosines_are_those_of_scikit_learn() -> None:
    from sklearn.metrics.pairwise import paired_distances

    generator = np.random.default_rng(0)
    first, second = (generator.random((50, 7)) * (generator.random((50, 7)) < 0.7) for _ in range(2))
    expected = 1 - paired_distances(first, second, metric="cosine")
    np.testing.assert_allclose(relevance_cosines(first, second), expected, atol=1e-12)
    assert cc.token_relevance_agreement(first, second) == pytest.approx(expected.mean())


def test_scale_and_padding_change_nothing() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.random((20, 5)), generator.random((20, 5))
    expected = relevance_cosines(first, second)
    np.testing.assert_allclose(relevance_cosines(first * 1e-200, second * 1e200), expected)
    padded = [np.pad(maps, ((0, 0), (0, 3))) for maps in (first, second)]
    np.testing.assert_allclose(relevance_cosines(*padded), expected)


def test_a_model_blind_to_half_of_an_even_map_agrees_by_root_a_half() -> None:
    even, half = np.full((3, 4), 0.25), np.tile([0, 0, 0.5, 0.5], (3, 1))
    assert cc.token_relevance_agreement(even, half) == pytest.approx(0.5**0.5)


def test_maps_of_zeros_have_no_angle() -> None:
    assert np.isnan(cc.token_relevance_agreement([[0.0, 0.0]], [[1.0, 0.0]]))
    assert cc.token_relevance_agreement([[0, 0], [1, 0]], [[1, 0], [1, 0]]) == 1


@pytest.mark.parametrize(
    ("a", "b"), [([[1.0]], [[1.0, 2.0]]), ([1.0], [1.0]), ([[np.nan]], [[1.0]]), ([[-1.0]], [[1.0]])]
)
def test_what_is_no_map_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="saliency maps must be"):
        cc.token_relevance_agreement(a, b)
