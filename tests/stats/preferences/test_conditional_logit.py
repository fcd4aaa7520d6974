from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from cuecard.stats.preferences.conditional_logit import choice_probabilities, conditional_logit


def pairs(n: int, beta: np.ndarray, seed: int):
    """Features of two answers per example, and the row that was chosen by the model itself."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2 * n, len(beta)))
    starts = 2 * np.arange(n)
    probability = choice_probabilities(x @ beta, starts)[starts]
    return x, starts, starts + (rng.random(n) > probability)


def test_two_answers_are_a_logistic_regression_on_their_difference():
    x, starts, chosen = pairs(400, np.array([0.8, -0.3, 0.0]), seed=1)
    fit = conditional_logit(x, starts, chosen)
    difference = x[starts] - x[starts + 1]
    oracle = LogisticRegression(C=1e9, fit_intercept=False, tol=1e-10).fit(difference, chosen == starts)
    assert fit.coefficients == pytest.approx(oracle.coef_[0], abs=1e-4)
    p = oracle.predict_proba(difference)[:, 1]
    hessian = (difference * (p * (1 - p))[:, None]).T @ difference
    assert fit.naive == pytest.approx(np.linalg.inv(hessian), rel=1e-3)
    score = ((chosen == starts) - p)[:, None] * difference
    bread = np.linalg.inv(hessian)
    assert fit.covariance == pytest.approx(bread @ (score.T @ score) @ bread * 400 / 399, rel=1e-3)
    assert fit.log_likelihood == pytest.approx(np.log(np.where(chosen == starts, p, 1 - p)).sum(), rel=1e-6)
    assert fit.pseudo_r2 == pytest.approx(1 - fit.log_likelihood / (400 * np.log(0.5)), rel=1e-9)


def test_several_answers_have_the_highest_likelihood_that_a_general_optimiser_finds():
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 6, 150)
    starts = np.cumsum(sizes) - sizes
    x = rng.standard_normal((sizes.sum(), 2))
    chosen = starts + (rng.random(150) * sizes).astype(int)
    chosen = np.where(
        rng.random(150) < 0.5,
        starts + np.array([x[s : s + k, 0].argmax() for s, k in zip(starts, sizes, strict=True)]),
        chosen,
    )
    fit = conditional_logit(x, starts, chosen)
    oracle = minimize(
        lambda b: -np.log(choice_probabilities(x @ b, starts)[chosen]).sum(), np.zeros(2), tol=1e-12
    )
    assert fit.coefficients == pytest.approx(oracle.x, abs=1e-4)
    assert fit.null_log_likelihood == pytest.approx(-np.log(sizes).sum())


def test_errors_over_clusters_cover_where_naive_ones_do_not():
    rng = np.random.default_rng(0)
    robust = naive = 0
    runs, groups, size = 150, 50, 10
    for _ in range(runs):
        cluster = np.repeat(np.arange(groups), size)
        shared = np.repeat(
            rng.standard_normal(groups), size
        )  # a style and a taste that a prompt's answers share
        taste = np.repeat(rng.standard_normal(groups), size)
        difference = shared + 0.5 * rng.standard_normal(groups * size)
        won = rng.random(groups * size) < 1 / (1 + np.exp(-2 * taste))
        x = np.zeros((2 * groups * size, 1))
        x[::2, 0] = difference
        starts = 2 * np.arange(groups * size)
        fit = conditional_logit(x, starts, starts + ~won, clusters=cluster)
        low, high = fit.interval()
        robust += low[0] <= 0 <= high[0]
        naive += abs(fit.coefficients[0]) <= 1.96 * np.sqrt(fit.naive[0, 0])
    assert robust / runs > 0.88
    assert naive / runs < 0.85


def test_a_feature_that_separates_the_answers_keeps_a_finite_coefficient():
    x = np.tile([[1.0], [0.0]], (30, 1))
    fit = conditional_logit(x, 2 * np.arange(30), 2 * np.arange(30))
    assert fit.penalty == 1.0
    assert 1 < fit.coefficients[0] < 10


def test_weights_count_an_example_as_often_as_it_is_repeated():
    x, starts, chosen = pairs(60, np.array([0.5, 0.1]), seed=5)
    weights = np.random.default_rng(0).integers(1, 4, 60)
    weighted = conditional_logit(x, starts, chosen, weights=weights)
    rows = np.repeat(starts, weights)
    repeated = conditional_logit(
        x[np.stack([rows, rows + 1], 1).ravel()],
        2 * np.arange(len(rows)),
        2 * np.arange(len(rows)) + np.repeat(chosen - starts, weights),
    )
    assert weighted.coefficients == pytest.approx(repeated.coefficients, abs=1e-8)
    assert weighted.log_likelihood == pytest.approx(repeated.log_likelihood)


def test_the_joint_test_keeps_its_level_and_finds_an_effect():
    p = [conditional_logit(*pairs(80, np.zeros(4), seed)).wald_p() for seed in range(200)]
    assert np.mean(np.array(p) <= 0.05) < 0.10
    assert conditional_logit(*pairs(500, np.array([1.0, 0, 0, 0]), seed=0)).wald_p() < 1e-8


def test_coefficients_and_errors_are_those_of_statsmodels():
    rng = np.random.default_rng(7)
    difference, cluster = rng.standard_normal((300, 3)), np.repeat(np.arange(100), 3)
    won = rng.random(300) < 1 / (1 + np.exp(-(difference @ [0.7, -0.4, 0.0])))
    x = np.zeros((600, 3))
    x[::2] = difference
    fit = conditional_logit(x, 2 * np.arange(300), 2 * np.arange(300) + ~won, clusters=cluster)
    # statsmodels 0.14: Logit(won, difference).fit(cov_type="cluster", cov_kwds={"groups": cluster})
    assert fit.coefficients == pytest.approx([0.4539395, -0.3809431, 0.0396774], abs=1e-6)
    assert np.sqrt(np.diag(fit.naive)) == pytest.approx([0.1274792, 0.1352113, 0.1260080], abs=1e-6)
    few_parameters = np.sqrt(299 / 297)  # its further correction, (n − 1) / (n − k)
    assert fit.errors * few_parameters == pytest.approx([0.1136900, 0.1360850, 0.1229698], abs=1e-6)
    assert fit.log_likelihood == pytest.approx(-197.5196629, abs=1e-6)
