"""Design effects: what examples that share a text are worth, by hand, by simulation and for p-values of any size."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cuecard.stats.models.paired import (
    deflated_log10_p,
    deflated_tail,
    design_effects,
    intraclass_correlation,
    two_sided_design_effects,
    widened,
)


def test_correlation_is_bounded_from_above_and_nil_without_repeats() -> None:
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(400), 4)
    effect, noise = rng.normal(size=400)[units], rng.normal(size=1600)
    for strength in (0.0, 0.5):
        residuals = np.sqrt(strength) * effect + np.sqrt(1 - strength) * noise
        assert strength <= intraclass_correlation(residuals, units) <= strength + 0.1
    assert intraclass_correlation(noise, np.arange(1600)) == 0.0
    assert intraclass_correlation([1, 1, -1], [0, 0, 1]) == 1.0  # one unit cannot show independence


def test_effects_are_the_variance_by_that_of_independent_examples() -> None:
    units = np.repeat(np.arange(200), 5)
    contrasts = np.column_stack([np.full(1000, 1e-3), np.where(units < 100, 2e-3, -2e-3)])
    rng = np.random.default_rng(1)
    drawn = (rng.random((3000, 200)) < 0.5)[:, units] - 0.5
    alone = 0.25 * (contrasts**2).sum(axis=0)
    found = design_effects(drawn[0], contrasts, [units])
    np.testing.assert_allclose(found, (drawn @ contrasts).var(axis=0) / alone, rtol=0.1)
    # A contrast within units is not called more certain than one of independent examples.
    within = np.tile([1.0, -1.0, 0.0, 0.0, 0.0], 200)[:, None]
    assert design_effects(drawn[0], within, [units]).tolist() == [1.0]


def test_units_that_push_two_groups_apart_count_although_correctness_does_not_correlate() -> None:
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(300), 6)
    usual = np.tile([True, True, True, False, False, False], 300)
    says_usual = (rng.random(300) < 0.5)[units]
    right = says_usual == usual  # one answer per unit: right on one half of it
    contrast = np.where(usual, 1 / usual.sum(), -1 / (~usual).sum())[:, None]
    assert design_effects(right - right.mean(), contrast, [units])[0] == 1.0
    assert two_sided_design_effects(right, contrast, [units])[0] == pytest.approx(6, rel=0.1)


def test_the_difference_under_test_is_no_correlation_within_units() -> None:
    rng = np.random.default_rng(3)
    units = np.repeat(np.arange(200), 3)
    usual = rng.random(600) < 0.7
    # A model that follows a word is right if it has its usual label: independent noise apart from that.
    right = rng.random(600) < np.where(usual, 0.95, 0.05)
    contrast = np.where(usual, 1 / usual.sum(), -1 / (~usual).sum())[:, None]
    assert two_sided_design_effects(right, contrast, [units])[0] < 1.5


def test_p_values_follow_the_quantiles_of_scipy() -> None:
    p = np.array([0.5, 0.01, 1e-20])
    expected = 2 * stats.norm.sf(stats.norm.isf(p / 2) / np.sqrt(3))
    np.testing.assert_allclose(10 ** deflated_log10_p(np.log10(p), 3.0), expected, rtol=1e-9)
    expected = stats.norm.sf(stats.norm.isf(p) / np.sqrt(3))
    np.testing.assert_allclose(10 ** deflated_log10_p(np.log10(p), 3.0, sides=1), expected, rtol=1e-9)
    assert deflated_log10_p([-762.0, np.nan], [1.0, 2.0])[0] == -762.0
    assert -400 < float(deflated_log10_p(-762.0, 2.0)) < -370
    assert 10 ** deflated_tail(-3.0, 2.0, 2) == pytest.approx(stats.chi2.sf(stats.chi2.isf(1e-3, 2) / 2, 2))
    assert deflated_tail(-3.0, 1.0, 2) == -3.0


def test_intervals_are_widened_about_their_value() -> None:
    assert widened([0.5, 0.5], [0.4, 0.7], [4.0, 1.0]).tolist() == pytest.approx([0.3, 0.7])
