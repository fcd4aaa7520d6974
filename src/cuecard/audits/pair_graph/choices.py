"""Examples of several choices, a part of them at a time: what a forest says of rows becomes shares and credits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from cuecard.data import Instances
from cuecard.stats.arrays import Bools, Floats, Ints, chunks

#: Share of even probabilities mixed into those of a forest before its log score is taken.
DOUBT = 0.1
#: Examples that are looked at at a time.
EXAMPLES = 1 << 16


@dataclass(frozen=True, eq=False)
class ScoredChoices:
    """The scored examples of a dataset; `right` returns P(right) for a range of rows, nan where they are not scored."""

    data: Instances
    right: Callable[[slice], Floats]

    @classmethod
    def of_rows(cls, data: Instances, probabilities: Floats) -> ScoredChoices:
        """Return the examples with probabilities of every row, nan where they are not scored."""
        return cls(data, lambda rows: probabilities[rows, 0])

    @property
    def first_rows(self) -> Ints:
        """The first row of every scored example."""
        return np.concatenate([np.empty(0, np.int64), *(first for *_, first in self._parts())])

    def shares(self) -> Iterator[tuple[Floats, Ints, Ints]]:
        """Yield the shares of choices, the place of the right one of every example, and how many each has."""
        for right, gold, sizes, _ in self._parts():
            starts = np.cumsum(sizes) - sizes
            cautious = (1 - DOUBT) * right + DOUBT / 2
            share = cautious / np.repeat(np.add.reduceat(cautious, starts), sizes)
            yield share, np.flatnonzero(gold) - starts, sizes

    @property
    def credits(self) -> Floats:
        """1 for every example whose right choice is the most likely one; a tie between k choices counts 1/k."""
        credits = [np.empty(0)]
        for right, gold, sizes, _ in self._parts():
            starts = np.cumsum(sizes) - sizes
            best = np.repeat(np.maximum.reduceat(right, starts), sizes)
            at_top = right >= best - 1e-12
            ties = np.add.reduceat(at_top, starts, dtype=np.float64)
            credits.append(np.add.reduceat(at_top & gold, starts, dtype=np.float64) / ties)
        return np.concatenate(credits)

    def _parts(self) -> Iterator[tuple[Floats, Bools, Ints, Ints]]:
        """Yield P(right) and whether it is right for every choice, sizes and first rows of examples."""
        begins = self.data.first_rows
        for examples in chunks(self.data.n_examples, EXAMPLES):
            first, rows = begins[examples], slice(int(begins[examples.start]), int(begins[examples.stop]))
            sizes = np.diff(begins[examples.start : examples.stop + 1])
            right, gold = self.right(rows), self.data.label_codes[rows] == 0
            scored = ~np.isnan(right[first - rows.start])
            if scored.any():
                own = np.repeat(scored, sizes)
                yield right[own], gold[own], sizes[scored], first[scored]
