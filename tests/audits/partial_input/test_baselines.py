from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from cuecard.audits.partial_input.guesses import (
    Guesses,
    guess_labels,
    guess_rows,
    guess_tied_labels,
)
from cuecard.audits.partial_input.judging import interval, judged, measured, pointwise_information
from cuecard.audits.partial_input.rules import length_rules, majority, null_probability
from cuecard.data import Examples
from small_sets import choice_instances, pair_instances


def label_guesses(answer: np.ndarray, gold: np.ndarray, k: int) -> Guesses:
    ones = np.eye(k)[answer]
    return guess_labels(ones, gold)


def test_the_longest_choice_wins_by_characters_and_ties_share_the_hit():
    data = choice_instances(
        [
            ("train", "q", ["a b c", "abcdefgh", "x"], 1),  # more characters beat more words
            ("train", "q", ["same", "four", "x"], 0),  # two tied, one of them right
            ("train", "q", ["same", "four", "x"], 2),  # the right one is not among the tied
            ("train", "q", ["one", "two", "six"], 2),  # all tied
        ]
    )
    examples = Examples(data)
    longest = length_rules(examples, np.arange(4))["longest"]
    assert longest.score.tolist() == [1, 0.5, 0, 1 / 3]
    assert longest.named.tolist() == [1, 2, 2, 3]
    assert longest.answer.tolist() == [1, 0, 0, 0]
    shortest = length_rules(examples, np.arange(4))["shortest"]
    assert shortest.score.tolist() == [0, 0, 1, 1 / 3]


def test_examples_with_different_numbers_of_choices_keep_their_own_rows():
    data = choice_instances(
        [
            ("train", "q", ["aa", "b"], 0),
            ("train", "r", ["a", "bb", "ccc", "d"], 2),
            ("test", "s", ["x", "y"], 1),
        ]
    )
    examples = Examples(data)
    assert examples.gold.tolist() == [0, 2, 1]
    assert examples.options.tolist() == [2, 4, 2]
    assert examples.rows(np.array([2, 0])).tolist() == [6, 7, 0, 1]
    assert length_rules(examples, np.array([1, 0]))["longest"].score.tolist() == [1, 1]


def test_majority_is_learned_from_train_and_scored_on_test():
    data = pair_instances(
        [("train", "p", "h", "b")] * 3
        + [("train", "p", "h", "a")]
        + [("test", "p", "h", "a")] * 2
        + [("test", "p", "h", "b")]
    )
    examples = Examples(data)
    guesses = majority(examples, np.arange(4), np.arange(4, 7))
    assert guesses.score.tolist() == [0, 0, 1]
    np.testing.assert_allclose(
        null_probability(examples, np.arange(4), np.arange(4, 7)), [1 / 3, 1 / 3, 2 / 3]
    )


def test_the_p_value_of_a_rule_with_ties_is_that_of_enumerating_all_answer_keys():
    sizes, margins = np.array([2, 3, 4, 3]), np.array([1.0, 0, 2, 2, 1, 3, 1, 1, 1, 5, 5, 5])
    starts = np.cumsum(sizes) - sizes
    gold = np.array([0, 1, 0, 2])
    line = measured("rule", "content-blind", guess_rows(margins, gold, sizes), gold, grouped=True)
    named = [margins[s : s + k] == margins[s : s + k].max() for s, k in zip(starts, sizes, strict=True)]
    hits = np.array(
        [sum(n[g] for n, g in zip(named, key, strict=True)) for key in product(*map(range, sizes))]
    )
    seen = sum(n[g] for n, g in zip(named, gold, strict=True))
    expected = min(1, 2 * min((hits >= seen).mean(), (hits <= seen).mean()))
    assert line.p_value == pytest.approx(expected)
    assert line.chance == pytest.approx((1 / sizes).mean())
    assert line.accuracy == pytest.approx(np.mean([1, 1 / 2, 1, 1 / 3]))


