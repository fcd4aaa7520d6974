"""Features of the linear learner where texts stay on disk: of figures of every row, and words as numbers in files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy import sparse

from cuecard.data.instances import Instances, first_rows
from cuecard.data.survey import NumberedInstances
from cuecard.engines import on_disk
from cuecard.models.linear.input_features import Block, Reading, RowFigures, State, maker, side_by_side
from cuecard.models.linear.ngram_features import (
    BITS,
    HashColumns,
    HashedRows,
    count_documents,
    frequent_columns,
    hash_rows,
)
from cuecard.stats.arrays import Bools, Floats, Ints, follows
from cuecard.text import Tokens
from cuecard.text.encoded import Side

#: Rows whose features are made at a time.
AT_A_TIME = 50_000


@dataclass(frozen=True)
class PackedTexts:
    """The words of texts as numbers in one file, and where those of each text begin in another."""

    folder: Path
    name: str

    def write(self, parts: Iterable[tuple[npt.NDArray[np.int32], Ints]]) -> PackedTexts:
        """Write the words of parts of a dataset, each with the number of words of its texts."""
        self.folder.mkdir(parents=True, exist_ok=True)
        end = np.zeros(1, dtype=np.int64)
        with self._words.open("wb") as words, self._ends.open("wb") as ends:
            end.tofile(ends)
            for values, sizes in parts:
                values.tofile(words)
                to = end[-1:] + np.cumsum(sizes, dtype=np.int64)
                to.tofile(ends)
                end = to if len(to) else end
        return self

    def take(self, rows: Ints, vocabulary: pl.Series) -> Tokens:
        """Return some texts; what is read of the files is let go with them."""
        # Compiled loops take what could be written to as any other array; nobody does.
        ends = np.asarray(np.memmap(self._ends, dtype=np.int64, mode="c"))
        if not self._words.stat().st_size:  # nothing to map
            words = np.empty(0, dtype=np.int32)
        else:
            words = np.asarray(np.memmap(self._words, dtype=np.int32, mode="c"))
        texts = Tokens(words, ends, vocabulary)
        return texts.rows(int(rows[0]), int(rows[-1]) + 1) if follows(rows) else texts.gather(rows)

    @property
    def _words(self) -> Path:
        return self.folder / f"{self.name}.words"

    @property
    def _ends(self) -> Path:
        return self.folder / f"{self.name}.ends"


@dataclass(frozen=True, eq=False)
class FiguredInstances(NumberedInstances):
    """Instances whose texts stay on disk, with their extra columns and figures of their texts.

    `figures` are those of the rows of the whole dataset, mapped from files: characters, tokens and shared words.
    `packed` are the words of its texts as numbers, of which there are `n_words`.
    """

    figures: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    packed: Mapping[Side, PackedTexts] = field(default_factory=dict)
    n_words: int = 0

    @property
    def scratch(self) -> Path:
        """A folder for numbers of every example that are not needed for long."""
        return self.packed["hypothesis"].folder

    @cached_property
    def label_codes(self) -> npt.NDArray[Any]:
        """Index into `labels` for every row, on disk."""
        return self.kept(super().label_codes.astype(np.int64))

    @cached_property
    def example_codes(self) -> Ints:
        """A number for every row that rows of the same example share, on disk."""
        return self.kept(super().example_codes) if self.grouped else super().example_codes

    @cached_property
    def first_rows(self) -> Ints:
        """The first row of every example, and the number of rows at the end, on disk."""
        return self.kept(super().first_rows) if self.grouped else super().first_rows

    def kept(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return numbers of every row or example on disk."""
        return on_disk(values, self.scratch)

    @cached_property
    def _vocabulary(self) -> pl.Series:
        """A place for every word; none of them is read."""
        return pl.Series([None], dtype=pl.Null).new_from_index(0, self.n_words)

    @cached_property
    def _keys(self) -> Ints:
        """The number that each word is known by."""
        return np.arange(1, self.n_words + 1, dtype=np.int64)

    def hashed(self, side: Reading | None, ngrams: int, rows: Ints) -> HashedRows:
        """Return the n-grams of one side of some rows as hashes, or for None the words of the hypothesis."""
        sides: tuple[Side, ...] = ("premise", "hypothesis")
        both = [self.packed[name].take(rows, self._vocabulary) for name in sides if side in (name, None)]
        shared = (both[0], both[1]) if side is None else None
        return hash_rows([] if shared else both, ngrams=ngrams, shared=shared, keys=self._keys)

    def figure(self, name: str, rows: Ints | None = None) -> npt.NDArray[Any]:
        """Return a figure of some of these rows, of all by default."""
        return self._own(self.figures[name], rows)

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
        if numbers is None:
            return values
        return values[numbers[0] :][: len(numbers)] if follows(numbers) else values[numbers]


