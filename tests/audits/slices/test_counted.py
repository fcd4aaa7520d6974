"""Guesses that are counted by kind have the tests of guesses that are taken one by one, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from cuecard.audits.partial_input.guesses import Guesses, guess_rows
from cuecard.audits.slices.scoring import CountedGuesses, _rest_of_choices, can_be_counted, slice_test


def drawn(rng: np.random.Generator, n: int, sizes: list[int]) -> tuple[Guesses, np.ndarray]:
    options = rng.choice(sizes, n)
    gold = rng.integers(0, options)
    return guess_rows(rng.integers(0, 3, options.sum()).astype(np.float64), gold, options), gold


@pytest.mark.parametrize("sizes", [[2], [2, 4]])
def test_counted_and_single_guesses_have_the_same_tests(sizes):
    rng = np.random.default_rng(0)
    guesses, gold = drawn(rng, 5_000, sizes)
    if sizes == [2, 4]:  # three of four tied answers are no exact share
        some = np.flatnonzero(guesses.named != 3)
        guesses, gold = guesses.take(some), gold[some]
    assert can_be_counted(guesses, grouped=True, inflation=1.0)
    codes = rng.integers(-1, 6, len(gold))
    order = np.argsort(codes, kind="stable")
    bounds = np.searchsorted(codes[order], np.arange(7))
    rest = _rest_of_choices(guesses.take(order))
    for value, (test, excess) in enumerate(CountedGuesses(guesses).by_slice(codes, 7)):
        here = codes == value
        if value == 6:
            assert test is None
            continue
        assert test == slice_test(guesses.take(here), gold[here], grouped=True)
        assert excess == rest(int(bounds[value]), int(bounds[value + 1]))


def test_what_has_weights_copies_or_rounding_is_not_counted():
    guesses, _ = drawn(np.random.default_rng(1), 300, [2])
    assert not can_be_counted(guesses, grouped=True, inflation=1.2)
    assert not can_be_counted(guesses, grouped=False, inflation=1.0)
    assert not can_be_counted(guesses.weighted(np.ones(300)), grouped=True, inflation=1.0)
    assert not can_be_counted(guesses.in_units(np.zeros(300, dtype=np.int64)), grouped=True, inflation=1.0)
    thirds, _ = drawn(np.random.default_rng(1), 300, [3])
    assert not can_be_counted(thirds, grouped=True, inflation=1.0)
