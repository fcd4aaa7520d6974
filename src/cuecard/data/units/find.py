"""Units of independence: rows that are copies of each other are one observation about their words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, get_args

import numpy as np
import polars as pl

from cuecard.data.fingerprint import mixed
from cuecard.data.space import MEMORY, Space
from cuecard.data.units.buckets import Hashes, number_in_order
from cuecard.data.units.copies import copies_and_runs, in_order
from cuecard.data.units.sketches import Sketches
from cuecard.errors import InputError
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Ints, chunks

UnitScope = Literal["hypothesis", "premise", "choices", "choice", "example"]
UNIT_SCOPES: tuple[UnitScope, ...] = get_args(UnitScope)
#: Questions are near copies if they share this much of the words of all their choices, or are linked by such ones and
#: share that much with the question that leads the unit. An edit of every choice changes more than one of a sentence,
#: and choices together have too many words to share 60 % of them by chance.
QUESTIONS_ALIKE, QUESTIONS_LOOSELY = 0.6, 0.4


def example_units(
    examples: Ints, hypothesis: Ints, premise: Ints | None = None, space: Space = MEMORY
) -> Ints:
    """Return a number for every row that examples with the same hypotheses (and premise), in any order, share.

    `hypothesis` and `premise` are units of texts, numbered without gaps; an example counts as a copy if all its
    texts are copies. `examples` are numbered in their order.
    """
    if int(hypothesis.max(initial=-1)) + 1 == len(hypothesis) and premise is None:
        return examples  # no hypothesis has a copy
    n = int(examples[-1]) + 1 if len(examples) else 0
    ends = None if n == len(examples) else _bounds(examples)

    def keys() -> Iterator[Hashes]:
        # A sum of random numbers, one per unit, is the same for the same hypotheses in any order.
        for chunk in chunks(n):
            first = np.arange(chunk.start, chunk.stop) if ends is None else ends[chunk]
            rows = (
                slice(chunk.start, chunk.stop) if ends is None else slice(ends[chunk.start], ends[chunk.stop])
            )
            key = np.add.reduceat(_random(hypothesis[rows]), first - first[0])
            yield key if premise is None else key ^ _random(~premise[first])

    numbers = space.array(np.int64, n)
    with space.place() as folder:
        number_in_order(keys(), numbers, folder)
    return space.gathered(numbers, examples)


def _random(units: Ints) -> Hashes:
    """Return a random number for every unit."""
    return mixed(mixed(units.view(np.uint64) + np.uint64(1)))


def question_units(examples: Ints, sketches: Sketches) -> tuple[Ints, Ints]:
    """Return two numbers for every row: that of copies of its text, and that of questions with nearly the same choices.

    Choices are often too short to be compared one by one; all choices of a question together, in any order, are long
    enough. `sketches` are those of the texts of all rows, in runs of one example each.
    """
    if not len(examples):
        return examples, examples
    hypothesis, near = copies_and_runs(sketches, QUESTIONS_ALIKE, QUESTIONS_LOOSELY)
    return hypothesis, joined_questions(examples, hypothesis, near)


def joined_questions(examples: Ints, hypothesis: Ints, near: Ints) -> Ints:
    """Return a number for every row that questions with nearly the same choices share.

    `hypothesis` are the units of choices, and `near` those of questions by all their words.
    """
    return _joined(example_units(examples, hypothesis)[_bounds(examples)[:-1]], near)[examples]


def _bounds(examples: Ints) -> Ints:
    """Return where the rows of each example begin, and the number of rows at the end; rows of one stand together."""
    return np.append(0, np.cumsum(np.bincount(examples)))


def choice_units(table: pl.DataFrame, examples: Ints, hypothesis: Ints, questions: Ints) -> Ints:
    """Return a number for every row that the same choice of copies of a question shares.

    A choice is matched with one of the first of these questions by its unit, and otherwise with the free one that has
    most words in common with it. "Yes" of another question is another choice.
    """
    units = questions * (int(hypothesis.max(initial=0)) + 1) + hypothesis
    n = int(examples.max(initial=-1)) + 1
    first_row = np.searchsorted(examples, np.arange(n))
    led_by = in_order(questions[first_row])
    leader = np.unique(led_by, return_index=True)[1][led_by]  # the first question of each unit
    of_leaders = np.flatnonzero((leader == np.arange(n))[examples])
    unmatched = np.flatnonzero(~np.isin(units, units[of_leaders]))
    texts, missing = table["hypothesis"], set(unmatched.tolist())
    ends = np.append(first_row, len(examples))
    for example in np.unique(examples[unmatched]):
        rows = np.arange(ends[example], ends[example + 1])
        free = [int(row) for row in rows if row in missing]
        taken = set(units[rows].tolist())
        led = [
            row for row in range(ends[leader[example]], ends[leader[example] + 1]) if units[row] not in taken
        ]
        words = {row: set(str(texts[int(row)]).lower().split()) for row in [*free, *led]}
        while free and led:
            row, other = max(
                ((a, b) for a in free for b in led), key=lambda ab: len(words[ab[0]] & words[ab[1]])
            )
            units[row] = units[other]
            free.remove(row)
            led.remove(other)
    return in_order(units)


def _joined(a: Ints, b: Ints) -> Ints:
    """Return codes that items share which are connected by a code of either kind."""
    codes, b = in_order(a), in_order(b)
    if int(b.max(initial=-1)) + 1 == len(b):
        return codes
    while True:
        before = codes
        for kind in (b, in_order(a)):
            least = np.full(int(kind.max()) + 1, len(codes), dtype=np.int64)
            np.minimum.at(least, kind, codes)
            codes = least[kind]
        if np.array_equal(codes, before):
            return in_order(codes)


def column_units(table: pl.DataFrame, column: str) -> Ints:
    """Return a number for every row that rows of the same value share; a missing value is a unit of its own."""
    if column not in table.columns:
        raise unknown_name("column of clusters", column, table.columns)
    values = table[column]
    if values.dtype.is_nested():
        raise InputError(f"Column {column!r} holds {values.dtype}: units need one value per row.")
    dense = values.cast(pl.String).rank("dense").cast(pl.Int64).to_numpy(allow_copy=True).astype(np.float64)
    missing = np.isnan(dense)
    dense[missing] = -1.0 - np.arange(missing.sum())
    return in_order(dense)
