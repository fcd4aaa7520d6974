"""How well a guess does on every example: ties shared, chance known."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np

from cuecard._compiled import njit
from cuecard.engines import on_disk
from cuecard.stats.arrays import Bools, Floats, Ints

#: Scores this close are a tie: equal inputs must not be told apart by rounding.
TIE = 1e-9


@dataclass(frozen=True, eq=False)
class Guesses:
    """How a baseline did on each of some examples.

    `score` is 1 if right, 0 if wrong, and 1/t where the right answer is among t tied ones. `named` is how many
    answers the guess named (t). `answer` is the label guessed, or the place of the first row named.
    `probability` is what the right answer was given, missing for rules that give none. `weight` is how much each
    example counts, missing where all count the same. `table` has the probabilities of all answers, a row per example;
    where examples have fewer answers than others, the row ends with nan. `unit` is shared by examples that are one
    observation, missing where none are, and `template` by sentences of one template, which are tested among themselves.
    """

    score: Floats
    named: Ints
    options: Ints
    answer: Ints
    probability: Floats | None = None
    weight: Floats | None = None
    table: Floats | None = None
    unit: Ints | None = None
    template: Ints | None = None

    def __len__(self) -> int:
        return len(self.score)

    def mean(self, values: Floats | Bools) -> float:
        """Return the mean over the examples of a value of each, by their weights."""
        return float(values.mean() if self.weight is None else np.average(values, weights=self.weight))

    def weighted(self, weight: Floats | None) -> Guesses:
        """Return the guesses for examples that count by weights."""
        return self if weight is None else replace(self, weight=weight)

    def in_units(self, unit: Ints, template: Ints | None = None) -> Guesses:
        """Return the guesses for examples some of which are one observation, or sentences of one template."""
        return replace(self, unit=unit if _repeats(unit) else None, template=template)

    def turned_round(self, gold: Ints) -> Guesses | None:
        """Return the guesses that name the least likely answer instead, where probabilities say which that is."""
        if self.table is None:
            return None
        unlikely = -np.where(np.isnan(self.table), np.inf, self.table)
        best = unlikely.max(axis=1)
        named = unlikely >= best[:, None] - TIE
        ties = named.sum(axis=1)
        return replace(
            self,
            score=named[np.arange(len(self)), gold] / ties,
            named=ties.astype(np.int64),
            answer=named.argmax(axis=1).astype(np.int64),
            probability=None,
            table=None,
        )

    def on_disk(self, folder: Path | None) -> Guesses:
        """Return the same guesses with their numbers in files, or as they are where there is no folder for them."""
        if folder is None:
            return self
        arrays = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{name: on_disk(a, folder) for name, a in arrays.items() if a is not None})

    def take(self, which: Bools | Ints | slice) -> Guesses:
        """Return the guesses for some of the examples."""
        return Guesses(
            self.score[which],
            self.named[which],
            self.options[which],
            self.answer[which],
            None if self.probability is None else self.probability[which],
            None if self.weight is None else self.weight[which],
            None if self.table is None else self.table[which],
            None if self.unit is None else self.unit[which],
            None if self.template is None else self.template[which],
        )


def _repeats(codes: Ints) -> bool:
    """Return whether a code occurs twice; codes are small numbers, so that counting is quicker than sorting."""
    return bool((np.bincount(codes - codes.min(initial=0)) > 1).any())


def guess_rows(margins: Floats, gold: Ints, sizes: Ints, probability: Floats | None = None) -> Guesses:
    """Return the guesses that name the row of highest margin of each example; `sizes` are rows per example."""
    score, named, answer = _highest(margins.astype(np.float64), gold, sizes)
    right = None if probability is None else probability[np.cumsum(sizes) - sizes + gold]
    table = None if probability is None else _padded(probability, sizes)
    return Guesses(score, named, options=sizes, answer=answer, probability=right, table=table)


@njit(cache=True, nogil=True)
def _highest(margins: Floats, gold: Ints, sizes: Ints) -> tuple[Floats, Ints, Ints]:
    """Return what a hit counts, how many rows are named, and the place of the first of them, for every example."""
    n = len(sizes)
    score, named, answer = np.zeros(n), np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    start = 0
    for i in range(n):
        end = start + sizes[i]
        best = margins[start]
        for row in range(start + 1, end):
            best = max(best, margins[row])
        least, times, first = best - TIE, 0, 0
        for row in range(end - 1, start - 1, -1):
            if margins[row] >= least:
                times += 1
                first = row - start
        named[i], answer[i] = times, first
        if margins[start + gold[i]] >= least:
            score[i] = 1 / times
        start = end
    return score, named, answer


def _padded(values: Floats, sizes: Ints) -> Floats:
    """Return values of rows as one row per example, with nan where an example has fewer."""
    table = np.full((len(sizes), int(sizes.max(initial=0))), np.nan)
    table[np.arange(table.shape[1]) < sizes[:, None]] = values
    return table


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
        table=probabilities,
    )


def guess_tied_labels(margins: Floats, gold: Ints) -> Guesses:
    """Return the guesses of a rule that names every label of highest margin; a hit is shared between them."""
    named = margins >= margins.max(axis=1, keepdims=True) - TIE
    ties = named.sum(axis=1)
    table: Floats = named / ties[:, None]
    return Guesses(
        score=table[np.arange(len(gold)), gold],
        named=ties.astype(np.int64),
        options=np.full(len(gold), margins.shape[1], dtype=np.int64),
        answer=named.argmax(axis=1).astype(np.int64),
        table=table,
    )
