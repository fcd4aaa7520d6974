"""Preferences given other properties: exact on small cases, level under length, power for what was planted."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.calibration.model_tests import picks
from scipy.stats import fisher_exact, norm

from cuecard.stats.given_properties import choices_given, labels_given


def test_one_stratum_is_fishers_test() -> None:
    rng = np.random.default_rng(0)
    hit, having = rng.random((40, 3)) < 0.4, rng.random((40, 3)) < 0.3
    found = labels_given(hit, np.zeros(40, dtype=int), having)
    for cue in range(3):
        a, b = having[:, cue], hit[:, cue]
        table = [[(a & b).sum(), (a & ~b).sum()], [(~a & b).sum(), (~a & ~b).sum()]]
        tails = [fisher_exact(table, side).pvalue for side in ("less", "greater")]
        assert 10 ** found.log10_p[cue] == pytest.approx(min(1.0, 2 * min(tails)))
        expected = b[a].mean() - b.mean()
        assert found.excess[cue] == pytest.approx(expected)


def test_a_model_better_at_one_label_is_in_the_null_within_labels_only() -> None:
    rng = np.random.default_rng(1)
    within, across = [], []
    for _ in range(200):
        gold = rng.integers(0, 2, 300)
        having = rng.random((300, 1)) < np.where(gold == 0, 0.4, 0.1)[:, None]
        answer = np.where(rng.random(300) < np.where(gold == 0, 0.95, 0.6), gold, 1 - gold)
        hit = (answer == 0)[:, None]
        within.append(labels_given(hit, gold, having).log10_p[0])
        across.append(labels_given(hit, np.zeros(300, dtype=int), having).log10_p[0])
    assert np.mean(np.array(within) <= np.log10(0.05)) <= 0.09
    assert np.mean(np.array(across) <= np.log10(0.05)) > 0.9


def test_nothing_to_compare_has_no_p_value() -> None:
    found = labels_given([[1, 0], [1, 0]], [0, 1], [[1, 1], [0, 1]])
    assert np.isnan(found.log10_p).all()


def test_a_cue_that_travels_with_length_is_not_followed_once_length_is_held_fixed() -> None:
    rng = np.random.default_rng(2)
    given, alone = [], []
    for _ in range(100):
        picked, examples, properties, cue = picks(rng, 400, follow=0.5, planted=0.0)
        given.append(choices_given(picked, examples, properties, cue).log10_p[0])
        alone.append(choices_given(picked, examples, properties[:, :1], cue).log10_p[0])
    assert np.mean(np.array(given) <= np.log10(0.05)) <= 0.11
    assert np.mean(np.array(alone) <= np.log10(0.05)) > 0.9


def test_a_planted_cue_is_seen_beside_length_with_its_sign() -> None:
    rng = np.random.default_rng(3)
    found = [choices_given(*picks(rng, 600, follow=0.5, planted=0.15)) for _ in range(20)]
    assert sum(float(one.log10_p[0]) < np.log10(0.05) for one in found) >= 18
    assert all(one.excess[0] > 0 for one in found)


def test_two_choices_without_properties_are_a_sign_test() -> None:
    picked = np.array([1, 0] * 30 + [0, 1] * 10, dtype=float)
    cue = np.array([1, 0] * 40, dtype=float)[:, None]
    found = choices_given(picked, np.repeat(np.arange(40), 2), np.zeros((80, 1)), cue)
    z = (30 - 20) / np.sqrt(40 / 4)
    assert 10 ** found.log10_p[0] == pytest.approx(2 * norm.sf(z), rel=1e-6)
    assert found.excess[0] == pytest.approx(0.25)


def test_what_the_properties_determine_is_never_significant() -> None:
    picked, examples, properties, _ = picks(np.random.default_rng(4), 50, follow=0.5, planted=0.0)
    longest = properties[:, 1:2]
    assert choices_given(picked, examples, longest, longest).log10_p[0] > -0.5


def test_few_examples_whose_properties_are_held_fixed_keep_the_level() -> None:
    """Of 30 questions, normal tails reject 6.8 % and more at one in a hundred: tails are Student's."""
    rng = np.random.default_rng(50_030)
    p = np.array([10 ** choices_given(*picks(rng, 30)).log10_p[0] for _ in range(400)])
    assert (p <= 0.05).mean() <= 0.08
    assert (p <= 0.01).mean() <= 0.015


def test_choices_without_any_property_are_tested_alone() -> None:
    """One example of two choices: the odds are even, and z is 1."""
    found = choices_given([1, 0], [0, 0], np.zeros((2, 0)), [[1], [0]])
    assert 10 ** found.log10_p[0] == pytest.approx(2 * norm.sf(1.0))
