"""What is to be guessed of every example, and how well a guess does: ties shared, chance known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: Scores this close are a tie: equal inputs must not be told apart by rounding.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Examples:
    """The examples of a dataset: the rows of each, and which label, or which of its rows, is right."""

    data: Instances
    #: Of every row; the rows of an example weigh the same.
    weights: Floats | None = None

    def __len__(self) -> int:
        return self.data.n_examples

    def weight(self, which: Ints | slice = slice(None)) -> Floats | None:
        """Return the weights of some examples; None where all count the same."""
        return None if self.weights is None else self.weights[self.first_row[:-1][which]]

    def label_sums(self, which: Ints) -> Floats | Ints:
        """Return how many of some examples have each label, or how much weight."""
        return np.bincount(self.gold[which], weights=self.weight(which), minlength=len(self.data.labels))

    @cached_property
    def first_row(self) -> Ints:
        """Where the rows of each example begin, and the number of rows at the end."""
        starts = np.flatnonzero(np.diff(self.data.example_codes, prepend=-1))
        return np.append(starts, len(self.data)).astype(np.int64)

    @cached_property
    def gold(self) -> Ints:
        """The label of each example, or for grouped tasks the place of its right row."""
        if not self.data.grouped:
            return self.data.label_codes.astype(np.int64)
        right = np.flatnonzero(self.data.label_codes == 0)
        if not np.array_equal(self.data.example_codes[right], np.arange(len(self))):
            raise ValueError("every example needs exactly one right row")
        return (right - self.first_row[:-1]).astype(np.int64)

    @cached_property
    def options(self) -> Ints:
        """How many answers each example has: its rows, or the labels."""
        if self.data.grouped:
            return np.diff(self.first_row)
        return np.full(len(self), len(self.data.labels), dtype=np.int64)

    @cached_property
    def splits(self) -> pl.Series:
        """The split of each example."""
        return self.data.table["split"].cast(pl.String).gather(self.first_row[:-1])

    def in_split(self, name: str) -> Bools:
        """Return which examples belong to a split."""
        mask: Bools = (self.splits == name).to_numpy()
        return mask

    def rows(self, examples: Ints) -> Ints:
        """Return the rows of some examples, in their order."""
        if not self.data.grouped:
            return examples
        sizes = self.options[examples]
        inside = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows: Ints = np.repeat(self.first_row[examples], sizes) + inside
        return rows


@dataclass(frozen=True, eq=False)
class Guesses:
    """How a baseline did on each of some examples.

    `score` is 1 if right, 0 if wrong, and 1/t where the right answer is among t tied ones. `named` is how many
    answers the guess named (t). `answer` is the label guessed, or the place of the first row named.
    `probability` is what the right answer was given, missing for rules that give none. `weight` is how much each
    example counts, missing where all count the same.
    """

    score: Floats
    named: Ints
    options: Ints
    answer: Ints
    probability: Floats | None = None
    weight: Floats | None = None

    def __len__(self) -> int:
        return len(self.score)

    def mean(self, values: Floats | Bools) -> float:
        """Return the mean over the examples of a value of each, by their weights."""
        return float(values.mean() if self.weight is None else np.average(values, weights=self.weight))

    def weighted(self, weight: Floats | None) -> Guesses:
        """Return the guesses for examples that count by weights."""
        return self if weight is None else replace(self, weight=weight)

    def take(self, which: Bools | Ints) -> Guesses:
        """Return the guesses for some of the examples."""
        return Guesses(
            self.score[which],
            self.named[which],
            self.options[which],
            self.answer[which],
            None if self.probability is None else self.probability[which],
            None if self.weight is None else self.weight[which],
        )


def guess_rows(margins: Floats, gold: Ints, sizes: Ints, probability: Floats | None = None) -> Guesses:
    """Return the guesses that name the row of highest margin of each example; `sizes` are rows per example."""
    starts = np.cumsum(sizes) - sizes
    best = np.repeat(np.maximum.reduceat(margins, starts), sizes)
    named_row = margins >= best - TIE
    named = np.add.reduceat(named_row.astype(np.int64), starts)
    right = starts + gold
    first_named = np.minimum.reduceat(np.where(named_row, np.arange(len(margins)), len(margins)), starts)
    return Guesses(
        score=named_row[right] / named,
        named=named,
        options=sizes,
        answer=(first_named - starts).astype(np.int64),
        probability=None if probability is None else probability[right],
    )


def guess_labels(probabilities: Floats, gold: Ints) -> Guesses:
    """Return the guesses that name the likeliest label of each example."""
    n, k = probabilities.shape
    label = probabilities.argmax(axis=1).astype(np.int64)
    return Guesses(
        score=(label == gold).astype(np.float64),
        named=np.ones(n, dtype=np.int64),
        options=np.full(n, k, dtype=np.int64),
        answer=label,
        probability=probabilities[np.arange(n), gold],
    )
