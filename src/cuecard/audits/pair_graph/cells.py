"""Pairs counted by cell, and examples of several choices: what a forest is fitted on, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cuecard.audits.partial_input.cross_fit import doubling
from cuecard.data import Instances
from cuecard.data.space import Space
from cuecard.stats.arrays import Array, Bools, Floats, Ints, chunks, sum_of_column, sum_of_rows, whole_type
from cuecard.stats.counted_forest import Forest, Points, distinct_points, in_threads, on_counts


@dataclass(frozen=True, eq=False)
class Cells:
    """How many pairs have each of the distinct features, by the round that scores them and by label.

    Attributes:
        values: the distinct features, standardised.
        counts: pairs by round, point and label. Pairs that are only fitted on come after all rounds.
        cell: of every pair, its place in `counts`, all axes one after the other.
        folds: how many rounds score pairs.
    """

    values: Floats
    counts: Ints
    cell: Array
    folds: int

    def crossed(self, forest: Forest, used: Sequence[int] | None = None) -> Floats:
        """Return P(label) by round and point from a forest on the pairs of all other rounds; nan where none is scored.

        With `used`, forests see only these of the features.
        """
        values, counts, place = self._of(used)
        every = counts.sum(axis=0)

        def one(i: int) -> Floats:
            return on_counts(values, every - counts[i], counts[i].sum(axis=1), forest)

        crossed = np.full(self.counts.shape, np.nan)
        for i, fitted in enumerate(in_threads(one, self.folds)):
            crossed[i] = fitted[place]
        return crossed

    def chained(self, forest: Forest, crossed: Floats, used: Sequence[int] | None = None) -> Floats:
        """Return P(label) from forests on earlier rounds only, with `crossed` where the forest is one of those.

        Nan for the first round, which nothing comes before. A single round has the probabilities themselves.
        """
        if self.folds == 1:
            return crossed
        values, counts, place = self._of(used)
        ahead = doubling(self.folds - 1)

        def one(i: int) -> Floats:
            first, last = ahead[i]
            return on_counts(values, counts[:first].sum(axis=0), counts[first:last].sum(axis=(0, 2)), forest)

        chained = np.full_like(crossed, np.nan)
        for (first, last), fitted in zip(ahead, in_threads(one, len(ahead)), strict=True):
            chained[first:last] = fitted[place]
        chained[self.folds - 1] = crossed[self.folds - 1]
        return chained

    def _of(self, used: Sequence[int] | None) -> tuple[Floats, Ints, Array]:
        """Return the distinct values of some features, their counts, and which of them every point has."""
        points = distinct_points(self.values if used is None else self.values[:, list(used)])
        counts = np.zeros((len(self.counts), len(points), self.counts.shape[2]), dtype=np.int64)
        for i, own in enumerate(self.counts):
            np.add.at(counts[i], points.index, own)
        return points.values, counts, points.index

    def of_pairs(self, table: Floats) -> Floats:
        """Return the probabilities of every pair."""
        probabilities: Floats = table.reshape(-1, table.shape[2])[self.cell // table.shape[2]]
        return probabilities

    def right(self, table: Floats, rows: slice) -> Floats:
        """Return the probability that the first label has for a range of pairs."""
        first: Floats = np.ascontiguousarray(table[..., 0]).ravel()[self.cell[rows] // table.shape[2]]
        return first

    def marks(self, table: Floats, space: Space) -> Bools:
        """Return whether each scored pair has the label of the highest probability."""
        n_labels = table.shape[2]
        right = (table.argmax(axis=2)[..., None] == np.arange(n_labels)).ravel()
        scored = self.counts[: self.folds]
        marks, done = space.array(np.bool_, int(scored.sum())), 0
        for rows in chunks(len(self.cell)):
            own = self.cell[rows]
            own = right[own[own < scored.size]]
            marks[done : done + len(own)] = own
            done += len(own)
        return marks


def counted_cells(
    points: Points,
    number: Array,
    folds: int,
    labels: Array,
    n_labels: int,
    *,
    space: Space,
    by_rows: bool,
) -> Cells:
    """Return the pairs counted; `number` is the round that scores each, or one that there is not.

    `by_rows` says how features are standardised, see `standardised_points`.
    """
    shape = (folds + 1 if folds == 1 else folds, len(points), n_labels)
    counts = np.zeros(shape, dtype=np.int64)
    cell = space.array(whole_type(counts.size), len(number))
    for rows in chunks(len(number)):
        own = number[rows].astype(np.int64) * len(points) + points.index[rows]
        own = own * n_labels + labels[rows]
        np.add.at(counts.reshape(-1), own, 1)
        cell[rows] = own
    values = standardised_points(points, counts.sum(axis=(0, 2)), by_rows=by_rows)
    return Cells(values, counts, cell, folds)


def standardised_points(points: Points, counts: Ints, *, by_rows: bool) -> Floats:
    """Return the distinct features with mean 0 and variance 1 over all rows: those of `standardised` rows.

    They are the same to the last digit, which decides on what side of a threshold a point is that lies on it: of a
    table that numpy adds up row by row, or column by column.
    """
    n, total = len(points.index), sum_of_rows if by_rows else sum_of_column
    scaled = np.empty_like(points.values)
    for i, values in enumerate(points.values.T):
        mean = float(values @ counts) / n
        spread = float(np.sqrt(total((values - mean) ** 2, points.index) / n))
        scaled[:, i] = (values - mean) / (spread if spread > 0 else 1.0)
    return scaled


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
