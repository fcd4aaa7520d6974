"""The flattened distribution against real resampling; its test by level, power and scipy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import entropy

from cuecard.stats.models.weakness import (
    _likeliest_flat_rows,
    flattened_distribution,
)


def _even_model(rng: np.random.Generator, gold: Any, accuracy: float) -> Any:
    wrong = (gold + rng.integers(1, 3, len(gold))) % 3
    return np.where(rng.random(len(gold)) < accuracy, gold, wrong)


def test_draws_are_distributed_like_sampling_rows() -> None:
    rng = np.random.default_rng(0)
    gold = np.repeat([0, 1, 2], [60, 30, 12])
    predicted = _even_model(rng, gold, 0.6)
    result = flattened_distribution(predicted, gold, draws=5000)
    assert result.per_label == 12
    real = []
    for _ in range(5000):
        rows = np.concatenate([rng.choice(np.flatnonzero(gold == c), 12, replace=False) for c in range(3)])
        real.append(np.bincount(predicted[rows], minlength=3) / 36)
    np.testing.assert_allclose(result.draws.mean(0), np.mean(real, axis=0), atol=0.006)
    np.testing.assert_allclose(np.cov(result.draws.T), np.cov(np.array(real).T), atol=4e-4)
    np.testing.assert_allclose(result.share, np.mean(real, axis=0), atol=0.005)


def test_a_perfect_model_is_flat_and_a_one_label_model_is_as_far_as_can_be() -> None:
    gold = np.repeat([0, 1, 2], [50, 30, 20])
    perfect = flattened_distribution(gold, gold)
    np.testing.assert_allclose(perfect.share, 1 / 3)
    assert perfect.amplification == pytest.approx(0.0, abs=1e-12)
    assert perfect.p_value == pytest.approx(1.0)
    stuck = flattened_distribution(np.zeros(100, dtype=int), gold)
    assert stuck.amplification == pytest.approx(np.log2(3))
    assert stuck.log10_p == pytest.approx(-4.0)  # no table of 9,999 drawn under the null is as far off


def test_amplification_equals_scipy() -> None:
    rng = np.random.default_rng(1)
    gold, predicted = np.repeat([0, 1, 2], 40), rng.integers(0, 3, 120)
    result = flattened_distribution(predicted, gold)
    assert result.amplification == pytest.approx(entropy(result.share, np.full(3, 1 / 3), base=2))


@pytest.mark.parametrize("sizes", [(15, 15, 15), (200, 60, 25)])
@pytest.mark.parametrize("accuracy", [0.45, 0.8])
def test_level_holds_for_a_model_that_errs_evenly(sizes: tuple[int, int, int], accuracy: float) -> None:
    rng = np.random.default_rng(2)
    gold = np.repeat([0, 1, 2], sizes)
    p_values = np.array(
        [
            flattened_distribution(
                _even_model(rng, gold, accuracy), gold, draws=1, simulations=999, seed=i
            ).p_value
            for i in range(400)
        ]
    )
    for level in (0.05, 0.2):
        assert np.mean(p_values <= level) <= level + 3 * np.sqrt(level * (1 - level) / 400)
    assert np.mean(p_values <= 0.5) > 0.3


EVEN = {
    "weak": [[0.45, 0.275, 0.275], [0.275, 0.45, 0.275], [0.275, 0.275, 0.45]],
    "good": [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]],
    "lopsided": [[0.7, 0.3, 0.0], [0.1, 0.6, 0.3], [0.2, 0.1, 0.7]],
}


@pytest.mark.parametrize("sizes", [(5, 5, 5), (5, 50, 50), (20, 200, 200)])
@pytest.mark.parametrize("rows", EVEN.values(), ids=EVEN.keys())
def test_level_holds_where_a_gold_label_has_few_instances(
    sizes: tuple[int, int, int], rows: list[list[float]]
) -> None:
    rng = np.random.default_rng(7)
    gold = np.repeat([0, 1, 2], sizes)
    p_values = []
    for i in range(400):
        table = rng.multinomial(sizes, rows)
        predicted = np.concatenate([np.repeat([0, 1, 2], row) for row in table])
        p_values.append(flattened_distribution(predicted, gold, draws=1, simulations=999, seed=i).p_value)
    for level in (0.05, 0.2):
        assert np.mean(np.array(p_values) <= level) <= level + 3 * np.sqrt(level * (1 - level) / 400)


def test_rows_fitted_to_flat_predictions_are_flat_and_likeliest() -> None:
    rng = np.random.default_rng(8)
    for labels in (2, 3, 5):
        for _ in range(20):
            table = rng.integers(0, 30, (labels, labels)) + 10 * np.eye(labels, dtype=np.int64)
            fitted = _likeliest_flat_rows(table)
            np.testing.assert_allclose(fitted.sum(axis=0), 1, atol=1e-8)
            np.testing.assert_allclose(fitted.sum(axis=1), 1, atol=1e-8)
            weights = table + 0.5 / labels
            best = (weights * np.log(fitted)).sum()
            # Moving shares around a rectangle keeps all sums, and can only make the table less likely.
            move = np.zeros((labels, labels))
            move[:2, :2] = [[1e-3, -1e-3], [-1e-3, 1e-3]]
            for moved in (fitted + move, fitted - move):
                if moved.min() > 0:
                    assert (weights * np.log(moved)).sum() < best


def test_interval_covers_the_true_share() -> None:
    rng = np.random.default_rng(3)
    gold = np.repeat([0, 1, 2], [120, 60, 40])
    rows = np.array([[0.8, 0.15, 0.05], [0.3, 0.6, 0.1], [0.25, 0.15, 0.6]])
    truth = rows.mean(0)
    covered = []
    for i in range(200):
        predicted = np.array([rng.choice(3, p=rows[c]) for c in gold])
        result = flattened_distribution(predicted, gold, draws=1, simulations=999, seed=i)
        covered.append((result.low <= truth) & (truth <= result.high))
    assert np.mean(covered) > 0.91


@pytest.mark.parametrize("sizes", [(7, 100, 16), (20, 200, 200)])
def test_interval_of_a_good_model_covers_the_true_share(sizes: tuple[int, int, int]) -> None:
    """Resampling rows without an error gives no spread: such intervals covered 59 % and 70 % of the time."""
    rng = np.random.default_rng(11)
    rows = np.full((3, 3), 0.025) + 0.925 * np.eye(3)
    gold, covered = np.repeat([0, 1, 2], sizes), []
    for i in range(150):
        predicted = np.concatenate([np.repeat([0, 1, 2], row) for row in rng.multinomial(sizes, rows)])
        result = flattened_distribution(predicted, gold, draws=1, simulations=999, seed=i)
        covered.append((result.low <= 1 / 3) & (result.high >= 1 / 3))
    assert np.mean(covered, axis=0).min() > 0.87


def test_a_planted_follower_is_detected() -> None:
    rng = np.random.default_rng(4)
    gold = np.repeat([0, 1, 2], [150, 60, 40])
    found = 0
    for i in range(60):
        predicted = np.where(rng.random(250) < 0.3, 0, _even_model(rng, gold, 0.8))
        result = flattened_distribution(predicted, gold, draws=1, simulations=999, seed=i)
        found += result.p_value <= 0.05 and result.share[0] > 1 / 3
    assert found >= 57


FOLLOWED = [
    ((5, 5, 5), 0.0),
    ((7, 100, 16), 0.0),
    ((7, 100, 16), 0.3),
    ((40, 60, 120), 0.15),
    ((40, 60, 120), 0.6),
]


@pytest.mark.parametrize(("sizes", "followed"), FOLLOWED)
def test_interval_of_the_amplification_covers_the_truth_and_reaches_zero_for_a_flat_model(
    sizes: tuple[int, int, int], followed: float
) -> None:
    rng = np.random.default_rng(9)
    gold = np.repeat([0, 1, 2], sizes)
    rows = (1 - followed) * (np.full((3, 3), 0.1) + 0.7 * np.eye(3)) + followed * np.eye(3)[[0, 0, 0]]
    truth = entropy(rows.mean(axis=0), np.full(3, 1 / 3), base=2) if followed else 0.0
    covered, from_zero, above = 0, 0, 0
    for i in range(150):
        predicted = np.concatenate([np.repeat([0, 1, 2], row) for row in rng.multinomial(sizes, rows)])
        found = flattened_distribution(predicted, gold, draws=1, simulations=999, seed=i)
        covered += found.amplification_low <= truth <= found.amplification_high
        from_zero += found.amplification_low == 0.0
        above += found.amplification > found.amplification_null
    assert covered / 150 >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 150)
    if not followed:
        assert from_zero >= 145
        assert above / 150 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 150)
    if followed == 0.6:
        assert from_zero == 0
        assert above == 150


@pytest.mark.parametrize(
    ("predicted", "gold", "options", "message"),
    [
        ([0, 1], [0], {}, "one length"),
        ([0.5, 1], [0, 1], {}, "predicted must hold label codes"),
        ([0, 1], [0, 0], {}, "no instance with the cue has gold label 1"),
        ([0, 3], [0, 1], {"label_count": 2}, "outside the 2 labels"),
        ([0, 0], [0, 0], {}, "at least two labels"),
        ([0, 1], [0, 1], {"draws": 0}, "draws"),
    ],
)
def test_bad_input_is_one_clear_sentence(
    predicted: Any, gold: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        flattened_distribution(predicted, gold, **options)
