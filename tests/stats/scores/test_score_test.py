from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from cuecard.stats.scores.score_test import choice_score_test, score_test


def binary(logit: np.ndarray) -> np.ndarray:
    one = 1 / (1 + np.exp(-logit))
    return np.column_stack([1 - one, one])


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_are_those_of_all_permutations(weighted):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2, 2, 2], 7)
    labels = np.array([0, 0, 1, 1, 1, 2, 2])
    weights = rng.random(7) + 0.5 if weighted else None
    w = np.ones(7) if weights is None else weights
    shares = np.bincount(labels, w) / w.sum()
    rows = np.log(p) - (np.log(p) @ shares)[:, None]
    scores = np.array(
        [(w[list(o)] * rows[np.arange(7), labels[list(o)]]).sum() for o in permutations(range(7))]
    )
    test = score_test(p, labels, weights=weights)
    assert test.score == pytest.approx((w * rows[np.arange(7), labels]).sum())
    assert test.expected == pytest.approx(scores.mean())
    assert test.sd == pytest.approx(scores.std())
    assert test.skewness == pytest.approx(((scores - scores.mean()) ** 3).mean() / scores.std() ** 3)
    assert test.method == "monte carlo"
    assert np.exp(test.log_above) == pytest.approx((scores >= test.score - 1e-9).mean(), abs=0.02)
    assert np.exp(test.log_below) == pytest.approx((scores <= test.score + 1e-9).mean(), abs=0.02)


def test_strata_are_permuted_within_themselves():
    rng = np.random.default_rng(1)
    p, labels, strata = rng.dirichlet([2, 2], 7), np.array([0, 1, 0, 1, 1, 0, 0]), np.array([0] * 4 + [1] * 3)
    logs = np.log(p)
    first = [logs[np.arange(4), labels[:4][list(o)]].sum() for o in permutations(range(4))]
    second = [logs[np.arange(4, 7), labels[4:][list(o)]].sum() for o in permutations(range(3))]
    assert score_test(p, labels, strata=strata).sd == pytest.approx(np.sqrt(np.var(first) + np.var(second)))


def test_moments_of_choices_are_those_of_all_answer_keys():
    rng = np.random.default_rng(2)
    sizes = np.array([2, 3, 4, 3])
    p = np.concatenate([rng.dirichlet(np.ones(k) * 3) for k in sizes])
    starts = np.cumsum(sizes) - sizes
    keys = product(*(range(k) for k in sizes))
    scores = np.array([np.log(p)[starts + np.array(key)].sum() for key in keys])
    test = choice_score_test(p, [0, 1, 0, 2], sizes)
    assert test.expected == pytest.approx(scores.mean())
    assert test.sd == pytest.approx(scores.std())
    assert np.exp(test.log_above) == pytest.approx((scores >= test.score - 1e-9).mean(), abs=0.02)


@pytest.mark.parametrize(("n", "share"), [(60, 0.5), (200, 0.1), (1000, 0.03)])
def test_the_level_is_held_with_skewed_scores_and_rare_labels(n, share):
    rng = np.random.default_rng(n)
    p_values = []
    for _ in range(300):
        labels = (rng.random(n) < share).astype(int)
        if 0 < labels.sum() < n:
            logit = np.log(share) + rng.exponential(1.0, n)
            p_values.append(score_test(binary(logit), labels).log_p)
    rejected = (np.exp(p_values) <= 0.05).mean()
    assert 0.012 <= rejected <= 0.088  # 300 sets: 0.05 ± 3 standard errors


def test_a_leak_that_never_changes_the_likeliest_label_is_found():
    rng = np.random.default_rng(3)
    labels = (rng.random(500) < 0.1).astype(int)
    logit = -3 + 0.7 * rng.standard_normal(500) + 0.7 * labels
    p = binary(logit)
    assert (p[:, 0] > 0.5).mean() > 0.99
    assert score_test(p, labels).log_above < np.log(1e-4)
    turned = score_test(p[:, ::-1], labels)
    assert turned.log_below < np.log(1e-4)
    assert turned.z < 0


def test_copies_do_not_count_as_so_many_examples():
    rng = np.random.default_rng(4)
    rejected = {"examples": 0, "units": 0}
    for _ in range(300):
        logit, labels = np.repeat(rng.standard_normal(60), 5), np.repeat(rng.integers(0, 2, 60), 5)
        unit = np.repeat(np.arange(60), 5)
        rejected["examples"] += score_test(binary(logit), labels).log_p < np.log(0.05)
        rejected["units"] += score_test(binary(logit), labels, units=unit).log_p < np.log(0.05)
    assert rejected["examples"] > 75
    assert rejected["units"] <= 27


def test_units_of_one_example_change_nothing_and_equal_predictions_say_nothing():
    rng = np.random.default_rng(5)
    p, labels = binary(rng.standard_normal(80)), rng.integers(0, 2, 80)
    assert score_test(p, labels, units=np.arange(80)) == score_test(p, labels)
    assert score_test(np.full((50, 2), 0.5), rng.integers(0, 2, 50)).log_p == 0
    assert choice_score_test(np.full(100, 0.5), rng.integers(0, 2, 50), [2] * 50).log_p == 0
    assert score_test(np.zeros((0, 2)), np.zeros(0, int)).log_p == 0


def test_weights_that_follow_the_label_keep_the_level():
    rng = np.random.default_rng(6)
    rejected = 0
    for _ in range(300):
        labels = (rng.random(200) < 0.3).astype(int)
        weights = np.where(labels == 1, 3.0, 0.5) * rng.pareto(3, 200)
        logit = rng.standard_normal(200)
        rejected += score_test(binary(logit), labels, weights=weights).log_p < np.log(0.05)
    assert rejected <= 27


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match="one row per example"):
        score_test([[0.5, 0.5]], [0, 1])
    with pytest.raises(ValueError, match="columns"):
        score_test([[0.5, 0.5]], [2])
    with pytest.raises(ValueError, match="a value per choice"):
        choice_score_test([0.5, 0.5], [0], [3])


def test_probabilities_that_are_no_numbers_and_weights_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="found nan"):
        score_test([[np.nan, 0.1], [0.8, 0.2]], [0, 1])
    with pytest.raises(ValueError, match="not all be 0"):
        score_test([[0.9, 0.1], [0.8, 0.2]], [0, 1], weights=[0, 0])


@pytest.mark.parametrize("sizes", [[60] + [1] * 40, [90] + [1] * 10, [48, 48] + [1] * 4])
def test_units_of_most_examples_keep_the_level(sizes):
    rng, units = np.random.default_rng(1), np.repeat(np.arange(len(sizes)), sizes)
    probabilities, options = np.tile([0.7, 0.3], len(units)), np.full(len(units), 2)
    rejected = 0
    for _ in range(100):
        gold = rng.integers(0, 2, len(sizes))[units]
        rejected += choice_score_test(probabilities, gold, options, units=units).log_p <= np.log(0.05)
    assert rejected <= 5  # half of them where units are compared with a mean that they are most of
