from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from cuecard.stats import accuracy_log_p
from cuecard.stats.limits import detectable_accuracy, detectable_auc, detectable_choice_auc
from cuecard.stats.scores.score_test import choice_score_test, score_test


@pytest.mark.parametrize(("n", "chance"), [(50, 0.25), (400, 0.5), (3000, 0.37)])
def test_the_smallest_detectable_accuracy_is_detected_in_four_of_five_sets(n, chance):
    smallest = detectable_accuracy(n, chance)
    hits = np.arange(n + 1)
    found = (np.exp(accuracy_log_p(hits, n, chance)) <= 0.05) & (hits > n * chance)
    assert binom.pmf(hits, n, smallest)[found].sum() == pytest.approx(0.8, abs=1e-6)


def test_nothing_is_detectable_in_very_few_examples():
    assert detectable_accuracy(2, 0.5) == 1
    assert detectable_accuracy(0, 0.5) == 1
    assert detectable_auc([0, 10]) == 1
    assert detectable_choice_auc([1, 1]) == 1


def test_the_score_test_finds_the_smallest_detectable_area_about_four_times_in_five():
    rng = np.random.default_rng(0)
    n = 300
    labels = np.arange(n) % 2
    area = detectable_auc([150, 150])
    # Two normals apart by d have the area Φ(d / √2).
    from scipy.special import ndtri

    apart = ndtri(area) * np.sqrt(2)
    found = 0
    for _ in range(300):
        logit = apart * (rng.standard_normal(n) + apart * (labels - 0.5))
        one = 1 / (1 + np.exp(-logit))
        found += score_test(np.column_stack([1 - one, one]), labels).log_p <= np.log(0.05)
    assert 0.72 <= found / 300 <= 0.88


def test_the_choice_test_finds_the_smallest_detectable_area_about_four_times_in_five():
    rng = np.random.default_rng(1)
    n, k = 300, 2
    area = detectable_choice_auc([k] * n)
    found = 0
    for _ in range(300):
        first = rng.random(n) < area  # one probability for the right choice, or the other
        p = np.where(first[:, None], [0.6, 0.4], [0.4, 0.6]).ravel()
        found += choice_score_test(p, np.zeros(n, int), [k] * n).log_p <= np.log(0.05)
    assert 0.7 <= found / 300 <= 0.9
