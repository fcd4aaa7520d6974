"""The doubly robust accuracy: right if weights or outcome model are right, and unbiased where weights alone are not."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration.robust import MODELS, debiased_coverage

from cuecard.stats.counted_forest import Forest
from cuecard.stats.scores.doubly_robust import doubly_robust_accuracy, expected_correctness


def leaky(n: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return a binary leak, labels that go with it, P(label | leak), and where a model that follows it is correct."""
    rng = np.random.default_rng(seed)
    leak = rng.integers(0, 2, n)
    yes = np.where(leak == 1, 0.8, 0.2)
    gold = (rng.random(n) < yes).astype(np.int64)
    follows = rng.random(n) < 0.5
    answer = np.where(follows, leak, np.where(rng.random(n) < 0.9, gold, 1 - gold))
    return leak, gold, np.column_stack([1 - yes, yes]), answer == gold


#: 0.5 · P(leak = gold) + 0.5 · 0.9 where leak and label are independent.
TRUTH = 0.5 * 0.5 + 0.5 * 0.9


def test_right_weights_make_up_for_a_wrong_outcome_model_and_the_reverse() -> None:
    leak, gold, probabilities, correct = leaky(60_000, 0)
    weights = 1 / probabilities[np.arange(len(gold)), gold]
    exact = np.array([[0.5 * (leak == y) + 0.5 * 0.9] for y in (0, 1)]).reshape(2, -1).T
    nonsense = np.full((len(gold), 2), 0.1)
    for w, m in ((weights, nonsense), (np.ones(len(gold)), exact)):
        found = doubly_robust_accuracy(correct, gold, w, [0.5, 0.5], m)
        assert found.accuracy == pytest.approx(TRUTH, abs=0.01)
    assert doubly_robust_accuracy(
        correct, gold, np.ones(len(gold)), [0.5, 0.5], nonsense
    ).accuracy == pytest.approx(correct.mean())
    assert correct.mean() > TRUTH + 0.1


def test_the_formula_by_hand() -> None:
    correct, gold, weights = [1, 0, 1], [0, 1, 1], [2.0, 1.0, 1.0]
    expected = [[0.9, 0.2], [0.6, 0.4], [0.5, 0.7]]
    found = doubly_robust_accuracy(correct, gold, weights, [0.4, 0.6], expected)
    outcome = [0.4 * a + 0.6 * b for a, b in expected]
    residual = [1 - 0.9, 0 - 0.4, 1 - 0.7]
    by_hand = sum(outcome) / 3 + sum(w / (4 / 3) * r for w, r in zip(weights, residual, strict=True)) / 3
    assert found.accuracy == pytest.approx(by_hand)
    assert found.change == pytest.approx(by_hand - 2 / 3)
    assert found.low < found.accuracy < found.high


def test_expected_correctness_is_learnt_per_label_from_other_examples() -> None:
    leak, gold, _, correct = leaky(4000, 1)
    found = expected_correctness(correct, gold, leak, n_labels=2, folds=5, forest=Forest(30, depth=8))
    for place in (0, 1):
        for label in (0, 1):
            here = (leak == place) & (gold == label)
            assert found[leak == place, label].mean() == pytest.approx(correct[here].mean(), abs=0.02)
    # An example's own correctness does not move its own expectation.
    flipped = correct.copy()
    flipped[0] = not flipped[0]
    again = expected_correctness(flipped, gold, leak, n_labels=2, folds=5, forest=Forest(30, depth=8))
    assert again[0] == pytest.approx(found[0], abs=1e-12)


def test_a_label_too_rare_to_learn_from_gets_the_share_of_all() -> None:
    found = expected_correctness(
        [1, 0, 1, 1], [0, 0, 0, 1], [0, 1, 0, 1], n_labels=2, folds=4, forest=Forest(5, depth=8)
    )
    assert found[:, 1].tolist() == [0.75] * 4


def test_weights_alone_over_correct_a_follower_and_the_doubly_robust_estimate_does_not() -> None:
    found = debiased_coverage({"follower": MODELS["follower"]}, n=1500, runs=8, trees=40)["follower"]
    assert found["weighted"].bias < -0.015
    assert abs(found["doubly_robust"].bias) < 0.01
    assert found["doubly_robust"].coverage >= 7 / 8
    assert found["doubly_robust"].width < found["weighted"].width


def test_intervals_cover_models_that_follow_ignore_or_oppose_the_leak_in_small_test_sets() -> None:
    some = {name: MODELS[name] for name in ("follower", "reader", "averse")}
    for each in debiased_coverage(some, n=300, runs=15, trees=40, seed=5).values():
        assert each["doubly_robust"].coverage >= 13 / 15
        assert abs(each["doubly_robust"].bias) < 0.02
        assert each["doubly_robust"].width < 0.25


def test_the_leak_is_as_frequent_as_the_mean_over_labels_has_it() -> None:
    # Label 0 has the leaks 0, 0, 1 and label 1 the leak 1: without the leak, leak 1 has the share (1/3 + 1) / 2.
    gold, leak = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    expected = np.where(leak[:, None] == 1, [0.9, 0.9], [0.3, 0.3])
    found = doubly_robust_accuracy(expected[:, 0], gold, np.ones(4), [0.75, 0.25], expected, even_leak=True)
    assert found.accuracy == pytest.approx(0.3 * (1 / 3) + 0.9 * (2 / 3))


def test_examples_that_share_a_text_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    gold, right = np.tile([0, 1], 100), np.repeat(rng.random(40) < 0.6, 5)
    m = np.full((200, 2), 0.6)
    alone = doubly_robust_accuracy(right, gold, np.ones(200), [0.5, 0.5], m)
    shared = doubly_robust_accuracy(
        right, gold, np.ones(200), [0.5, 0.5], m, units=[np.repeat(np.arange(40), 5)]
    )
    assert shared.accuracy == alone.accuracy
    assert shared.effective_n == pytest.approx(alone.effective_n / 5, rel=0.05)


def test_lengths_and_weights_are_checked() -> None:
    with pytest.raises(ValueError, match="one entry per example"):
        doubly_robust_accuracy([1, 0], [0], [1, 1], [0.5, 0.5], [[0.5, 0.5]] * 2)
    with pytest.raises(ValueError, match="not be negative"):
        doubly_robust_accuracy([1, 0], [0, 1], [-1, 1], [0.5, 0.5], [[0.5, 0.5]] * 2)
