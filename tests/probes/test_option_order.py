from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import chi2, chisquare

import cuecard as cc
from cuecard.data.demo import demo_choice
from cuecard.probes.option_order import option_order, stuart_maxwell
from cuecard.report.sections import section_view


def test_counts_shares_and_accuracy_are_given_by_position():
    found = option_order([0, 0, 1, 2, 0, -1], [0, 1, 1, 2, 2, 2])
    assert found.n == 5
    assert found.table["key"].to_list() == [1, 2, 2]
    assert found.table["answers"].to_list() == [3, 1, 1]
    assert found.table["accuracy"].to_list() == [1, 0.5, 0.5]


def test_chi_square_is_that_of_scipy_against_the_keys_distribution():
    rng = np.random.default_rng(0)
    key = rng.integers(0, 4, 400)
    answers = rng.choice(4, 400, p=[0.4, 0.2, 0.2, 0.2])
    found = option_order(answers, key)
    expected = chisquare(np.bincount(answers), np.bincount(key))
    assert found.statistic == pytest.approx(expected.statistic)
    assert 10**found.log10_p == pytest.approx(expected.pvalue)


def test_two_positions_give_mcnemars_chi_square():
    both = np.array([[30, 12], [4, 20]])
    statistic, log_p = stuart_maxwell(both)
    assert statistic == pytest.approx((12 - 4) ** 2 / (12 + 4))
    assert np.exp(log_p) == pytest.approx(chi2.sf(4, 1))


def test_a_perfect_model_has_no_preference():
    key = np.arange(100) % 4
    found = option_order(key, key)
    assert (found.statistic, found.log10_p) == (0, 0)
    assert found.paired_log10_p == 0


def test_the_paired_test_keeps_its_level_and_sees_what_the_plain_one_misses():
    rng = np.random.default_rng(1)
    plain, paired, power = 0, 0, [0, 0]
    for _ in range(400):
        key = rng.integers(0, 4, 300)
        knows = rng.random(300) < 0.7
        blind = option_order(np.where(knows, key, rng.integers(0, 4, 300)), key)
        # A guess at random is no preference where the key is random too.
        plain += blind.log10_p < np.log10(0.05)
        paired += blind.paired_log10_p < np.log10(0.05)
        leaning = option_order(np.where(knows, key, rng.choice(4, 300, p=[0.45, 0.2, 0.2, 0.15])), key)
        power[0] += leaning.log10_p < np.log10(0.05)
        power[1] += leaning.paired_log10_p < np.log10(0.05)
    assert plain / 400 < 0.02
    assert paired / 400 <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 400)
    assert power[1] > 1.3 * power[0]


def test_one_answer_where_the_key_never_is_proves_no_preference():
    key = np.arange(200) % 3
    answers = np.where(np.arange(200) == 7, 3, key)
    found = option_order(answers, key)
    assert (found.statistic, found.log10_p) == (None, None)
    summary = found.summary()
    assert summary["p_value"] == summary["paired_p_value"] > 0.05
    assert summary["p_value_of"] == "stuart-maxwell"
    assert (summary["statistic"], summary["log10_p"]) == (None, None)


def test_many_answers_where_the_key_never_is_are_a_preference():
    key = np.arange(200) % 3
    summary = option_order(np.where(np.arange(200) % 4 == 0, 3, key), key).summary()
    assert 0 < summary["p_value"] < 1e-6


def test_the_p_value_is_the_chi_squares_where_it_is_defined():
    found = option_order([0, 0, 1, 2, 0, -1], [0, 1, 1, 2, 2, 2])
    assert found.log10_p is not None
    assert found.summary()["p_value"] == 10**found.log10_p
    assert found.summary()["p_value_of"] == "chi-square"


def test_nothing_answered_is_refused():
    with pytest.raises(ValueError, match="no answered example"):
        option_order([-1, -1], [0, 1])


def test_a_model_that_prefers_the_first_choice_is_told_from_one_that_does_not():
    demo = demo_choice(600, seed=0, cues=None)
    keys = demo.instances.test.table.filter(pl.col("label") == "right").select(
        "example_id", prediction="position"
    )
    first = keys.with_columns(
        prediction=pl.when(pl.int_range(pl.len()) % 3 == 0).then(0).otherwise(pl.col("prediction"))
    )
    card = cc.probe(demo.instances, {"even": keys, "first": first}, only=["option_order"], features=("word",))
    titles = [finding.title for finding in card.findings if finding.section == "option_order"]
    assert "first prefers choice 1" in titles
    assert "even prefers no position" in titles
    assert section_view(card, "option_order").tables[0].total == 8
