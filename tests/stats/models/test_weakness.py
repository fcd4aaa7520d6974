"""Accuracy gaps against scipy; weakness against a planted truth and against pure noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import fisher_exact

from cuecard.stats.models.weakness import accuracy_gaps, model_weakness


def _planted(rng: np.random.Generator, gaps: list[float], rows: int = 2000) -> tuple[Any, Any]:
    """Disjoint cues of equal size; accuracy 0.7 elsewhere."""
    cue = rng.integers(0, 2 * len(gaps), rows)
    has = cue[:, None] == np.arange(len(gaps))
    return rng.random(rows) < 0.7 + has @ np.array(gaps), has


def _true_weakness(gaps: list[float]) -> float:
    share = 1 / (2 * len(gaps))
    mean = sum(gaps) * share
    return sum(abs(gap - (mean - share * gap) / (1 - share)) for gap in gaps)


def test_gaps_by_hand_dense_and_sparse() -> None:
    correct = np.array([1, 1, 0, 1, 0, 0, 1, 1])
    has = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]])
    for given in (has, sparse.csc_matrix(has)):
        result = accuracy_gaps(correct, given)
        assert result.gap[0] == pytest.approx(2 / 3 - 3 / 5)
        assert (result.with_cue[0], result.without_cue[0]) == (3, 5)
        assert result.low[0] < result.gap[0] < result.high[0]
        assert np.isnan(result.gap[1])


def test_p_agrees_with_fisher_for_balanced_tables_and_its_level_holds() -> None:
    has = np.repeat([True, False], 20)
    correct = np.concatenate([np.repeat([1, 0], [17, 3]), np.repeat([1, 0], [9, 11])])
    ours = 10 ** accuracy_gaps(correct, has[:, None]).log10_p[0]
    assert ours == pytest.approx(fisher_exact([[17, 3], [9, 11]])[1], rel=1e-9)
    rng = np.random.default_rng(0)
    member = rng.random((300, 400)) < 0.2
    p_values = 10 ** accuracy_gaps(rng.random(300) < 0.7, member).log10_p
    assert np.mean(p_values <= 0.05) <= 0.05 + 3 * np.sqrt(0.0475 / 400)


def test_gap_interval_covers_the_planted_gap() -> None:
    rng = np.random.default_rng(1)
    covered = []
    for _ in range(300):
        has = rng.random(300) < 0.1
        correct = rng.random(300) < np.where(has, 0.9, 0.7)
        result = accuracy_gaps(correct, has[:, None])
        covered.append(result.low[0] <= 0.2 <= result.high[0])
    assert abs(np.mean(covered) - 0.95) < 0.045


def test_noise_alone_has_a_raw_weakness_but_no_corrected_one() -> None:
    rng = np.random.default_rng(2)
    raw, corrected, covered = [], [], 0
    for i in range(150):
        correct, has = _planted(rng, [0.0] * 10, rows=1000)
        result = model_weakness(correct, has, draws=60, seed=i)
        raw.append(result.weakness)
        corrected.append(result.corrected)
        covered += result.low == 0.0
        assert result.noise == pytest.approx(result.weakness - result.corrected)
    assert np.mean(raw) > 0.35
    assert abs(np.mean(corrected)) < 4 * np.std(corrected) / np.sqrt(150)
    assert covered / 150 >= 0.93


def test_planted_weakness_is_recovered_without_the_noise_and_covered() -> None:
    rng = np.random.default_rng(3)
    gaps = [0.25, -0.3, 0.2, -0.25, 0.0, 0.0, 0.0, 0.0]
    truth = _true_weakness(gaps)
    raw, corrected, covered = [], [], 0
    for i in range(100):
        correct, has = _planted(rng, gaps)
        result = model_weakness(correct, has, draws=60, seed=i)
        raw.append(result.weakness)
        corrected.append(result.corrected)
        covered += result.low <= truth <= result.high
    assert np.mean(raw) > truth + 0.05
    assert truth - 0.08 < np.mean(corrected) <= truth + 3 * np.std(corrected) / np.sqrt(100)
    assert covered / 100 >= 0.93


def test_correction_equals_real_halving() -> None:
    rng = np.random.default_rng(4)
    correct, has = _planted(rng, [0.05, -0.1, 0.0, 0.02, 0.08], rows=3000)
    half = (rng.permuted(np.tile(np.arange(3000), (1500, 1)), axis=1) < 1500).astype(float)

    def gaps(weights: Any) -> Any:
        right, member = correct.astype(float), has.astype(float)
        with_cue, without_cue = weights @ member, weights @ (1 - member)
        return (weights * right) @ member / with_cue - (weights * right) @ (1 - member) / without_cue

    one, two = gaps(half), gaps(1 - half)
    crossed = np.sum(one * np.sign(two) + two * np.sign(one), axis=1) / 2
    error = np.std(crossed) / np.sqrt(1500)
    assert model_weakness(correct, has, draws=2).corrected == pytest.approx(
        np.mean(crossed), abs=4 * error + 0.004
    )


def test_bad_input_is_one_clear_sentence() -> None:
    with pytest.raises(ValueError, match="one row per instance"):
        accuracy_gaps([1, 0], np.ones((3, 1)))
    with pytest.raises(ValueError, match="only true and false"):
        accuracy_gaps([1, 5], np.ones((2, 1)))
    with pytest.raises(ValueError, match="vector"):
        model_weakness([[1]], np.ones((1, 1)))
    with pytest.raises(ValueError, match="draws"):
        model_weakness([1, 0], np.ones((2, 1)), draws=1)
