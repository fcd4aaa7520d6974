"""Counts of labels give the tests that the guesses of every example give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cuecard.audits.partial_input.guesses import guess_labels
from cuecard.audits.slices.scoring import LabelCounts, _by_chance, _by_label, excess_of, is_plain, slice_test


@pytest.fixture
def drawn():
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 3, 500)
    answer = np.where(rng.random(500) < 0.2, gold, rng.integers(0, 3, 500))
    return guess_labels(np.eye(3)[answer], gold), gold


def test_chances_by_label_are_those_of_every_guess(drawn):
    guesses, gold = drawn
    shares, cells, luck = _by_label(guesses, gold)
    expected_shares, expected_cells, expected_luck = _by_chance(guesses, gold, grouped=False)
    assert shares.tolist() == expected_shares.tolist()
    assert cells.tolist() == expected_cells.tolist()
    assert luck == expected_luck


def test_the_rest_of_a_slice_is_what_its_guesses_leave(drawn):
    guesses, gold = drawn
    here = np.arange(500) % 4 == 1
    inside = LabelCounts.of(guesses.take(here), gold[here], 3)
    rest = LabelCounts.of(guesses, gold, 3) - inside
    assert rest.excess == pytest.approx(excess_of(guesses.take(~here), gold[~here]), rel=1e-12)
    test = slice_test(guesses.take(here), gold[here], grouped=False)
    assert test.excess == pytest.approx(inside.excess, rel=1e-12)
    assert (inside - inside).excess == 0.0


def test_weights_and_ties_are_not_plain(drawn):
    guesses, _ = drawn
    assert is_plain(guesses)
    assert not is_plain(guesses.weighted(np.ones(500)))
    assert not is_plain(replace(guesses, named=np.full(500, 2)))
