from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse, stats

from cuecard.stats.given_properties import Choices, choices_given, features_given, score_tests


def drawn(seed: int, n: int = 300, k: int = 3, features: int = 40, copies: int = 1):
    """Questions whose right choice follows a property; features are likelier where the property is high."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=(n, k))
    odds = np.exp(1.5 * size)
    right = np.array([rng.choice(k, p=row / row.sum()) for row in odds])
    having = rng.random((n * k, features)) < 1 / (1 + np.exp(1.5 - size.ravel()[:, None]))
    chosen = (np.arange(k) == right[:, None]).ravel()
    order = np.concatenate([np.arange(k) + k * i for i in np.repeat(np.arange(n), copies)])
    codes = np.repeat(np.arange(n * copies), k)
    units = np.repeat(np.repeat(np.arange(n), copies), k)
    return chosen[order], codes, size.ravel()[order, None], having[order], units


def test_agrees_with_the_dense_score_test():
    right, examples, size, having, _ = drawn(0)
    properties = np.column_stack([size, size**2])
    sparse_found = features_given(right, examples, properties, sparse.csr_matrix(having))
    dense = choices_given(right, examples, properties, having)
    # The same statistic: that one is penalised, and its tails are Student's (300 examples, two properties).
    students = np.log(2.0) + stats.t.logsf(np.abs(sparse_found.z), 297)
    assert students / np.log(10) == pytest.approx(dense.log10_p, rel=1e-3)
    assert sparse_found.log_p == pytest.approx(np.log(2.0) + stats.norm.logsf(np.abs(sparse_found.z)))
    assert np.array_equal(np.sign(sparse_found.z), np.sign(dense.excess))


def test_without_properties_it_is_the_sign_test_of_two_choices():
    rng = np.random.default_rng(1)
    first = rng.random(200) < 0.6
    right = np.column_stack([first, ~first]).ravel()
    found = features_given(right, np.repeat(np.arange(200), 2), np.zeros((400, 1)), [[1], [0]] * 200)
    assert found.z[0] == pytest.approx((first.sum() - 100) / np.sqrt(50))


def test_level_is_held_given_the_property_and_not_without():
    given, alone = [], []
    for seed in range(8):
        right, examples, size, having, _ = drawn(seed, features=50)
        given.append(features_given(right, examples, size, having).log_p <= np.log(0.05))
        alone.append(features_given(right, examples, np.zeros_like(size), having).log_p <= np.log(0.05))
    assert np.mean(given) == pytest.approx(0.05, abs=0.035)  # 400 tests, correlated within a set
    assert np.mean(alone) > 0.8


@pytest.mark.parametrize("n", [1, 7, 100])
def test_blocks_of_examples_say_what_all_say_together(n):
    right, _, size, having, units = drawn(3, n=60, copies=2)
    order = np.random.default_rng(0).permutation(120)  # copies are in different blocks
    rows = (order[:, None] * 3 + np.arange(3)).ravel()
    right, size, having, units = right[rows], size[rows], sparse.csr_matrix(having[rows]), units[rows]
    cut = [slice(3 * i, 3 * min(i + n, 120)) for i in range(0, 120, n)]

    def blocks():
        for where in cut:
            starts = np.arange(0, len(right[where]), 3)
            yield Choices(right[where].astype(float), starts, size[where], units[where])

    parts = score_tests(blocks, [having[where] for where in cut], having.shape[1], np.bincount(units))
    whole = features_given(right, np.repeat(np.arange(120), 3), size, having, units=units)
    assert parts.z == pytest.approx(whole.z, rel=1e-9)


def test_copies_of_an_example_are_one():
    apart, once = [], []
    for seed in range(8):
        right, examples, size, having, units = drawn(seed, n=150, features=50, copies=4)
        apart.append(features_given(right, examples, size, having).log_p <= np.log(0.05))
        once.append(features_given(right, examples, size, having, units=units).log_p <= np.log(0.05))
    assert np.mean(apart) > 0.2
    assert np.mean(once) <= 0.09


def test_what_the_properties_decide_leaves_nothing_to_test_and_shapes_are_checked():
    longest = np.array([1.0, 0.0] * 20)[:, None]
    found = features_given([1, 0, 0, 1] * 10, np.repeat(np.arange(20), 2), longest, longest > 0)
    assert np.isnan(found.z[0])
    with pytest.raises(ValueError, match="one row per choice"):
        features_given([1, 0], [0, 0], [[1.0]], [[1], [0]])
