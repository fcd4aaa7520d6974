"""Slices of many examples: a rule's guesses counted by kind once, so that a slice costs as much as its kinds."""

from __future__ import annotations

import numpy as np

from cuecard.audits.partial_input.baselines.guessing import Guesses
from cuecard.audits.partial_input.baselines.judging import exact_interval
from cuecard.audits.slices.hits import SliceTest
from cuecard.stats import mixed_chance_log_p
from cuecard.stats.arrays import Codes, Floats, Ints


class CountedGuesses:
    """The guesses of a rule among competing answers, as kinds: how many are named, of how many, and whether it hits.

    Use it where `can_be_counted`: then its tests are those of `slice_test`, to the last bit.
    """

    def __init__(self, guesses: Guesses) -> None:
        most = int(guesses.options.max(initial=0)) + 1
        kinds = (guesses.named * most + guesses.options) * 2 + (guesses.score > 0)
        used = np.flatnonzero(np.bincount(kinds))
        place = np.zeros(int(used.max(initial=0)) + 1, dtype=np.int64)
        place[used] = np.arange(len(used))
        self._kind: Ints = place[kinds]
        self._hit: Ints = used % 2
        self._named: Ints = used // 2 // most
        self._options: Ints = used // 2 % most

    def by_slice(self, codes: Ints, n: int) -> list[tuple[SliceTest | None, float]]:
        """Return the test of every slice, and the rule's excess over luck on all other examples.

        `codes` are the slices of the examples, from 0 to n - 1, and -1 where an example has none; an empty slice has no
        test.
        """
        size = len(self._hit)
        counts = np.bincount((codes + 1) * size + self._kind, minlength=(n + 1) * size).reshape(n + 1, size)
        total = counts.sum(axis=0)
        return [(self._test(row) if row.any() else None, self._excess(total - row)) for row in counts[1:]]

    def _test(self, counts: Ints) -> SliceTest:
        n = int(counts.sum())
        score = float(counts @ self._score)
        low, high = exact_interval(score, n)
        # Kinds are in the order of how many are named of how many; a hit and a miss of each stand together.
        chances = self._named * (int(self._options.max()) + 1) + self._options
        _, first, cells = np.unique(chances, return_index=True, return_inverse=True)
        in_cells = np.bincount(cells, weights=counts).astype(np.int64)
        there = in_cells > 0
        shares = (self._named[first] / self._options[first])[there]
        log_p = mixed_chance_log_p(int(counts @ self._hit), in_cells[there], shares, "two-sided")
        luck = float(counts @ (1 / self._options)) / n
        return SliceTest(score / n, low, high, luck, log_p, n, n)

    def _excess(self, counts: Ints) -> float:
        n = int(counts.sum())
        return float(counts @ (self._score - 1 / self._options)) / n if n else 0.0

    @property
    def _score(self) -> Floats:
        score: Floats = self._hit / self._named
        return score


def can_be_counted(guesses: Guesses, *, grouped: bool, inflation: float) -> bool:
    """Return whether kinds of guesses say all: every example counts once, and sums of shared hits have no rounding."""
    if not grouped or inflation != 1.0 or guesses.weight is not None or guesses.unit is not None:
        return False
    return all(_power_of_two(values) for values in (guesses.named, guesses.options))


def _power_of_two(values: Codes) -> bool:
    return bool(((values & (values - 1)) == 0).all() and (values > 0).all())
