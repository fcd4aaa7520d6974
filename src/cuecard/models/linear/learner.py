"""A regularised linear learner on sparse features with a certificate of how exact it is, and what scores many rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax

from cuecard.data.instances import first_rows
from cuecard.data.space import MEMORY, Space
from cuecard.models.linear.input_features import Block, InputRows, Maker, State, side_by_side
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints, follows


@dataclass
class LinearModel:
    """Multinomial logistic regression, or a softmax over the rows of each example where `groups` are given.

    Minimises   Σ_i weight_i · (log Σ_j exp z_ij − z_i,gold) + |w|² / (2 · strength)

    by dual coordinate ascent (Shalev-Shwartz & Zhang 2013) in a seeded order. The gap between primal and dual
    is the sum of KL(dual_i ‖ softmax(z_i)), so it costs nothing to know; fitting stops when it is at most
    `tolerance` nats per example, which bounds how far the objective is from its optimum.

    Args:
        strength: inverse of the penalty, scikit-learn's C.
        tolerance: duality gap per example to stop at.
        most_epochs: passes over the data after which to stop anyway.
        seed: of the order in which examples are visited.

    After `fit`: `coef_` (features × classes, or one weight per feature for groups), `intercept_` (penalised
    like any other weight; zeros for groups, where it would cancel), `gap_` and `epochs_`.
    """

    strength: float = 1.0
    tolerance: float = 1e-4
    most_epochs: int = 60
    seed: int = 0

    def fit(
        self,
        features: sparse.csr_matrix,
        y: npt.ArrayLike,
        *,
        sample_weight: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        each_epoch: Callable[[], None] | None = None,
    ) -> Self:
        """Learn from rows; return the model itself.

        Args:
            features: one sparse row per instance.
            y: a class number 0, 1, 2, … per row; with `groups`, 1 for the one right row of each and 0 for others.
            sample_weight: how often each row counts; with `groups`, the weight of the right row is the example's.
            groups: the example of each row; rows of an example are adjacent.
            each_epoch: called after every pass over the data, when the model can predict already.
        """
        codes = np.asarray(y, dtype=np.int64)
        weight = np.ones(len(codes)) if sample_weight is None else np.asarray(sample_weight, np.float64)
        if not len(codes) == features.shape[0] == len(weight):
            raise ValueError("features, y and sample_weight must have the same number of rows")
        if groups is None:
            return self._fit_classes(features, codes, weight, each_epoch)
        return self._fit_within(features, codes, weight, first_rows(groups), each_epoch)

    def _fit_classes(
        self, features: sparse.csr_matrix, codes: Ints, weight: Floats, each_epoch: Callable[[], None] | None
    ) -> Self:
        n, k = len(codes), int(codes.max(initial=0)) + 1
        arrays = _arrays(features)
        squares = _row_squares(features) + 1
        self.coef_, self.intercept_ = np.zeros((features.shape[1], k)), np.zeros(k)
        dual = np.zeros((n, k))
        dual[np.arange(n), codes] = 1

        def epoch(order: Ints) -> float:
            return _native.multinomial_epoch(
                *arrays, squares, weight, order, 1 / self.strength, self.coef_, self.intercept_, dual
            )

        return self._ascend(epoch, n, weight.sum(), each_epoch)

    def _fit_within(
        self,
        features: sparse.csr_matrix,
        right: Ints,
        weight: Floats,
        first_row: Ints,
        each_epoch: Callable[[], None] | None,
    ) -> Self:
        if (np.add.reduceat(right, first_row[:-1]) != 1).any() or not np.isin(right, (0, 1)).all():
            raise ValueError("every group must have exactly one row with y = 1, all others 0")
        arrays = _arrays(features)
        weight = weight[right == 1]
        self.coef_, self.intercept_ = np.zeros(features.shape[1]), np.zeros(1)
        dual, scratch = right.astype(np.float64), np.zeros(features.shape[1])

        def epoch(order: Ints) -> float:
            return _native.within_epoch(
                *arrays, first_row, weight, order, 1 / self.strength, self.coef_, dual, scratch
            )

        return self._ascend(epoch, len(weight), weight.sum(), each_epoch)

    def _ascend(
        self,
        epoch: Callable[[Ints], float],
        n: int,
        total_weight: float,
        each_epoch: Callable[[], None] | None,
    ) -> Self:
        generator = np.random.default_rng(self.seed)
        self.epochs_, self.gap_ = 0, np.inf
        while self.epochs_ < self.most_epochs and self.gap_ > self.tolerance:
            self.gap_ = epoch(generator.permutation(n)) / max(total_weight, 1e-300)
            self.epochs_ += 1
            if each_epoch is not None:
                each_epoch()
        return self

    def decision_function(self, features: sparse.csr_matrix) -> Floats:
        """Return the margins: rows × classes, or one number per row if the model was fitted with groups."""
        margins: Floats = np.asarray(features @ self.coef_)
        return margins + self.intercept_ if margins.ndim == 2 else margins

    def predict_proba(self, features: sparse.csr_matrix, *, groups: npt.ArrayLike | None = None) -> Floats:
        """Return probabilities: rows × classes, or for groups each row's chance to be the right one of its own."""
        return self.probabilities(self.decision_function(features), groups=groups)

    def probabilities(self, margins: Floats, *, groups: npt.ArrayLike | None = None) -> Floats:
        """Return the probabilities of margins, as `predict_proba` does for features."""
        if margins.ndim == 2:
            return np.asarray(softmax(margins, axis=1))
        if groups is None:
            raise ValueError("a model fitted with groups needs them to predict")
        return softmax_within(margins, first_rows(groups))


def softmax_within(margins: Floats, first_row: Ints) -> Floats:
    """Return the softmax of one margin per row over the rows of each example."""
    if len(margins) == 0:
        return margins
    sizes, starts = np.diff(first_row), first_row[:-1]
    odds = np.exp(margins - np.repeat(np.maximum.reduceat(margins, starts), sizes))
    return np.asarray(odds / np.repeat(np.add.reduceat(odds, starts), sizes))


def _arrays(features: sparse.csr_matrix) -> tuple[Ints, npt.NDArray[np.int32], Floats]:
    """Return the matrix's arrays in the types the loops are compiled for."""
    return (
        features.indptr.astype(np.int64, copy=False),
        features.indices.astype(np.int32, copy=False),
        features.data.astype(np.float64, copy=False),
    )


def _row_squares(features: sparse.csr_matrix) -> Floats:
    """Return the squared length of every row."""
    cumulative = np.zeros(len(features.data) + 1)
    np.cumsum(np.square(features.data), out=cumulative[1:])
    squares: Floats = cumulative[features.indptr[1:]] - cumulative[features.indptr[:-1]]
    return squares


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
