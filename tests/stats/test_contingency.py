from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cuecard.stats.scores.contingency import combined_log_p, contingency_log_p, rank_log_p

ALPHA = np.log(0.05)


@pytest.mark.parametrize(("values", "rows"), [(3, 100), (40, 120), (200, 450)])
def test_level_whatever_the_number_of_values(values, rows):
    rng = np.random.default_rng(values)
    found = [
        contingency_log_p(rng.integers(0, values, rows), rng.random(rows) < 0.3) < ALPHA for _ in range(300)
    ]
    assert np.mean(found) <= 0.085  # 99.5 % of Binomial(300, 0.05)


def test_the_moments_are_those_of_permuted_labels():
    rng = np.random.default_rng(0)
    values, labels = rng.integers(0, 30, 90), rng.integers(0, 3, 90)
    p = np.exp([contingency_log_p(values, rng.permutation(labels)) for _ in range(500)])
    assert abs(p.mean() - 0.5) < 0.05
    assert abs(p.var() - 1 / 12) < 0.02


def test_many_rows_agree_with_pearson_and_kruskal():
    rng = np.random.default_rng(1)
    values, labels = rng.integers(0, 4, 2_000), rng.integers(0, 2, 2_000)
    table = np.bincount(values * 2 + labels).reshape(-1, 2)
    pearson = stats.chi2_contingency(table, correction=False).pvalue
    assert np.exp(contingency_log_p(values, labels)) == pytest.approx(pearson, abs=0.01)
    kruskal = stats.kruskal(values[labels == 0], values[labels == 1]).pvalue
    assert np.exp(rank_log_p(values, labels)) == pytest.approx(kruskal)


def test_the_combination_of_tiny_p_values_is_finite():
    assert combined_log_p([-800.0, -1.0, -0.5]) == pytest.approx(-800 + np.log(3))
    assert combined_log_p([0.0, 0.0]) == pytest.approx(0.0, abs=0.011)


def test_a_test_that_sees_nothing_does_not_outweigh_one_that_does():
    assert combined_log_p([np.log(1e-6), 0.0]) == pytest.approx(np.log(2e-6), abs=0.01)


@pytest.mark.filterwarnings("error")
def test_a_p_value_of_zero_decides_the_combination():
    assert combined_log_p([-np.inf, -np.inf, -1.0]) == -np.inf