def scratch_of(data: Instances) -> Path | None:
    """Return the folder for numbers of every example, where texts stay on disk and so do these."""
    return data.scratch if isinstance(data, FiguredInstances) else None


@dataclass(frozen=True, eq=False)
class KeptRows(RowFigures):
    """Rows whose texts stay on disk: all of the instances, or some whole examples of them."""

    data: FiguredInstances
    first_row: Ints
    chosen: Ints | None = None

    def take(self, rows: Ints) -> KeptRows:
        """Return some of the rows, those of an example adjacent."""
        grouped = self.data.grouped
        firsts = first_rows(self.data.example_codes[rows]) if grouped else np.arange(len(rows) + 1)
        return replace(self, first_row=firsts, chosen=rows)

    def pieces(self) -> Iterator[tuple[RowFigures, slice]]:
        """Yield parts of the rows with whole examples, each with where it is; chosen rows have no such parts."""
        assert self.chosen is None
        for start in range(0, len(self.first_row) - 1, AT_A_TIME):
            first, last = (
                self.first_row[start],
                self.first_row[min(start + AT_A_TIME, len(self.first_row) - 1)],
            )
            yield self.take(np.arange(first, last)), slice(first, last)

    def hashed(self, side: Reading | None, ngrams: int) -> HashedRows:
        """Return the n-grams of one side as hashes, or for None the words of the hypothesis with their sharing."""
        numbers = self.data.numbers_of(self.chosen)
        return self.data.hashed(side, ngrams, np.arange(len(self.data)) if numbers is None else numbers)

    def columns(self, side: Reading | None, ngrams: int, counted: Bools | None) -> HashColumns:
        """Return columns for the n-grams that at least two of the counted rows have, of all rows for None."""
        frequency, n = np.zeros(1 << BITS, dtype=np.int32), 0
        for piece, where in self.pieces():
            used = np.ones(where.stop - where.start, np.bool_) if counted is None else counted[where]
            if used.any():
                count_documents(piece.hashed(side, ngrams), used, frequency)
                n += int(used.sum())
        return frequent_columns(frequency, n)

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
    makers: tuple[Callable[[RowFigures], sparse.csr_matrix], ...]
    shares: tuple[float, ...]
    n_features: int

    @classmethod
    def of(cls, rows: KeptRows, blocks: Sequence[tuple[Block, float, State]]) -> InputMatrix:
        """Return the features of blocks, each with its share and what it has learned."""
        makers = tuple(maker(block, state) for block, _, state in blocks)
        width = sum(block.width(state) for block, _, state in blocks)
        return cls(rows, makers, tuple(share for _, share, _ in blocks), width)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        return len(self.rows.data), self.n_features

    def parts(self, rows: Ints) -> Iterator[tuple[sparse.csr_matrix, float]]:
        """Yield the features of some rows, those of an example adjacent, with the share of each block."""
        some = self.rows.take(rows)
        for make, share in zip(self.makers, self.shares, strict=True):
            yield make(some), share

    def __getitem__(self, rows: Ints) -> sparse.csr_matrix:
        """Return the features of some rows, those of an example adjacent."""
        blocks = []
        for part, share in self.parts(rows):
            part.data *= share
            blocks.append(part)
        return side_by_side(*blocks)


@dataclass(frozen=True, eq=False)
class Indicators:
    """Features that say which value each of some columns has, made of the rows that are asked for."""

    columns: tuple[npt.NDArray[np.integer[Any]], ...]
    widths: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        return len(self.columns[0]), sum(self.widths)

    def parts(self, rows: Ints) -> Iterator[tuple[sparse.csr_matrix, float]]:
        """Yield the features of some rows."""
        n = len(rows)
        for column, width in zip(self.columns, self.widths, strict=True):
            codes = column[rows].astype(np.int32)
            yield sparse.csr_matrix((np.ones(n), codes, np.arange(n + 1)), shape=(n, width)), 1.0

    def __getitem__(self, rows: Ints) -> sparse.csr_matrix:
        """Return the features of some rows."""
        return side_by_side(*(part for part, _ in self.parts(rows)))


#: Features of all rows, in memory or made of the rows that are asked for.
Features = sparse.csr_matrix | InputMatrix | Indicators
