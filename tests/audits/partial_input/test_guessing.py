"""Guesses in files are those in memory."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

from cuecard.audits.partial_input.guesses import Guesses, blank_guesses, guess_labels, guess_rows
from cuecard.data.space import MEMORY, Space


@pytest.fixture
def labels() -> tuple[Guesses, np.ndarray]:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 3, 60)
    return guess_labels(rng.dirichlet(np.ones(3), 60), gold), gold


def same(one: Guesses, other: Guesses) -> None:
    for field in fields(Guesses):
        if field.name != "space":
            a, b = getattr(one, field.name), getattr(other, field.name)
            assert (a is None) == (b is None)
            assert a is None or np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


def test_some_of_the_guesses_are_the_same_on_disk(labels, tmp_path):
    guesses = labels[0].in_units(np.arange(60) // 2)
    kept = guesses.stored(Space(tmp_path))
    same(kept, guesses)
    mask = np.arange(60) % 3 == 0
    for which in (mask, np.flatnonzero(mask)[::-1], slice(3, 20), np.arange(4, 30)):
        same(kept.take(which), guesses.take(which))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("on_disk", [False, True])
def test_labels_that_are_written_in_parts_are_those_guessed_at_once(labels, on_disk, tmp_path):
    guesses, gold = labels
    blank = blank_guesses(60, 3, Space(tmp_path) if on_disk else MEMORY)
    for some in (slice(0, 25), np.arange(25, 60)):
        blank.put(some, guesses.take(some))
    same(blank, guesses)
    assert blank.turned_round(gold).score.tolist() == guesses.turned_round(gold).score.tolist()
    least = guesses.table.argmin(axis=1)
    assert blank.turned_round(gold).answer.tolist() == least.tolist()


def test_questions_with_fewer_choices_end_with_nan():
    sizes, rng = np.array([2, 3, 2, 4]), np.random.default_rng(0)
    margins, gold = rng.random(11), np.array([1, 0, 0, 3])
    whole = guess_rows(margins, gold, sizes, margins)
    blank = blank_guesses(4, sizes, MEMORY)
    blank.put(slice(0, 2), guess_rows(margins[:5], gold[:2], sizes[:2], margins[:5]))
    blank.put(slice(2, 4), guess_rows(margins[5:], gold[2:], sizes[2:], margins[5:]))
    same(blank, whole)


def test_units_without_a_repetition_are_none(labels):
    guesses, _ = labels
    assert guesses.in_units(np.arange(60) * 7 - 3).unit is None
    repeated = np.arange(60)
    repeated[40] = 3
    assert guesses.in_units(repeated).unit is repeated
