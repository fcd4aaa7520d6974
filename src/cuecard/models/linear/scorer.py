"""Features of many rows, made of those that are asked for, and a fitted linear model that scores them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.data.space import MEMORY, Space
from cuecard.models.linear.input_features import Block, InputRows, Maker, State, side_by_side
from cuecard.models.linear.learner import LinearModel
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints, follows


@dataclass(frozen=True, eq=False)
class InputMatrix:
    """The features of many rows, made of those that are asked for."""

    rows: InputRows
    makers: tuple[Maker, ...]
    shares: tuple[float, ...]
    n_features: int

    @classmethod
    def of(cls, rows: InputRows, blocks: Sequence[tuple[Block, float, State]]) -> InputMatrix:
        """Return the features of blocks, each with its share and what it has learned."""
        makers = tuple(block.maker(state) for block, _, state in blocks)
        width = sum(block.width(state) for block, _, state in blocks)
        return cls(rows, makers, tuple(share for _, share, _ in blocks), width)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of features."""
        return self.rows.n_rows, self.n_features

    def parts(self, rows: Ints) -> Iterator[tuple[sparse.csr_matrix, float]]:
        """Yield the features of some rows, those of an example adjacent, with the share of each block."""
        chosen = self.rows.take(rows)
        for make, share in zip(self.makers, self.shares, strict=True):
            yield make(chosen), share

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
Features: TypeAlias = sparse.csr_matrix | InputMatrix | Indicators


#: Features of some rows, block by block, each with the share that its values get of a row's length.
Parts = Sequence[tuple[sparse.csr_matrix, float]]


def parts_of(matrix: Features, rows: Ints) -> Parts:
    """Return the features of some rows, those of an example adjacent."""
    if not isinstance(matrix, sparse.csr_matrix):
        return list(matrix.parts(rows))
    return [(matrix[int(rows[0]) : int(rows[-1]) + 1] if follows(rows) else matrix[rows], 1.0)]


@dataclass(frozen=True, eq=False)
class Scorer:
    """A fitted model, and where among its weights those of every feature are; -1 where it has met none."""

    model: LinearModel
    place: npt.NDArray[np.int32]
    weights: Floats

    @classmethod
    def fitted(
        cls,
        model: LinearModel,
        features: sparse.csr_matrix,
        y: Ints,
        *,
        sample_weight: Floats | None = None,
        groups: Ints | None = None,
        space: Space = MEMORY,
    ) -> Self:
        """Return a model that learned from rows; what it has learned is kept in a space.

        A feature that no row has keeps a weight of 0 whatever is learned, so that it takes no place.
        """
        met = np.zeros(features.shape[1], dtype=np.bool_)
        met[features.indices] = True
        place = np.where(met, np.cumsum(met, dtype=np.int32) - np.int32(1), np.int32(-1))
        columns = (features.data, place[features.indices], features.indptr)
        model.fit(
            sparse.csr_matrix(columns, shape=(features.shape[0], int(met.sum()))),
            y,
            sample_weight=sample_weight,
            groups=groups,
        )
        weights = model.coef_.reshape(len(model.coef_), -1)
        place, weights = space.stored(place), space.stored(weights)
        model.coef_ = weights.reshape(model.coef_.shape)
        return cls(model, place, weights)

    def margins(self, parts: Parts, rows: Ints) -> Floats:
        """Return the margins of some rows of the features: rows × classes, or one number per row for groups."""
        margins, first = np.zeros((len(rows), self.weights.shape[1])), 0
        for features, share in parts:
            last = first + features.shape[1]
            _native.add_margins(
                features.indptr.astype(np.int64, copy=False),
                features.indices.astype(np.int32, copy=False),
                features.data,
                share,
                rows,
                self.place[first:last],
                self.weights,
                margins,
            )
            first = last
        return margins[:, 0] if self.model.coef_.ndim == 1 else margins + self.model.intercept_
