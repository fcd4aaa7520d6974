"""Features of many rows, made of the rows that are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.models.linear.input_features import Block, InputRows, State, maker, side_by_side
from cuecard.stats.arrays import Ints


@dataclass(frozen=True, eq=False)
class InputMatrix:
    """The features of many rows, made of those that are asked for."""

    rows: InputRows
    makers: tuple[Callable[[InputRows], sparse.csr_matrix], ...]
    shares: tuple[float, ...]
    n_features: int

    @classmethod
    def of(cls, rows: InputRows, blocks: Sequence[tuple[Block, float, State]]) -> InputMatrix:
        """Return the features of blocks, each with its share and what it has learned."""
        makers = tuple(maker(block, state) for block, _, state in blocks)
        width = sum(block.width(state) for block, _, state in blocks)
        return cls(rows, makers, tuple(share for _, share, _ in blocks), width)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        return self.rows.n_rows, self.n_features

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