def test_above_chance_is_tested_against_always_naming_the_commonest_label():
    gold = np.repeat([0, 1], [60, 40])
    answer = np.where(np.arange(100) % 5 == 0, 1 - gold, gold)
    line = measured("x", "partial", label_guesses(answer, gold, 2), gold, grouped=False)
    assert line.chance == 0.6
    assert line.accuracy == 0.8
    assert line.hits_p_value == pytest.approx(2 * binom.sf(79, 100, 0.6))
    assert line.direction == "above"


def test_a_guess_that_only_spreads_over_the_labels_is_not_below_chance():
    rng = np.random.default_rng(0)
    gold = np.repeat([0, 1, 2], [600, 200, 200])
    line = measured("x", "partial", label_guesses(rng.integers(0, 3, 1000), gold, 3), gold, grouped=False)
    assert line.accuracy < 0.45 < line.chance
    assert line.p_value > 0.05
    assert line.luck == pytest.approx(1 / 3, abs=0.03)


def test_a_guess_that_avoids_the_right_label_is_below_chance():
    gold = np.repeat([0, 1, 2], 100)
    line = measured("x", "partial", label_guesses((gold + 1) % 3, gold, 3), gold, grouped=False)
    assert line.direction == "below"
    assert line.log10_p < -40


@pytest.mark.parametrize("grouped", [False, True])
def test_under_chance_the_test_rejects_at_most_its_level(grouped):
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(1500):
        if grouped:
            sizes = rng.integers(2, 5, 60)
            gold = rng.integers(0, sizes)
            guesses = guess_rows(rng.integers(0, 3, sizes.sum()).astype(float), gold, sizes)
        else:
            gold = rng.choice(3, 80, p=[0.5, 0.3, 0.2])
            guesses = label_guesses(rng.choice(3, 80, p=[0.4, 0.4, 0.2]), gold, 3)
        rejected += measured("x", "partial", guesses, gold, grouped=grouped).p_value <= 0.05
    assert rejected / 1500 <= 0.05 + 2.6 * np.sqrt(0.05 * 0.95 / 1500)


def test_intervals_of_scores_with_ties_are_no_narrower_than_without():
    whole = interval(np.array([1.0] * 30 + [0.0] * 70))
    tied = interval(np.array([1.0] * 29 + [0.5] * 2 + [0.0] * 69))
    odd = interval(np.array([1.0] * 29 + [0.5] + [0.0] * 70))
    assert tied == whole
    assert odd[0] < whole[0]
    assert odd[1] == whole[1]


def test_information_is_zero_where_the_input_adds_nothing_and_finite_where_it_misleads():
    guesses = guess_labels(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 1]))
    bits = pointwise_information(guesses, np.array([0.5, 0.5]))
    assert bits[0] == 0
    assert -40 < bits[1] < -20


def test_the_full_input_and_blind_guesses_do_not_count_as_tests():
    rng = np.random.default_rng(2)
    gold = rng.integers(0, 2, 200)
    guess = label_guesses(np.where(rng.random(200) < 0.58, gold, 1 - gold), gold, 2)
    perfect = label_guesses(gold, gold, 2)
    lines = [
        measured("majority", "reference", perfect, gold, grouped=False),
        measured("hypothesis_only", "partial", guess, gold, grouped=False),
        measured("full", "full", perfect, gold, grouped=False),
    ]
    by_name = {line.name: line for line in judged(lines, 0.05)}
    assert by_name["hypothesis_only"].q_value == pytest.approx(by_name["hypothesis_only"].p_value)
    assert by_name["hypothesis_only"].percent_r == pytest.approx(guess.score.mean())
    assert by_name["majority"].direction == "at"


def test_tied_labels_are_right_by_luck_as_often_as_on_shuffled_labels():
    rng = np.random.default_rng(4)
    gold = rng.choice(3, 400, p=[0.2, 0.5, 0.3])
    margins = rng.integers(0, 2, (400, 3)).astype(float)
    line = measured("premise_most", "content-blind", guess_tied_labels(margins, gold), gold, grouped=False)
    shuffled = [guess_tied_labels(margins, rng.permutation(gold)).score.mean() for _ in range(300)]
    assert line.luck == pytest.approx(np.mean(shuffled), abs=0.005)
