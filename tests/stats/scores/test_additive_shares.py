from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import log_softmax, softmax

from cuecard.stats.scores.additive_shares import path_weights, score_shares


def test_slopes_are_the_integral_of_the_softmax_along_the_way():
    generator = np.random.default_rng(0)
    start, end = generator.normal(size=3), generator.normal(scale=3, size=(5, 3))
    gold = generator.integers(3, size=5)
    slopes = path_weights(start, end, gold)
    for i, answer in np.ndindex(5, 3):
        mean, _ = quad(lambda t, i=i, answer=answer: softmax(start + t * (end[i] - start))[answer], 0, 1)
        assert slopes[i, answer] == pytest.approx((answer == gold[i]) - mean, abs=1e-9)


@pytest.mark.parametrize("scale", [0.1, 3.0, 15.0])
def test_the_parts_add_up_to_the_difference_of_the_log_scores(scale):
    generator = np.random.default_rng(1)
    start, end = generator.normal(size=(50, 4)), generator.normal(scale=scale, size=(50, 4))
    end[::3, 3] = np.nan  # examples with fewer answers
    gold = generator.integers(3, size=50)
    slopes = path_weights(start, end, gold)
    moved = np.where(np.isnan(end), 0.0, end - start)
    there = np.where(np.isnan(end), -np.inf, end)
    before = np.where(np.isnan(end), -np.inf, start)
    rows = np.arange(50)
    # The first step of the way takes away the answers that an example does not have.
    expected = log_softmax(there, axis=1)[rows, gold] - log_softmax(before, axis=1)[rows, gold]
    assert (slopes * moved).sum(axis=1) == pytest.approx(expected, abs=1e-3)


def test_intervals_of_shares_hold_their_level_with_examples_in_units():
    """The true share is that of a population; each sample draws units of one to four equal examples."""
    generator = np.random.default_rng(2)
    population = generator.random((200_000, 2)) < (0.3, 0.05)
    label = generator.random(200_000) < 0.4 + 0.3 * population[:, 0] - 0.3 * population[:, 1]
    terms = population * np.array([1.2, -1.5]) * (label - 0.5)[:, None] * 0.8
    noise = 0.2 * (generator.random(200_000) < 0.5) * (label - 0.45)
    scores = terms.sum(axis=1) + noise
    true = terms.sum(axis=0) / scores.sum()
    inside = np.zeros(2)
    for _ in range(400):
        chosen = generator.choice(200_000, 500)
        units = np.repeat(np.arange(500), generator.integers(1, 5, 500))
        shares = score_shares(terms[chosen[units]], scores[chosen[units]], units=units)
        inside += (shares.low <= true) & (true <= shares.high)
    assert inside / 400 == pytest.approx(0.95, abs=0.03)


def test_weights_count_examples_as_often_as_they_say():
    generator = np.random.default_rng(3)
    parts, scores, weights = generator.random((40, 2)), generator.random(40), generator.integers(1, 4, 40)
    weighted = score_shares(parts, scores, weights=weights.astype(float))
    repeated = np.repeat(np.arange(40), weights)
    plain = score_shares(parts[repeated], scores[repeated], units=repeated)
    assert weighted.value == pytest.approx(plain.value)
