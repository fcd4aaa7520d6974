"""Sums over examples are those of plain formulas."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.stats.scores.auc import ranked_area
from cuecard.stats.scores.cross_fit_intervals import _by_units
from cuecard.stats.scores.row_sums import Examples, label_sums, score_moments, score_sums


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    n, k, strata = 400, 3, 4
    table = rng.dirichlet(np.ones(k), n)
    return table, rng.integers(0, k, n), rng.integers(0, strata, n), rng.random(n) + 0.1, strata


def test_deviations_of_units(drawn):
    _, codes, strata, _, n = drawn
    squares, alone, size = _by_units(codes == 1, 0.25, strata)
    shares = np.bincount(strata) / len(strata)
    beside = np.bincount(strata, (codes == 1) - 0.25) / (1 - shares) * (1 - (shares**2).sum())
    assert squares == pytest.approx((beside**2).sum())
    assert alone == pytest.approx((((codes == 1) - 0.25) ** 2).sum())
    assert size == pytest.approx(len(codes) ** 2 / (np.bincount(strata, minlength=n) ** 2).sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_powers_of_weights_by_stratum_and_label(drawn, weighted):
    _, codes, strata, weight, n = drawn
    mass = weight if weighted else np.ones(1)
    sums = label_sums(codes, strata, mass, n, 3)
    each = np.broadcast_to(mass, len(codes))
    for power in range(4):
        expected = np.bincount(strata * 3 + codes, each**power, 3 * n).reshape(n, 3)
        np.testing.assert_allclose(sums[power], expected, rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_the_matrix_of_all_examples_and_labels(drawn, weighted):
    """Hoeffding's formulas, with the whole matrix d_ij of every stratum."""
    table, codes, strata, weight, n = drawn
    mass = weight if weighted else np.ones(1)
    each = np.broadcast_to(mass, len(codes))
    labels = label_sums(codes, strata, mass, n, 3)
    shares = labels[1].sum(axis=0) / labels[1].sum()
    examples = Examples(table, codes, strata, mass, shares, 1e-3)
    means = np.zeros((n, 3))
    score = score_sums(examples, means)
    logs = np.log(np.maximum(table, 1e-3))
    logs -= (logs @ shares)[:, None]
    assert score == pytest.approx((each * logs[np.arange(len(codes)), codes]).sum())
    means /= labels[0].sum(axis=1)[:, None]
    units = np.arange(len(codes)) // 2
    own, spread = np.zeros(len(codes) // 2), np.zeros(len(codes) // 2)
    variance, third, squares = score_moments(examples, means, labels, units, own, spread)
    marks = np.eye(3)[codes] * each[:, None]
    own_of, spread_of = np.zeros(len(codes)), np.zeros(len(codes))
    for s in range(n):
        rows = np.flatnonzero(strata == s)
        m = len(rows)
        left, right = logs[rows] - logs[rows].mean(axis=0), marks[rows] - marks[rows].mean(axis=0)
        d = left @ right.T
        assert variance[s] == pytest.approx((d**2).sum() / (m - 1))
        assert third[s] == pytest.approx(m * (d**3).sum() / ((m - 1) * (m - 2)))
        own_of[rows], spread_of[rows] = np.diag(d), (d**2).sum(axis=1) / (m - 1)
    np.testing.assert_allclose(own, own_of.reshape(-1, 2).sum(axis=1), atol=1e-10)
    np.testing.assert_allclose(spread, spread_of.reshape(-1, 2).sum(axis=1), rtol=1e-10)
    assert squares == pytest.approx((spread_of**2).sum())


@pytest.mark.parametrize("weighted", [False, True])
def test_the_area_is_the_share_of_pairs_in_the_right_order(drawn, weighted):
    table, codes, _, weight, _ = drawn
    mass = weight if weighted else np.ones(1)
    each, scores = np.broadcast_to(mass, len(codes)), table[:, 1].round(1)
    positive = codes == 1
    area, influence = ranked_area(scores, np.argsort(scores), positive, each, 0.5)
    ahead = (scores[positive][:, None] > scores[~positive]) + 0.5 * (
        np.abs(scores[positive][:, None] - scores[~positive]) < 1e-9
    )
    pairs = each[positive][:, None] * each[~positive]
    assert area == pytest.approx((ahead * pairs).sum() / pairs.sum())
    expected = np.zeros(len(codes))
    expected[positive] = each[positive] * ((ahead @ each[~positive]) / each[~positive].sum() - area)
    expected[positive] /= each[positive].sum()
    expected[~positive] = each[~positive] * ((each[positive] @ ahead) / each[positive].sum() - area)
    expected[~positive] /= each[~positive].sum()
    np.testing.assert_allclose(influence, 0.5 * expected, atol=1e-12)
