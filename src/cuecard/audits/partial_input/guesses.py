"""How well a guess does on every example: ties shared, chance known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from cuecard.analysis import Summary
from cuecard.data.examples import Examples
from cuecard.data.space import MEMORY, Space
from cuecard.stats.arrays import Array, Bools, Codes, Floats, Ints, chunks

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
    Where examples are many, all these are in files, and `space` says where what is computed of them is.
    """

    score: Floats | Bools
    named: Codes
    options: Codes
    answer: Codes
    probability: Floats | None = None
    weight: Floats | None = None
    table: Floats | None = None
    unit: Ints | None = None
    template: Ints | None = None
    space: Space = MEMORY

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
        table, n = self.table, len(self)
        score, named, answer = (self.space.array(kind, n) for kind in (np.float64, np.int64, np.int64))
        for chunk in chunks(n):
            unlikely = -np.where(np.isnan(table[chunk]), np.inf, table[chunk])
            best = unlikely.max(axis=1)
            least = unlikely >= best[:, None] - TIE
            named[chunk], answer[chunk] = least.sum(axis=1), least.argmax(axis=1)
            score[chunk] = least[np.arange(len(least)), gold[chunk]] / named[chunk]
        return replace(self, score=score, named=named, answer=answer, probability=None, table=None)

    def computed(self, part: Callable[[slice], Array], dtype: npt.DTypeLike = np.float64) -> Array:
        """Return a number of every example that `part` gives some at a time."""
        return self.space.computed(dtype, len(self), part)

    def stored(self, space: Space) -> Guesses:
        """Return the same guesses with their numbers in a space."""
        return replace(
            self._each(lambda values: values if _is_one(values) else space.stored(values)), space=space
        )

    def take(self, which: Bools | Ints | slice) -> Guesses:
        """Return the guesses for some of the examples."""
        if isinstance(which, slice):
            return self._each(lambda values: values[which])
        rows: Ints = np.flatnonzero(which) if which.dtype == np.bool_ else which  # type: ignore[assignment]
        return self._each(lambda values: _of_rows(values, rows, self.space))

    def put(self, where: slice | Ints, part: Guesses) -> None:
        """Write the guesses for some of the examples."""
        for name, values in self._arrays().items():
            if values.flags.writeable:  # one number for all is none
                given = getattr(part, name)
                if values.ndim == 1:
                    values[where] = given
                else:  # examples of other parts may have more answers
                    values[where, : given.shape[1]] = given
                    values[where, given.shape[1] :] = np.nan

    def _each(self, change: Callable[[Array], Array]) -> Guesses:
        arrays: Summary = {name: change(values) for name, values in self._arrays().items()}
        return replace(self, **arrays)

    def _arrays(self) -> dict[str, Array]:
        arrays = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "space"}
        return {name: values for name, values in arrays.items() if values is not None}


def _of_rows(values: Array, rows: Ints, space: Space) -> Array:
    if _is_one(values):
        return np.broadcast_to(values[0], len(rows))
    return space.gathered(values, rows)


def _is_one(values: Array) -> bool:
    """Return whether one number stands for all examples."""
    return len(values) > 0 and values.strides[0] == 0


def blank_guesses(n: int, options: int | Ints, space: Space, *, probability: bool = True) -> Guesses:
    """Return guesses to be written: of one of some labels, or of one row of each example, given its number of rows."""
    grouped = not isinstance(options, int)
    width = int(options.max(initial=0)) if not isinstance(options, int) else options
    return Guesses(
        score=space.array(np.float64 if grouped else np.bool_, n),
        named=space.array(np.int32, n) if grouped else np.broadcast_to(np.int64(1), n),
        options=np.broadcast_to(np.asarray(options, dtype=np.int64), n),
        answer=space.array(np.int32, n),
        probability=space.array(np.float64, n) if probability else None,
        table=space.array(np.float64, (n, width)),
        space=space,
    )


def _repeats(codes: Ints) -> bool:
    """Return whether a code occurs twice; codes are small numbers, so that counting is quicker than sorting."""
    return len(codes) > 0 and bool(np.bincount(codes - codes.min()).max() > 1)


def guess_rows(margins: Floats, gold: Ints, sizes: Ints, probability: Floats | None = None) -> Guesses:
    """Return the guesses that name the row of highest margin of each example; `sizes` are rows per example."""
    score, named, answer = _highest(margins.astype(np.float64, copy=False), gold, sizes)
    right = None if probability is None else probability[np.cumsum(sizes) - sizes + gold]
    table = None if probability is None else _padded(probability, sizes)
    return Guesses(score, named, options=sizes, answer=answer, probability=right, table=table)


def _highest(margins: Floats, gold: Ints, sizes: Ints) -> tuple[Floats, Ints, Ints]:
    """Return what a hit counts, how many rows are named, and the place of the first of them, for every example."""
    if not len(sizes):
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    starts = np.cumsum(sizes) - sizes
    named = margins >= np.repeat(np.maximum.reduceat(margins, starts) - TIE, sizes)
    ties = np.add.reduceat(named, starts, dtype=np.int64)
    first = np.minimum.reduceat(np.where(named, np.arange(len(margins)), len(margins)), starts) - starts
    return np.where(named[starts + gold], 1 / ties, 0.0), ties, first


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


def gold_of(examples: Examples, which: Ints) -> Ints:
    """Return the right answers of some examples."""
    return examples.instances.space.gathered(examples.gold, which)
