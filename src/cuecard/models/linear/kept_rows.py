"""Features of the linear learner where texts stay on disk: made of figures of every row, and of hashes in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data.instances import first_rows
from cuecard.data.survey import NumberedInstances
from cuecard.models.linear.input_features import Block, Reading, RowFigures, State, side_by_side
from cuecard.models.linear.ngram_features import (
    BITS,
    HashColumns,
    HashedRows,
    document_frequency,
    frequent_columns,
)
from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.text.encoded import Side

#: Rows whose hashes are read at a time.
AT_A_TIME = 50_000


@dataclass(frozen=True)
class PackedRows:
    """The hashes of all rows in one file, and where those of each begin in another: read as they are asked for."""

    folder: Path
    name: str

    def write(self, parts: Iterable[tuple[npt.NDArray[np.int32], Ints]]) -> PackedRows:
        """Write the hashes of parts of a dataset, each with the number of hashes of its rows."""
        self.folder.mkdir(parents=True, exist_ok=True)
        end = np.zeros(1, dtype=np.int64)
        with self._slots.open("wb") as slots, self._ends.open("wb") as ends:
            end.tofile(ends)
            for values, sizes in parts:
                values.tofile(slots)
                to = end[-1:] + np.cumsum(sizes, dtype=np.int64)
                to.tofile(ends)
                end = to if len(to) else end
        return self

    def take(self, rows: Ints) -> HashedRows:
        """Return the hashes of some rows; what is read of the files is let go at once."""
        if not self._slots.stat().st_size:  # nothing to map
            nothing = np.zeros(len(rows), dtype=np.int64)
            return HashedRows(np.empty(0, dtype=np.int32), nothing, nothing)
        ends = np.memmap(self._ends, dtype=np.int64, mode="r")
        starts, ends_of_rows = np.asarray(ends[rows]), np.asarray(ends[rows + 1])
        slots = np.asarray(np.memmap(self._slots, dtype=np.int32, mode="r"))
        every = np.arange(len(rows), dtype=np.int64)
        return HashedRows(slots, starts, ends_of_rows - starts).take(every)

    @property
    def _slots(self) -> Path:
        return self.folder / f"{self.name}.slots"

    @property
    def _ends(self) -> Path:
        return self.folder / f"{self.name}.ends"


@dataclass(frozen=True, eq=False)
class FiguredInstances(NumberedInstances):
    """Instances whose texts stay on disk, with their extra columns and figures of their texts.

    `figures` has the rows of the whole dataset: characters, tokens and shared words of every row. `packed` are the
    words of its texts as hashes, by what is read of them.
    """

    figures: pl.DataFrame = field(default_factory=pl.DataFrame)
    packed: Mapping[tuple[Reading | None, int], PackedRows] = field(default_factory=dict)

    @property
    def scratch(self) -> Path:
        """A folder for numbers of every example that are not needed for long."""
        return next(iter(self.packed.values())).folder

    def figure(self, name: str, rows: Ints | None = None) -> npt.NDArray[Any]:
        """Return a figure of some of these rows, of all by default."""
        return self._own(self.figures[name].to_numpy(), rows)

    def numbers_of(self, rows: Ints | None) -> Ints | None:
        """Return the numbers of some of these rows in the whole dataset; None for all of it."""
        if rows is None or self.row_numbers is None:
            return self.row_numbers if rows is None else rows
        return self.row_numbers[rows]

    def characters(self, side: Literal["premise", "hypothesis"]) -> npt.NDArray[np.integer[Any]]:
        """Return the number of characters of every text of one side."""
        return self.figure(f"{side}_characters")

    def blank(self, side: Literal["premise", "hypothesis"]) -> Bools:
        """Return which texts of one side have nothing but white space."""
        return self.figure(f"{side}_blank")

    def _own(self, values: npt.NDArray[Any], rows: Ints | None) -> npt.NDArray[Any]:
        numbers = self.numbers_of(rows)
        return values if numbers is None else values[numbers]


@dataclass(frozen=True, eq=False)
class KeptRows(RowFigures):
    """Rows whose texts stay on disk: all of the instances, or some whole examples of them."""

    data: FiguredInstances
    first_row: Ints
    chosen: Ints | None = None

    def take(self, rows: Ints) -> KeptRows:
        """Return some of the rows, those of an example adjacent."""
        return replace(self, first_row=first_rows(self.data.example_codes[rows]), chosen=rows)

    def hashed(self, side: Reading | None, ngrams: int) -> HashedRows:
        """Return the n-grams of one side as hashes, or for None the words of the hypothesis with their sharing."""
        numbers = self.data.numbers_of(self.chosen)
        return self.data.packed[side, ngrams].take(np.arange(len(self.data)) if numbers is None else numbers)

    def columns(self, side: Reading | None, ngrams: int, counted: Bools | None) -> HashColumns:
        """Return columns for the n-grams that at least two of the counted rows have, of all rows for None."""
        rows = np.arange(len(self.data)) if counted is None else np.flatnonzero(counted)
        frequency = np.zeros(1 << BITS, dtype=np.int32)
        for some in in_chunks(rows):
            hashed = self.take(some).hashed(side, ngrams)
            frequency += document_frequency(hashed, np.ones(len(some), dtype=np.bool_))
        return frequent_columns(frequency, len(rows))

    def lengths(self, side: Side) -> Ints:
        """Return the number of tokens of one side's texts."""
        return self._figure(f"{side}_length")

    def characters(self, side: Side) -> Floats:
        """Return the number of characters of one side's texts."""
        return self._figure(f"{side}_characters").astype(np.float64)

    def words(self) -> tuple[Ints, Ints]:
        """Return how many distinct words of the hypothesis the premise has, and how many there are."""
        return self._figure("shared"), self._figure("distinct")

    def _figure(self, name: str) -> Ints:
        return self.data.figure(name, self.chosen).astype(np.int64)


@dataclass(frozen=True, eq=False)
class InputMatrix:
    """The features of rows whose texts stay on disk, made of those that are asked for."""

    rows: KeptRows
    blocks: tuple[tuple[Block, float, State], ...]

    def __getitem__(self, rows: Ints) -> sparse.csr_matrix:
        """Return the features of some rows, those of an example adjacent."""
        some = self.rows.take(rows)
        return side_by_side(*(share * block.make(some, state) for block, share, state in self.blocks))


#: Features of all rows, in memory or made of the rows that are asked for.
Features = sparse.csr_matrix | InputMatrix


def in_chunks(rows: Ints) -> Iterator[Ints]:
    """Yield rows in parts of bounded size, at least one."""
    for start in range(0, max(len(rows), 1), AT_A_TIME):
        yield rows[start : start + AT_A_TIME]
