"""Measures that moved beyond noise between two cards: quiet on noise, loud on a planted change."""

from __future__ import annotations

from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from cuecard.analysis import Measure
from cuecard.card import Card, compare
from cuecard.card.changes import judged_measures
from cuecard.report import render_comparison
from cuecard.stats.intervals import wilson
from cuecard.stats.multiple_testing import holm
from policy_cards import card_with


def movements(before, after):
    return [one for one in judged_measures(before, after) if one.direction != "within noise"]


def accuracy(k: int, n: int, name: str) -> Measure:
    low, high = (float(end) - 0.5 for end in wilson(k, n))
    return Measure(f"partial_input.{name}.excess", k / n - 0.5, low, high, 0.0, n, "points", "higher", name)


def card(rng, shift: float = 0.0, fingerprint: str = ""):
    measures = [accuracy(int(rng.binomial(500, 0.6 + shift * (i == 0))), 500, f"m{i}") for i in range(12)]
    made = card_with(*measures)
    made.dataset = made.dataset.model_copy(update={"fingerprint": fingerprint or str(rng.random())})
    return made


def test_equal_sources_move_in_at_most_one_of_twenty_comparisons():
    rng = np.random.default_rng(0)
    false = np.mean([bool(movements(card(rng), card(rng))) for _ in range(400)])
    assert false <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 400)


def test_a_planted_change_is_the_one_that_moved():
    rng = np.random.default_rng(1)
    [moved] = movements(card(rng), card(rng, 0.2))
    assert moved.direction == "worse"
    assert moved.after.label == "m0"
    assert moved.change.low > 0
    [back] = movements(card(rng, 0.2), card(rng))
    assert back.direction == "better"


def test_another_audit_of_the_same_data_is_no_change_of_the_data():
    rng = np.random.default_rng(2)
    assert movements(card(rng, fingerprint="a"), card(rng, 0.3, fingerprint="a")) == []


def test_a_share_without_interval_is_judged_as_a_sample():
    def copies(value):
        one = Measure("overview.repeated", value, n=1000, unit="share", worse="higher")
        made = card_with(one)
        made.dataset = made.dataset.model_copy(update={"fingerprint": str(value)})
        return made

    assert movements(copies(0.010), copies(0.012)) == []
    assert movements(copies(0.010), copies(0.100))[0].direction == "worse"


def neutral(value: float, fingerprint: str, section: str = "s") -> Card:
    one = Measure(f"{section}.full", value, value - 0.02, value + 0.02, unit="share", label="full accuracy")
    steady = Measure(f"{section}.steady", 0.5, 0.4, 0.6, unit="share", label="steady")
    made = card_with(one, steady)
    made.dataset = made.dataset.model_copy(update={"fingerprint": fingerprint})
    return made


def test_a_measure_without_a_worse_direction_is_higher_or_lower_beyond_noise():
    [comparison] = compare([neutral(0.7, "a"), neutral(0.8, "b")])
    assert [(one.direction, one.after.label) for one in comparison.shifted] == [("higher", "full accuracy")]
    assert not comparison.moved
    console = Console(file=StringIO(), width=120)
    render_comparison(comparison, console)
    printed = console.file.getvalue().replace("\xa0", " ")
    assert "↑ higher  full accuracy 70.0 % → 80.0 % (change +10.0, 95 % CI +7.2 to +12.8)" in printed
    assert "steady" not in printed
    [other_way] = compare([neutral(0.8, "a"), neutral(0.7, "b")])
    assert [one.direction for one in other_way.shifted] == ["lower"]
    [same_data] = compare([neutral(0.7, "a"), neutral(0.8, "a")])
    assert same_data.shifted == ()


def test_measures_without_a_direction_that_only_vary_are_shifted_in_at_most_one_of_twenty_comparisons():
    rng = np.random.default_rng(0)

    def drawn(name: str) -> Card:
        shares = rng.binomial(400, 0.5, 12) / 400
        half = 1.96 * np.sqrt(0.25 / 400)
        made = card_with(
            *(
                Measure(f"s.m{i}", float(x), float(x - half), float(x + half), unit="share")
                for i, x in enumerate(shares)
            )
        )
        made.dataset = made.dataset.model_copy(update={"fingerprint": name})
        return made

    shifted = [bool(compare([drawn("a"), drawn("b")])[0].shifted) for _ in range(300)]
    assert np.mean(shifted) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)


def test_the_verdict_of_a_comparison_is_its_first_line():
    rng = np.random.default_rng(1)
    [worse] = compare([card(rng), card(rng, 0.2)])
    assert worse.worse
    assert worse.as_dict()["worse"] is True
    console = Console(file=StringIO(), width=120)
    render_comparison(worse, console)
    lines = [line for line in console.file.getvalue().splitlines() if line]
    assert lines[0] == "Worse: 1 measure got worse beyond noise."
    assert "m0" in lines[2]
    assert "95 % CI" in lines[2]


def test_cards_of_different_tasks_are_not_judged():
    from cuecard.report.changes import verdict_of

    [apart] = compare([card_with(), card_with(task="choice")])
    assert not apart.comparable
    assert verdict_of(apart) == "Not judged: the tasks differ."


def test_holm_is_that_of_the_definition():
    p = np.random.default_rng(3).random(8) ** 3
    order = np.argsort(p)
    expected = [max((8 - j) * p[order[j]] for j in range(i + 1)) for i in range(8)]
    assert holm(p)[order] == pytest.approx(np.minimum(expected, 1))
