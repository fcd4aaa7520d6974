from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from sklearn.metrics import roc_auc_score

from cuecard.stats import wilson
from cuecard.stats.scores.auc import choice_auc, label_auc


def draw(rng: np.random.Generator, n: int, effect: float) -> tuple[np.ndarray, np.ndarray]:
    labels = (rng.random(n) < 0.3).astype(int)
    score = 1 / (1 + np.exp(-(rng.standard_normal(n) + effect * labels)))
    return np.column_stack([1 - score, score]), labels


def test_areas_agree_with_scikit_learn_with_ties_and_weights():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 200).round(1)
    labels, weights = rng.integers(0, 3, 200), rng.random(200) + 0.1
    expected = [roc_auc_score(labels == c, p[:, c], sample_weight=weights) for c in range(3)]
    assert label_auc(p, labels, weights=weights).value == pytest.approx(np.mean(expected))


def test_the_interval_has_the_width_of_delong_where_many_examples_rank_wrong():
    rng = np.random.default_rng(1)
    p, labels = draw(rng, 6_000, 0.8)
    found = label_auc(p, labels)
    positive, negative = p[labels == 1, 1], p[labels == 0, 1]
    wins = (positive[:, None] > negative) + 0.5 * (positive[:, None] == negative)
    variance = np.var(wins.mean(1)) / len(positive) + np.var(wins.mean(0)) / len(negative)
    assert found.high - found.low == pytest.approx(2 * 1.959964 * np.sqrt(variance), rel=0.01)


def test_few_examples_of_the_rarer_label_have_the_interval_of_the_largest_variance():
    scores = np.array([0.9, 0.8, 0.7, *np.linspace(0.0, 0.6, 40)])
    found = label_auc(np.column_stack([1 - scores, scores]), [1] * 3 + [0] * 40)
    low, _ = wilson(3, 3)  # all of three
    assert (found.value, found.low, found.high) == (1.0, pytest.approx(float(low), abs=1e-6), 1.0)


@pytest.mark.parametrize("rarer", [5, 30, 100])
def test_intervals_cover_areas_near_one_and_of_rare_labels(rarer):
    rng, covered, areas = np.random.default_rng(rarer), [], (0.5, 0.8, 0.95, 0.99)
    for area in areas:
        shift, labels = np.sqrt(2) * ndtri(area), np.repeat([1, 0], [rarer, 5 * rarer])
        for _ in range(60):
            score = ndtr(rng.standard_normal(len(labels)) + shift * labels)
            found = label_auc(np.column_stack([1 - score, score]), labels)
            covered.append(found.low <= area <= found.high)
    assert np.mean(covered) >= 0.92
    assert min(np.mean(covered[i :: len(areas)]) for i in range(len(areas))) >= 0.85


def test_models_of_different_scale_are_compared_within_their_strata():
    rng = np.random.default_rng(2)
    p, labels = draw(rng, 400, 1.0)
    strata = np.arange(400) % 2
    shifted = p.copy()
    shifted[strata == 1] **= 3
    assert label_auc(shifted, labels, strata=strata).value == pytest.approx(
        label_auc(p, labels, strata=strata).value
    )


def test_intervals_cover_the_area_also_with_copies():
    rng = np.random.default_rng(3)
    truth = label_auc(*draw(rng, 200_000, 0.8)).value
    covered, copied = 0, 0
    for _ in range(200):
        p, labels = draw(rng, 150, 0.8)
        found = label_auc(p, labels)
        covered += found.low <= truth <= found.high
        often = np.repeat(np.arange(150), 4)
        found = label_auc(p[often], labels[often], units=often)
        copied += found.low <= truth <= found.high
    assert covered >= 180
    assert copied >= 180


def test_the_right_choice_is_ranked_within_its_own_example():
    found = choice_auc([0.5, 0.3, 0.2, 0.6, 0.4, 0.25, 0.25, 0.25, 0.25], [0, 1, 2], [3, 2, 4])
    assert found.value == pytest.approx((1 + 0 + 0.5) / 3)
    assert found.low < found.value < found.high
    assert choice_auc([1.0], [0], [1]).value != choice_auc([1.0], [0], [1]).value  # nan: nothing to rank
    assert np.isnan(label_auc(np.ones((3, 2)) / 2, [0, 0, 0]).value)
