"""What is kept of every row where the texts do not fit in memory: numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
import polars as pl

from cuecard.data.files.sources import SPLITS
from cuecard.data.fingerprint import Hashes, beginning_hashes, text_hashes
from cuecard.data.instances import Instances
from cuecard.data.placeholders import is_placeholder
from cuecard.data.splits.sentences import normalised
from cuecard.data.units import UnitScope
from cuecard.stats.arrays import Bools, Ints

SIDES = ("premise", "hypothesis")


def row_table(data: Instances) -> pl.DataFrame:
    """Return a row of numbers for every instance: split, label, example, lengths and hashes of its texts.

    `premise_text` and `hypothesis_text` are equal for equal texts, `premise_key` and `hypothesis_key` for texts that
    are equal up to case and punctuation; `premise_filled` and `hypothesis_filled` say whether anything is left then,
    and `premise_placeholder` and `hypothesis_placeholder` whether the text only says that there is none.
    """
    if isinstance(data, NumberedInstances):
        numbers = data.numbers if data.row_numbers is None else data.numbers[data.row_numbers]
    else:
        numbers = data.derived(("row table",), lambda: survey(data))
    return numbers.with_columns(example=pl.Series(data.example_codes))


def survey(data: Instances) -> pl.DataFrame:
    """Return what `row_table` has of every instance, without the numbers of examples."""
    columns: dict[str, pl.Series] = {}
    for side in SIDES:
        texts = data.table[side]
        plain = normalised(texts)
        columns |= {
            f"{side}_text": pl.Series(text_hashes(texts)),
            f"{side}_key": pl.Series(text_hashes(plain)),
            f"{side}_filled": plain != "",
            f"{side}_placeholder": is_placeholder(texts),
            # White-space separated words: what a reader would call the length of a text.
            f"{side}_tokens": texts.str.count_matches(r"\S+").cast(pl.Int32),
        }
    return pl.DataFrame(columns).with_columns(
        split=data.table["split"].cast(pl.String).cast(pl.Enum(SPLITS)),
        label=data.table["label"],
        content=pl.Series(data.row_hashes),
        beginning=pl.Series(beginning_hashes(data.table["hypothesis"])),
    )


@dataclass(frozen=True, eq=False)
class NumberedInstances(Instances):
    """Instances whose texts stay on disk: of every row, memory holds numbers and the units it belongs to.

    The table has no texts; `read_texts` reads those of some rows. `numbers` is what `row_table` returns of the whole
    dataset, `of_texts` has the units of its rows, and `closest` the closest of texts.
    """

    numbers: pl.DataFrame = field(default_factory=pl.DataFrame)
    of_texts: Mapping[UnitScope, Ints] | None = None
    closest: Mapping[UnitScope, Ints] | None = None
    read_texts: Callable[[Ints], pl.DataFrame] | None = None

    @cached_property
    def row_hashes(self) -> Hashes:
        """A number for every row that changes with its texts, label, split and position."""
        hashes: Hashes = self.numbers["content"].to_numpy()
        return hashes if self.row_numbers is None else hashes[self.row_numbers]

    def _beginnings(self) -> Hashes:
        hashes: Hashes = self.numbers["beginning"].to_numpy()
        return hashes if self.row_numbers is None else hashes[self.row_numbers]

    def _hashes_of(self, rows: Ints) -> Hashes:
        return self.row_hashes[rows]

    def texts_of(self, rows: Ints) -> pl.DataFrame:
        """Return some rows with their texts, in that order, read from disk."""
        assert self.read_texts is not None
        return self.read_texts(rows if self.row_numbers is None else self.row_numbers[rows])

    def with_texts(self, which: Bools) -> Instances:
        """Return some of the rows with their texts in memory, read from disk."""
        return Instances(self.texts_of(np.flatnonzero(which)), self.task, self.labels, self.name)

    def distinct_texts(self, side: Literal["premise", "hypothesis"]) -> int:
        """Return how many texts there are that differ in more than case, spaces and punctuation."""
        hashes = self.numbers[f"{side}_folded"].to_numpy()
        return len(np.unique(hashes if self.row_numbers is None else hashes[self.row_numbers]))

    def _closest_units(self, scope: Literal["hypothesis", "premise"]) -> Ints:
        assert self.closest is not None
        return self.closest[scope].copy()

    def _find_units(self, scope: UnitScope) -> Ints:
        units = (self.of_texts or {}).get(scope)
        return super()._find_units(scope) if units is None else units.copy()


def bare_table(numbers: pl.DataFrame, examples: Ints) -> pl.DataFrame:
    """Return the table of instances without texts: those columns are empty and take no memory."""
    nothing = pl.lit(None)
    return numbers.select(
        example_id=pl.Series(examples),
        position=nothing,
        split="split",
        premise=nothing,
        hypothesis=nothing,
        label="label",
    )


def example_hashes(rows: Hashes, begins: Ints) -> Hashes:
    """Return a number for every example from the hashes of its rows; `begins` is the first row of each."""
    return np.asarray(np.add.reduceat(rows, begins)) if len(begins) else rows[:0]
