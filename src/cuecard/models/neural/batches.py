"""Which examples share a batch: those of about one length, so that almost nothing is spent on padding."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from cuecard.data import Examples
from cuecard.stats.arrays import Floats, Ints

#: What a model's `forward` takes: named tensors, or lists of them.
Batch = dict[str, Any]

#: Examples are sorted by length within pools of this many batches: larger wastes less, smaller mixes better.
POOL = 100


class Rows(Protocol):
    """Texts as a model reads them, ready to be put into batches."""

    @property
    def lengths(self) -> Ints:
        """Rows × sequences: how long each sequence of a row is, the one that costs most first."""
        ...

    def collate(self, rows: Ints) -> Batch:
        """Return some rows as tensors, padded to the longest of them.

        The entry "segments" is a list with one rows × places tensor per sequence that `embedded` returns: 1
        where a place holds a token of the premise, 2 of the hypothesis, 0 for marks and padding.
        """
        ...


@dataclass(frozen=True, eq=False)
class ExamplePart:
    """Examples among the rows of a set: to learn from, to validate on, or all."""

    rows: Rows
    examples: Examples

    @property
    def numbers(self) -> Ints:
        """The numbers of the examples' rows."""
        return self.examples.row_numbers

    def take(self, chosen: Ints) -> ExamplePart:
        """Return some of the examples, their weights 1 on average again; all 1 where none of them counts."""
        examples = self.examples.take(chosen)
        weights = examples.example_weights
        scaled = weights / weights.mean() if weights.any() else None
        return ExamplePart(self.rows, replace(examples, weights=scaled))

    def lengths(self) -> Ints:
        """Examples × sequences: the longest of each example's rows."""
        lengths = self.rows.lengths[self.numbers]
        if not self.examples.grouped or not len(lengths):
            return lengths
        return np.asarray(np.maximum.reduceat(lengths, self.examples.first_rows[:-1], axis=0))


def epoch_batches(
    lengths: Ints, batch_size: int, *, seed: int, epoch: int, chances: Floats | None = None
) -> list[Ints]:
    """Return the examples of every batch of an epoch, a function of seed and epoch alone.

    With `chances`, as many examples as there are are drawn with replacement, in proportion to them; otherwise
    every example comes once.
    """
    n = len(lengths)
    generator = np.random.default_rng([seed, 2, epoch])
    if chances is None:
        order = generator.permutation(n)
    else:
        order = generator.choice(n, size=n, replace=True, p=chances / chances.sum())
    batches: list[Ints] = []
    for start in range(0, n, POOL * batch_size):
        pool = order[start : start + POOL * batch_size]
        pool = pool[length_order(lengths[pool])]
        batches += np.split(pool, range(batch_size, len(pool), batch_size))
    return [batches[i] for i in generator.permutation(len(batches))]


def length_order(lengths: Ints) -> Ints:
    """Return an order in which neighbours are of about one length, in the first sequence above all."""
    return np.lexsort(lengths.T[::-1])
