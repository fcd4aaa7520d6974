from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from cuecard.analysis import Measure
from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.remedies.reaudits import Reference, p_values, references, shuffled_labels
from small_sets import choice_instances, pair_instances


def word_pairs(seed: int, *, leak: float = 0.0, n: int = 60) -> Instances:
    """Pairs of one of six words; the first goes with the label a as often as `leak` says above chance."""
    rng = np.random.default_rng(seed)
    words = rng.integers(0, 6, n)
    first = rng.random(n) < 0.5 + leak * np.where(words % 2 == 0, 1, -1)
    return pair_instances(
        [
            ("train", f"p{i}", f"w{w} t{i} u{i} v{i}", "a" if y else "b")
            for i, (w, y) in enumerate(zip(words, first, strict=True))
        ]
    )


def words_of(data: Instances) -> np.ndarray:
    return data.table["hypothesis"].str.slice(1, 1).cast(pl.Int64).to_numpy()


def balancing(data: Instances) -> np.ndarray:
    """Weights under which every word has both labels equally: the inverse of the cells' sizes."""
    cell = words_of(data) * 2 + data.label_codes
    return 1 / np.bincount(cell, minlength=12)[cell]


def cross_fitted(data: Instances, weights: np.ndarray) -> list[Measure]:
    """The weighted accuracy of naming each word's commoner label in the other half."""
    words, labels = words_of(data), data.label_codes
    half = np.arange(len(data)) % 2
    right = np.zeros(len(data))
    for one in (0, 1):
        learn, score = half != one, half == one
        lean = np.bincount(words[learn], (weights * (2 * labels - 1))[learn], minlength=6)
        guess = lean[words[score]]
        right[score] = np.where(np.abs(guess) < 1e-9, 0.5, (guess > 0) == labels[score])
    mass = np.bincount(labels, weights)
    accuracy = float(np.average(right, weights=weights))
    return [
        Measure("a.accuracy", accuracy, chance=float(mass.max() / mass.sum()), unit="share", worse="higher"),
        Measure("a.size", 60.0, unit="count"),
    ]


def p_value(data: Instances, seed: int) -> tuple[float, float]:
    measure = cross_fitted(data, balancing(data))[0]
    found = references(data, balancing, cross_fitted, draws=6, seed=seed)
    assert set(found) == {"a.accuracy"}
    return measure.value - measure.chance, p_values({measure.name: measure}, found)[measure.name][1]


def test_weights_made_from_the_same_rows_hold_the_level_against_weights_made_from_shuffled_labels():
    drawn = [p_value(word_pairs(seed), seed) for seed in range(40)]
    above = np.array([one for one, _ in drawn])
    assert above.mean() < -0.1  # exact balance turns every chance lean round: far below chance
    assert (above < 0).mean() > 0.9
    rejected = np.mean([p <= 0.05 for _, p in drawn])
    assert rejected <= 0.16  # 3 standard errors above 5 %


def test_a_leak_that_the_weights_leave_is_found():
    def untouched(data: Instances) -> np.ndarray:
        return np.ones(len(data))

    measures = {one.name: one for one in cross_fitted(word_pairs(0, leak=0.35), np.ones(60))}
    found = references(word_pairs(0, leak=0.35), untouched, cross_fitted, draws=6)
    expected, p = p_values(measures, found)["a.accuracy"]
    assert expected < measures["a.accuracy"].value
    assert p < 0.01


def test_the_p_value_is_that_of_one_more_draw():
    """Independent check: the prediction interval of a normal sample, by simulation."""
    rng = np.random.default_rng(0)
    samples = rng.normal(3.0, 2.0, size=(2_000, 11))
    p = [
        Reference(float(np.mean(row[1:])), float(np.std(row[1:], ddof=1)), 10).p_value(float(row[0]))
        for row in samples
    ]
    assert np.mean(np.array(p) <= 0.05) == pytest.approx(0.05, abs=0.015)
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.035)
    assert Reference(0.1, 0.0, 5).p_value(0.1) == 1.0
    assert Reference(0.1, 0.0, 5).p_value(0.2) == 0.0


def test_copies_are_shuffled_alike_and_every_question_keeps_one_right_choice():
    data = pair_instances([("train", "p", f"t{i // 3}", "ab"[i // 3 % 2]) for i in range(60)])
    for shuffled in shuffled_labels(data, 3):
        blocks = shuffled.label_codes.reshape(-1, 3)
        assert (blocks == blocks[:, :1]).all()
        assert np.bincount(shuffled.label_codes).tolist() == np.bincount(data.label_codes).tolist()
    questions = choice_instances([("train", f"q{i}", ["yes", "no", f"c{i}"], i % 3) for i in range(40)])
    places = set()
    for shuffled in shuffled_labels(questions, 5):
        right = (shuffled.label_codes == 0).reshape(-1, 3)
        assert (right.sum(axis=1) == 1).all()
        places |= set(right.argmax(axis=1).tolist())
    assert places == {0, 1, 2}


def test_where_shuffled_labels_leave_nothing_to_balance_weights_are_equal():
    def refusing(data: Instances) -> np.ndarray:
        raise InputError("nothing to balance")

    assert references(word_pairs(0), refusing, cross_fitted, draws=2)["a.accuracy"].draws == 2
