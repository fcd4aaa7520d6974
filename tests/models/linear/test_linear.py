from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.linear_model import LogisticRegression

from cuecard.models import LinearModel
from cuecard.stats import _native


def problem(n: int = 120, d: int = 15, k: int = 3, seed: int = 0):
    rng = np.random.default_rng(seed)
    dense = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)
    logits = dense @ rng.normal(size=(d, k))
    y = np.array([rng.choice(k, p=np.exp(z) / np.exp(z).sum()) for z in logits])
    return sparse.csr_matrix(dense), y, rng


def sklearn_optimum(features, y, strength, weight=None):
    with_constant = sparse.hstack([features, np.ones((features.shape[0], 1))]).tocsr()
    model = LogisticRegression(C=strength, fit_intercept=False, tol=1e-10, max_iter=10_000)
    return model.fit(with_constant, y, sample_weight=weight).coef_.T


@pytest.mark.parametrize("strength", [0.1, 1.0, 10.0])
def test_classes_reach_the_optimum_that_scikit_learn_finds(strength):
    features, y, _ = problem()
    model = LinearModel(strength=strength, tolerance=1e-14, most_epochs=5000).fit(features, y)
    expected = sklearn_optimum(features, y, strength)
    np.testing.assert_allclose(np.vstack([model.coef_, model.intercept_]), expected, atol=2e-5)


def test_two_classes_give_the_probabilities_of_binary_logistic_regression():
    features, y, _ = problem(k=2)
    ours = LinearModel(tolerance=1e-14, most_epochs=5000).fit(features, y).predict_proba(features)
    # Two symmetric weight vectors share the penalty, so one of twice the length pays half of it.
    with_constant = sparse.hstack([features, np.ones((features.shape[0], 1))]).tocsr()
    theirs = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10).fit(with_constant, y)
    np.testing.assert_allclose(ours, theirs.predict_proba(with_constant), atol=1e-5)


def test_a_weight_of_two_is_a_row_that_stands_twice():
    features, y, rng = problem(n=60)
    weight = rng.integers(1, 4, size=60)
    weighted = LinearModel(tolerance=1e-14, most_epochs=5000).fit(features, y, sample_weight=weight)
    repeated = np.repeat(np.arange(60), weight)
    plain = LinearModel(tolerance=1e-14, most_epochs=5000).fit(features[repeated], y[repeated])
    np.testing.assert_allclose(weighted.coef_, plain.coef_, atol=2e-5)
    np.testing.assert_allclose(
        np.vstack([weighted.coef_, weighted.intercept_]), sklearn_optimum(features, y, 1.0, weight), atol=2e-5
    )


def within_problem(seed: int = 0):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 6, size=60)
    groups = np.repeat(np.arange(60), sizes)
    features = rng.normal(size=(len(groups), 8)) * (rng.random((len(groups), 8)) < 0.5)
    right = np.zeros(len(groups), dtype=int)
    starts = np.cumsum(sizes) - sizes
    right[starts + rng.integers(0, sizes)] = 1
    return features, right, groups, rng


def conditional_loss(w, features, right, groups, weight, strength):
    z = features @ w
    total = 0.0
    for g in np.unique(groups):
        inside = groups == g
        gold = z[inside & (right == 1)][0]
        total += weight[g] * (np.log(np.exp(z[inside]).sum()) - gold)
    return total + w @ w / (2 * strength)


@pytest.mark.parametrize("weighted", [False, True])
def test_softmax_within_examples_reaches_the_optimum_of_a_brute_force_search(weighted):
    features, right, groups, rng = within_problem()
    weight = rng.uniform(0.5, 3, size=60) if weighted else np.ones(60)
    best = optimize.minimize(
        conditional_loss, np.zeros(8), args=(features, right, groups, weight, 2.0), method="BFGS", tol=1e-9
    )
    model = LinearModel(strength=2.0, tolerance=1e-14, most_epochs=5000)
    model.fit(sparse.csr_matrix(features), right, groups=groups, sample_weight=weight[groups])
    np.testing.assert_allclose(model.coef_, best.x, atol=1e-5)


def test_the_gap_bounds_how_far_the_objective_is_from_its_optimum():
    features, right, groups, _ = within_problem(1)
    matrix, ones = sparse.csr_matrix(features), np.ones(60)
    exact = LinearModel(tolerance=1e-14, most_epochs=5000).fit(matrix, right, groups=groups)
    best = conditional_loss(exact.coef_, features, right, groups, ones, 1.0)
    gaps = []
    for epochs in range(1, 6):
        early = LinearModel(tolerance=0, most_epochs=epochs).fit(matrix, right, groups=groups)
        before = LinearModel(tolerance=0, most_epochs=epochs + 1).fit(matrix, right, groups=groups)
        excess = conditional_loss(early.coef_, features, right, groups, ones, 1.0) - best
        assert excess >= -1e-9
        # The gap of the next pass is measured on the way from these weights on.
        assert excess <= 60 * early.gap_
        gaps.append(before.gap_)
    assert gaps == sorted(gaps, reverse=True)


