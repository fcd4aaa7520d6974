"""What is kept of every row where the texts do not fit in memory: numbers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from cuecard.data.exact import KINDS, SIDES, changed_hashes, form, sharing, told_apart
from cuecard.data.files.sources import SPLITS
from cuecard.data.fingerprint import Hashes, beginning_hashes, text_hashes
from cuecard.data.instances import Instances, is_range
from cuecard.data.placeholders import is_placeholder
from cuecard.data.units import UnitScope
from cuecard.stats.arrays import Bools, Ints

#: Hashes that are compared at a time.
COMPARED = 1 << 22


def row_table(data: Instances) -> pl.DataFrame:
    """Return a row of numbers for every instance: split, label, example, lengths and hashes of its texts.

    `premise_text` and `hypothesis_text` are equal for equal texts, `premise_key` and `hypothesis_key` for texts that
    are equal up to case and punctuation, on either side and for no others: texts that share a hash have been compared.
    `premise_filled` and `hypothesis_filled` say whether anything is left then, and `premise_placeholder` and
    `hypothesis_placeholder` whether the text only says that there is none.
    """
    if isinstance(data, NumberedInstances):
        numbers = data.own_numbers
    else:
        numbers = data.derived(("row table",), lambda: _exact_survey(data))
    return numbers.with_columns(example=series_of(data.example_codes))


def series_of(values: npt.NDArray[Any]) -> pl.Series:
    """Return numbers as a column that shares their memory, or their file."""
    series = pl.from_arrow(
        pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, pa.py_buffer(values)])
    )
    assert isinstance(series, pl.Series)
    return series


def survey(data: Instances) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return hashes and lengths of every instance, without the numbers of examples, and texts that share a hash."""
    columns: dict[str, pl.Series] = {}
    forms: dict[str, list[pl.Series]] = {kind: [] for kind in KINDS}
    for side in SIDES:
        texts = data.table[side]
        for kind in KINDS:
            forms[kind].append(form(texts, kind))
            columns[f"{side}_{kind}"] = pl.Series(text_hashes(forms[kind][-1]))
        columns |= {
            f"{side}_filled": forms["key"][-1] != "",
            f"{side}_placeholder": is_placeholder(texts),
            # White-space separated words: what a reader would call the length of a text.
            f"{side}_tokens": texts.str.count_matches(r"\S+").cast(pl.Int32),
        }
    numbers = pl.DataFrame(columns).with_columns(
        split=data.table["split"].cast(pl.String).cast(pl.Enum(SPLITS)),
        label=data.table["label"],
        content=pl.Series(data.row_hashes),
        beginning=pl.Series(beginning_hashes(data.table["hypothesis"])),
    )
    shared = [sharing(kind, _of_both(numbers, kind), pl.concat(forms[kind])) for kind in KINDS]
    return numbers, pl.concat(shared)


def _exact_survey(data: Instances) -> pl.DataFrame:
    """Return what `survey` returns, with different hashes for different texts."""
    numbers, shared = survey(data)
    if shared.is_empty():
        return numbers
    apart = told_apart(shared, lambda kind, hashes: np.isin(hashes, _of_both(numbers, kind)))
    for column, rows, new in changed_hashes(numbers, data.table, apart):
        numbers = numbers.with_columns(numbers[column].scatter(rows, new))
    return numbers


def _of_both(numbers: pl.DataFrame, kind: str) -> Hashes:
    """Return the hashes of the texts of both sides."""
    return np.concatenate([numbers[f"{side}_{kind}"].to_numpy() for side in SIDES])


@dataclass(frozen=True, eq=False)
class NumberedInstances(Instances):
    """Instances whose texts stay on disk, and so do the numbers of every row and the units it belongs to.

    The table has no texts; `read_texts` reads those of some rows. `numbers` is what `row_table` returns of the whole
    dataset, `of_texts` has the units of its rows, `closest` the closest of texts, and `counting` the numbers 0, 1, 2, …
    up to the number of its rows. All of them are mapped from files: memory holds what is looked at.
    """

    numbers: pl.DataFrame = field(default_factory=pl.DataFrame)
    of_texts: Mapping[UnitScope, Ints] | None = None
    closest: Mapping[UnitScope, Ints] | None = None
    read_texts: Callable[[Ints], pl.DataFrame] | None = None
    counting: Ints | None = None

    def numbers_from(self, first: int, last: int) -> Ints:
        """Return the numbers from one to before another, of which those up to all rows are on disk."""
        return super().numbers_from(first, last) if self.counting is None else self.counting[first:last]

    @cached_property
    def example_codes(self) -> Ints:
        """A number for every row that rows of the same example share, 0, 1, 2, … in order."""
        return super().example_codes if self.grouped else self.numbers_from(0, len(self))

    @cached_property
    def first_rows(self) -> Ints:
        """The first row of every example, and the number of rows at the end."""
        return super().first_rows if self.grouped else self.numbers_from(0, len(self) + 1)

    @property
    def own_numbers(self) -> pl.DataFrame:
        """What `numbers` has of these rows."""
        rows = self.row_numbers
        if rows is None:
            return self.numbers
        return self.numbers.slice(int(rows[0]), len(rows)) if is_range(rows) else self.numbers[rows]

    @cached_property
    def row_hashes(self) -> Hashes:
        """A number for every row that changes with its texts, label, split and position."""
        return self.own_numbers["content"].to_numpy()

    def _beginnings(self) -> Hashes:
        return self.own_numbers["beginning"].to_numpy()

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
        hashes = self.own_numbers[f"{side}_folded"].to_numpy()
        parts = range(-(-len(hashes) // COMPARED))  # by hash: no text is in two of them
        return sum(len(np.unique(hashes[hashes % np.uint64(len(parts)) == part])) for part in parts)

    def _closest_units(self, scope: Literal["hypothesis", "premise"]) -> Ints:
        assert self.closest is not None
        return self.closest[scope]

    def _find_units(self, scope: UnitScope) -> Ints:
        # An example of one hypothesis is a copy of another where that is.
        same = "hypothesis" if scope == "choices" and not self.grouped else scope
        units = (self.of_texts or {}).get(same)
        return super()._find_units(scope) if units is None else units


def bare_table(numbers: pl.DataFrame, examples: pl.Series) -> pl.DataFrame:
    """Return the table of instances without texts: those columns are empty and take no memory."""
    nothing = pl.lit(None)
    return numbers.select(
        example_id=examples,
        position=nothing,
        split="split",
        premise=nothing,
        hypothesis=nothing,
        label="label",
    )


def example_hashes(rows: Hashes, begins: Ints) -> Hashes:
    """Return a number for every example from the hashes of its rows; `begins` is the first row of each."""
    return np.asarray(np.add.reduceat(rows, begins)) if len(begins) else rows[:0]
