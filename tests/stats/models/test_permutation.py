"""The permutation test against enumeration, Monte Carlo, its level, and planted followers."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom

from cuecard.stats.models.permutation import PermutationResult, permutation_test, permutation_tests_by_feature
from cuecard.stats.multiple_testing import SUPERSCRIPTS


def _enumerated(correct: Any, usual: Any, unusual: Any, statistic: Any, strata: Any = None) -> float:
    """p-value over all orderings of correctness inside U ∪ N (inside each stratum)."""
    pool = np.flatnonzero(usual | unusual)
    observed = statistic(correct)
    count = total = 0
    for order in permutations(range(len(pool))):
        if strata is not None and np.any(strata[pool] != strata[pool[list(order)]]):
            continue
        shuffled = correct.copy()
        shuffled[pool] = correct[pool[list(order)]]
        total += 1
        count += statistic(shuffled) >= observed - 1e-12
    return count / total


def _small(seed: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(seed)
    usual, unusual = rng.random(9) < 0.5, rng.random(9) < 0.4
    usual[0], unusual[1] = True, True
    correct = rng.random(9) < 0.5
    outside = np.flatnonzero(~(usual | unusual))
    keep = np.setdiff1d(np.arange(9), outside[2:])[:7]
    return correct[keep], usual[keep], unusual[keep]


@pytest.mark.parametrize("seed", range(6))
def test_closed_form_equals_enumeration_with_overlap(seed: int) -> None:
    correct, usual, unusual = _small(seed)
    ours = permutation_test(correct, usual, unusual)
    expected = _enumerated(correct, usual, unusual, lambda c: c[usual].sum())
    assert ours.p_value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_stratified_form_equals_enumeration_inside_strata(seed: int) -> None:
    correct, usual, unusual = _small(seed)
    strata = np.arange(len(correct)) % 2
    ours = permutation_test(correct, usual, unusual, strata=strata)
    expected = _enumerated(correct, usual, unusual, lambda c: c[usual].sum(), strata)
    assert ours.p_value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_unequal_guesses_weigh_every_ordering_by_its_probability(seed: int) -> None:
    correct, usual, unusual = _small(seed)
    chances = np.random.default_rng(seed).choice([0.2, 0.5, 0.9], len(correct))
    pool = np.flatnonzero(usual | unusual)
    reached = total = 0.0
    for chosen in combinations(pool, int(correct[pool].sum())):
        right = np.isin(pool, chosen)
        weight = float(np.prod(np.where(right, chances[pool], 1 - chances[pool])))
        total += weight
        reached += weight * (usual[list(chosen)].sum() >= correct[usual].sum())
    ours = permutation_test(correct, usual, unusual, guessing=chances)
    assert ours.p_value == pytest.approx(reached / total, rel=1e-10)
    equal = permutation_test(correct, usual, unusual, guessing=np.full(len(correct), 0.3))
    assert equal.p_value == pytest.approx(permutation_test(correct, usual, unusual).p_value, rel=1e-10)


def test_a_model_that_prefers_one_answer_is_called_biased_at_its_level_only_if_its_guesses_are_known() -> (
    None
):
    rng = np.random.default_rng(8)
    known, unknown = [], []
    for _ in range(200):
        usual = np.arange(200) < 100
        chances = np.where(usual, rng.choice([0.8, 0.5], 200, p=[0.7, 0.3]), 0.5)
        correct = rng.random(200) < chances
        known.append(permutation_test(correct, usual, ~usual, guessing=chances).p_value)
        unknown.append(permutation_test(correct, usual, ~usual).p_value)
    assert np.mean(np.array(known) <= 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
    assert np.mean(np.array(known) <= 0.5) > 0.35
    assert np.mean(np.array(unknown) <= 0.05) > 0.5


@pytest.mark.parametrize("stratified", [False, True])
def test_difference_by_shuffling_equals_enumeration(stratified: bool) -> None:
    correct, usual, unusual = _small(3)
    strata = np.arange(len(correct)) % 2 if stratified else None
    ours = permutation_test(correct, usual, unusual, reading="difference", strata=strata, draws=40_000)
    expected = _enumerated(correct, usual, unusual, lambda c: c[usual].mean() - c[unusual].mean(), strata)
    assert ours.p_value == pytest.approx(expected, abs=0.012)


def test_counting_twice_is_the_hypergeometric_of_the_doubled_list() -> None:
    correct, usual, unusual = _small(4)
    ours = permutation_test(correct, usual, unusual, reading="twice")
    size, drawn = usual.sum() + unusual.sum(), usual.sum()
    hits = correct[usual].sum() + correct[unusual].sum()
    assert ours.pool == size
    assert ours.p_value == pytest.approx(hypergeom.sf(correct[usual].sum() - 1, size, hits, drawn))


@pytest.mark.parametrize("stratified", [False, True])
def test_closed_form_equals_monte_carlo_on_a_larger_case(stratified: bool) -> None:
    rng = np.random.default_rng(5)
    usual, unusual = rng.random(500) < 0.4, rng.random(500) < 0.3
    correct = rng.random(500) < 0.6 + 0.06 * usual
    strata = rng.integers(0, 3, 500) if stratified else np.zeros(500, dtype=int)
    pool = np.flatnonzero(usual | unusual)
    count = 0
    for _ in range(4000):
        shuffled = correct.copy()
        for part in range(3):
            inside = pool[strata[pool] == part]
            shuffled[inside] = rng.permutation(correct[inside])
        count += shuffled[usual].sum() >= correct[usual].sum()
    ours = permutation_test(correct, usual, unusual, strata=strata).p_value
    assert ours == pytest.approx(count / 4000, abs=4 * np.sqrt(0.25 / 4000))


@pytest.mark.parametrize("reading", ["union", "difference"])
@pytest.mark.parametrize("stratified", [False, True])
def test_level_holds_for_an_unbiased_model_with_overlapping_sets(reading: Any, stratified: bool) -> None:
    rng = np.random.default_rng(6)
    p_values = []
    for i in range(300):
        usual, unusual = rng.random(300) < 0.4, rng.random(300) < 0.4
        usual[:2], unusual[:2] = True, True
        labels = rng.integers(0, 3, 300)
        correct = rng.random(300) < np.array([0.5, 0.7, 0.9])[labels]
        strata = labels if stratified else None
        p_values.append(
            permutation_test(
                correct, usual, unusual, strata=strata, reading=reading, draws=399, seed=i
            ).p_value
        )
    for level in (0.01, 0.05, 0.2, 0.5):
        share = np.mean(np.array(p_values) <= level)
        assert share <= level + 3 * np.sqrt(level * (1 - level) / 300)
    assert np.mean(np.array(p_values) <= 0.5) > 0.35


def test_a_model_that_is_merely_better_at_one_class_is_called_biased_only_without_strata() -> None:
    rng = np.random.default_rng(7)
    labels = rng.integers(0, 2, 4000)
    usual = rng.random(4000) < np.where(labels == 0, 0.6, 0.2)
    unusual = ~usual
    plain, stratified = [], []
    for _ in range(60):
        correct = rng.random(4000) < np.where(labels == 0, 0.9, 0.7)
        plain.append(permutation_test(correct, usual, unusual).log10_p)
        stratified.append(permutation_test(correct, usual, unusual, strata=labels).p_value)
    assert max(plain) < -3
    assert np.mean(np.array(stratified) <= 0.05) <= 0.05 + 3 * np.sqrt(0.0475 / 60)


def test_a_planted_follower_is_found_with_the_power_that_its_effect_gives() -> None:
    # Follows the cue in 20 % of cases, else right with 0.7: accuracy 0.76 on U and 0.56 on N. With 200 + 200
    # instances the two-sample power at 5 % one-sided is 0.996 by the normal formula.
    rng = np.random.default_rng(8)
    usual = np.arange(400) < 200
    found = 0
    for _ in range(200):
        follows = rng.random(400) < 0.2
        correct = np.where(follows, usual, rng.random(400) < 0.7)
        found += permutation_test(correct, usual, ~usual).p_value <= 0.05
    assert found / 200 >= 0.97


def test_p_far_below_the_smallest_float_prints_correctly() -> None:
    correct = np.concatenate([np.ones(2000), np.zeros(2000)])
    usual = correct.astype(bool)
    result = permutation_test(correct, usual, ~usual)
    assert result.p_value == 0.0
    assert -1210 < result.log10_p < -1190
    exponent = int(np.floor(result.log10_p))
    mantissa, written = result.p_text.split("×10")
    assert float(mantissa) == pytest.approx(10 ** (result.log10_p - exponent), abs=0.051)
    assert written == str(exponent).translate(SUPERSCRIPTS)


@pytest.mark.parametrize(
    ("log10_p", "text"),
    [(-762.0, "1.0×10⁻⁷⁶²"), (-762.0 + np.log10(4.2), "4.2×10⁻⁷⁶²"), (-9.0001, "1.0×10⁻⁹"), (-1.5, "0.032")],
)
def test_p_text_is_what_people_read(log10_p: float, text: str) -> None:
    assert PermutationResult("union", log10_p, 1, 1, 2, 1.0, 0.0, 0.0, 1.0).p_text == text


@pytest.mark.parametrize("stratified", [False, True])
def test_each_feature_gets_the_test_it_would_get_alone(stratified: bool) -> None:
    rng = np.random.default_rng(9)
    has = rng.random((600, 12)) < 0.2
    labels = rng.integers(0, 3, 600)
    usual = has & (labels[:, None] == np.arange(12) % 3)
    unusual = has & ~usual
    correct = rng.random(600) < 0.7
    strata = labels if stratified else None
    together = permutation_tests_by_feature(correct, usual, unusual, strata=strata)
    for j in range(12):
        alone = permutation_test(correct, usual[:, j], unusual[:, j], strata=strata)
        assert together.log10_p[j] == pytest.approx(alone.log10_p, abs=1e-12)
        assert together.usual_accuracy[j] == pytest.approx(alone.usual_accuracy)
        assert together.unusual_accuracy[j] == pytest.approx(alone.unusual_accuracy)
        assert (together.usual[j], together.unusual[j]) == (alone.usual, alone.unusual)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0], [1, 0], [1]), "one length"),
        (([2, 0], [1, 0], [0, 1]), "correct must hold only true and false"),
        (([1, np.nan], [1, 0], [0, 1]), "correct must hold only true and false"),
        (([1, 0], [0, 0], [0, 1]), "at least one usual"),
        (([[1], [0]], [1, 0], [0, 1]), "vector"),
    ],
)
def test_bad_input_is_one_clear_sentence(arguments: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        permutation_test(*arguments)


def test_unknown_reading_and_short_strata_are_refused() -> None:
    with pytest.raises(ValueError, match="'union', 'twice' or 'difference'"):
        permutation_test([1, 0], [1, 0], [0, 1], reading="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="strata"):
        permutation_test([1, 0], [1, 0], [0, 1], strata=[1])