def test_probabilities_of_the_rows_of_an_example_sum_to_one():
    features, right, groups, _ = within_problem(2)
    model = LinearModel().fit(sparse.csr_matrix(features), right, groups=groups)
    sums = np.bincount(groups, weights=model.predict_proba(sparse.csr_matrix(features), groups=groups))
    np.testing.assert_allclose(sums, 1)


def test_the_seed_fixes_every_bit_and_does_not_move_the_optimum():
    features, y, _ = problem(seed=3)
    first, again = (LinearModel(seed=1).fit(features, y) for _ in range(2))
    assert np.array_equal(first.coef_, again.coef_)
    other = LinearModel(seed=2, tolerance=1e-13, most_epochs=5000).fit(features, y)
    exact = LinearModel(seed=1, tolerance=1e-13, most_epochs=5000).fit(features, y)
    np.testing.assert_allclose(other.coef_, exact.coef_, atol=1e-4)


def test_a_row_without_features_gets_the_intercept_alone():
    features = sparse.csr_matrix((40, 5))
    y = np.repeat([0, 1], [30, 10])
    model = LinearModel(strength=100.0, tolerance=1e-12, most_epochs=20_000).fit(features, y)
    probability = model.predict_proba(features[:1])
    np.testing.assert_allclose(probability, [[0.75, 0.25]], atol=0.005)


def test_an_example_without_its_right_row_is_refused():
    features, right, groups, _ = within_problem()
    right[groups == 7] = 0
    with pytest.raises(ValueError, match="exactly one row"):
        LinearModel().fit(sparse.csr_matrix(features), right, groups=groups)


def test_rows_and_answers_must_be_as_many():
    features, y, _ = problem()
    with pytest.raises(ValueError, match="same number of rows"):
        LinearModel().fit(features, y[:-1])


def test_asking_for_memory_ahead_changes_no_bit(monkeypatch):
    """The order of every sum is that of the plain loop below, so fits are equal to the last digit."""
    rng = np.random.default_rng(3)
    features = sparse.random(60, 25, density=0.2, format="csr", random_state=4)
    codes = rng.integers(0, 3, 60)
    ours = LinearModel(most_epochs=2, tolerance=0.0).fit(features, codes)
    plain = LinearModel(most_epochs=2, tolerance=0.0)
    monkeypatch.setattr(_native, "multinomial_epoch", plain_epoch)
    plain.fit(features, codes)
    assert np.array_equal(ours.coef_, plain.coef_)
    assert np.array_equal(ours.intercept_, plain.intercept_)
    assert ours.gap_ == plain.gap_


def line_step(p, q, margins, curvature):
    """One Newton step towards the best point between p and q."""
    s = 1 / (1 + 0.5 * curvature)
    slope, bend = -s * curvature, -curvature
    for j in range(len(p)):
        d = q[j] - p[j]
        now = p[j] + s * d
        if now > 0:
            slope += d * (margins[j] - math.log(now))
            bend -= d * d / now
    if bend >= 0:
        return s
    following = s - slope / bend
    return 0.5 * s if following <= 0 else min(following, 0.5 * (1 + s))


def plain_epoch(indptr, indices, values, squares, weight, order, penalty, w, bias, dual):
    """Dual coordinate ascent as it is written down, without a thought of memory."""
    k, gap = w.shape[1], 0.0
    for i in order:
        margins, q = bias.copy(), np.empty(k)
        entries = range(indptr[i], indptr[i + 1])
        for t in entries:
            for j in range(k):
                margins[j] += values[t] * w[indices[t], j]
        largest = max(margins)
        for j in range(k):
            q[j] = math.exp(margins[j] - largest)
        q /= sum(q.tolist())
        p = dual[i]
        gap += weight[i] * sum(a * math.log(a / max(b, 1e-300)) for a, b in zip(p, q, strict=True) if a > 0)
        length = 0.0
        for j in range(k):
            length += (q[j] - p[j]) ** 2
        s = line_step(p, q, margins, weight[i] / penalty * length * squares[i])
        step = s * (q - p)
        p += step
        step *= weight[i] / penalty
        bias -= step
        for t in entries:
            for j in range(k):
                w[indices[t], j] -= values[t] * step[j]
    return gap
