"""Balance constraints ``Σ_i q_i f_ij (1[y_i = l] − target_l) = 0`` of sparse features j and labels l."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.stats.arrays import Floats, Ints, Matrix, Threads

__all__ = ["LabelledFeatures", "Target", "err", "resolve_target"]

Target: TypeAlias = Literal["uniform", "overall"] | npt.ArrayLike
# Rows of a matrix that are looked at at a time.
_ROWS = 1 << 20
# Below this many entries, a second thread costs more than it saves.
_WORTH_THREADS = 200_000


class LabelledFeatures:
    """A sparse feature matrix folded with the labels, so that each product costs one pass over its non-zeros.

    A row only ever meets the multipliers of its own label. Storing the column as ``feature · L + label``
    makes one sparse matrix of J · L columns with no more entries than the features had: the n × (J · L)
    matrix of constraints is never formed.
    """

    def __init__(self, features: Matrix, labels: npt.ArrayLike, label_count: int) -> None:
        matrix = checked_features(features)
        codes = self.labels = np.asarray(labels)
        self.rows, self.features = (int(size) for size in matrix.shape)
        self.label_count = label_count
        owner = np.repeat(codes, np.diff(matrix.indptr))
        columns = matrix.indices.astype(np.int64) * label_count + owner
        wide = self.features * label_count > np.iinfo(np.int32).max
        binary = bool(np.all(matrix.data == 1.0))
        folded = sparse.csr_matrix(
            (
                np.ones(len(columns), dtype=np.int8) if binary else matrix.data,
                columns.astype(np.int64 if wide else np.int32),
                matrix.indptr,
            ),
            shape=(self.rows, self.features * label_count),
        )
        transposed = folded.tocsc()
        self._by_row = (folded.indptr, folded.indices, None if binary else folded.data)
        ones = (
            np.ones(len(columns)) if binary else None
        )  # for both directions: the order of ones does not matter
        self._row_sums = _Product(folded, ones)
        self._column_sums = _Product(transposed.T, ones)
        self._binary = binary

    def scores(self, multipliers: Floats) -> Floats:
        """Σ_j f_ij · multipliers[j, y_i] for every row i."""
        return self._row_sums(np.ascontiguousarray(multipliers).ravel())

    def multipliers_of(self, rows: Ints, multipliers: Floats) -> Iterator[tuple[Ints, Floats]]:
        """The features of each of some rows that has any, with their multipliers for the row's label."""
        indptr, indices, _ = self._by_row
        flat = np.ascontiguousarray(multipliers).ravel()
        for row in rows:
            own = indices[indptr[row] : indptr[row + 1]]
            if len(own):
                yield own // self.label_count, flat[own]

    def columns(self, chosen: Ints) -> sparse.csr_matrix:
        """The matrix of some features, in that order."""
        parts = [self._columns(chosen, start) for start in range(0, self.rows, _ROWS)]
        return parts[0] if len(parts) == 1 else sparse.vstack(parts, format="csr")

    def _columns(self, chosen: Ints, start: int) -> sparse.csr_matrix:
        indptr, indices, values = self._by_row
        bounds = indptr[start : start + _ROWS + 1]
        entries = slice(int(bounds[0]), int(bounds[-1]))
        place = np.full(self.features, -1, dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        column = place[indices[entries] // self.label_count]
        kept = column >= 0
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        data = np.ones(int(before[-1])) if values is None else values[entries][kept]
        shape = (len(bounds) - 1, len(chosen))
        return sparse.csr_matrix((data, column[kept], before[bounds - bounds[0]]), shape=shape)

    def only(self, chosen: Ints) -> LabelledFeatures:
        """Some of the features, in that order."""
        return LabelledFeatures(self.columns(chosen), self.labels, self.label_count)

    def with_constant(self) -> LabelledFeatures:
        """The features and a last one that every row has."""
        own = self.columns(np.arange(self.features))
        whole = sparse.hstack([own, np.ones((self.rows, 1))], format="csr")
        return LabelledFeatures(whole, self.labels, self.label_count)

    def totals(self, mass: Floats) -> Floats:
        """Σ_i mass_i · f_ij · 1[y_i = l] as a features × labels array."""
        return self._column_sums(mass).reshape(self.features, self.label_count)

    def squared_totals(self, mass: Floats) -> Floats:
        """Σ_i mass_i · f_ij² for every feature j."""
        if self._binary:
            return np.asarray(self.totals(mass).sum(axis=1))
        flat = self._column_sums.squared(mass)
        return np.asarray(flat.reshape(self.features, self.label_count).sum(axis=1))


class _Product:
    """A sparse matrix times vectors, its rows divided between two threads.

    Every row is summed by one of them in the order of its entries, so the result does not depend on threads.
    """

    def __init__(self, matrix: Matrix, values: Floats | None = None) -> None:
        data = matrix.data if values is None else values
        indptr, indices = matrix.indptr, matrix.indices
        rows, width = matrix.shape
        several = len(indices) >= _WORTH_THREADS
        middle = int(np.searchsorted(indptr, len(indices) // 2)) if several else rows
        self._parts = []
        for first, last in pairwise(sorted({0, middle, rows})):
            entries = slice(int(indptr[first]), int(indptr[last]))
            begins = indptr[first : last + 1] - indptr[first]
            part = sparse.csr_array((data[entries], indices[entries], begins), shape=(last - first, width))
            self._parts.append(part)

    def __call__(self, x: Floats) -> Floats:
        return self._each(self._parts, x)

    def squared(self, x: Floats) -> Floats:
        """Return the product of the squared entries."""
        return self._each([part.power(2) for part in self._parts], x)

    def _each(self, parts: list[Matrix], x: Floats) -> Floats:
        if len(parts) == 1:
            return np.asarray(parts[0] @ x)
        with Threads(len(parts)) as pool:
            return np.concatenate([np.zeros(0), *pool.map(lambda part: part @ x, parts)])


def checked_features(features: Matrix) -> Matrix:
    """Features as a CSR matrix of float64 without duplicates or stored zeros."""
    if not sparse.issparse(features):
        raise ValueError("features must be a scipy sparse matrix (instances × features).")
    matrix = sparse.csr_matrix(features, dtype=np.float64, copy=True)
    if not matrix.has_sorted_indices:
        # Transposing twice sorts in linear time; CountVectorizer leaves its rows unsorted.
        matrix = matrix.tocsc().tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if not np.all(np.isfinite(matrix.data)) or np.any(matrix.data < 0):
        raise ValueError("features must be finite and not negative.")
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise ValueError(f"features must have rows and columns, got shape {matrix.shape}.")
    return matrix


def checked_labels(labels: npt.ArrayLike, rows: int, label_names: Sequence[str] | None) -> tuple[Ints, int]:
    """Labels as codes 0 … L−1 and L; a class without instances is an error that names it."""
    codes = np.asarray(labels)
    if codes.ndim != 1 or len(codes) != rows:
        raise ValueError(f"labels must be one code per row of features ({rows}), got shape {codes.shape}.")
    if not np.issubdtype(codes.dtype, np.integer) or codes.min() < 0:
        raise ValueError("labels must be integer codes 0, 1, 2, …")
    count = max(int(codes.max()) + 1, 0 if label_names is None else len(label_names))
    if label_names is not None and count > len(label_names):
        raise ValueError(f"label code {count - 1} has no name: {len(label_names)} label names were given.")
    if count < 2:
        raise ValueError("balancing needs at least two classes; only class 0 occurs.")
    present = np.bincount(codes, minlength=count)
    if np.any(present == 0):
        missing = int(np.flatnonzero(present == 0)[0])
        name = repr(label_names[missing]) if label_names is not None else str(missing)
        raise ValueError(f"class {name} has no instance, so no weights can balance it.")
    return codes.astype(np.int64, copy=False), count


def checked_base(base_weights: npt.ArrayLike | None, rows: int) -> Floats:
    """Probabilities of the base weights, which sum to one; uniform when none are given."""
    if base_weights is None:
        return np.full(rows, 1.0 / rows)
    base = np.asarray(base_weights, dtype=np.float64)
    if base.shape != (rows,):
        raise ValueError(
            f"base_weights must be one number per row of features ({rows}), got shape {base.shape}."
        )
    if not np.all(np.isfinite(base)) or np.any(base <= 0):
        raise ValueError("base_weights must be finite and positive.")
    return np.asarray(base / base.sum())


def resolve_target(target: Target, labels: Ints, label_count: int, mass: Floats) -> Floats:
    """Target share of each label: 1/L, the overall label mass, or the given shares."""
    if isinstance(target, str):
        if target == "uniform":
            return np.full(label_count, 1.0 / label_count)
        if target == "overall":
            return np.asarray(np.bincount(labels, weights=mass, minlength=label_count) / mass.sum())
        raise ValueError(f"target must be 'uniform', 'overall' or an array of label shares, not {target!r}.")
    shares = np.asarray(target, dtype=np.float64)
    if shares.shape != (label_count,):
        raise ValueError(f"target must hold one share per class ({label_count}), got shape {shares.shape}.")
    if not np.all(shares > 0) or abs(shares.sum() - 1.0) > 1e-9:
        raise ValueError("target shares must be positive and sum to one.")
    return shares


class Problem(NamedTuple):
    """What is to be balanced, checked: features, label codes and their number, base weights, label shares to reach."""

    matrix: sparse.csc_matrix
    codes: Ints
    label_count: int
    base: Floats
    shares: Floats


def checked_problem(
    features: Matrix,
    labels: npt.ArrayLike,
    target: Target,
    base_weights: npt.ArrayLike | None = None,
    label_names: Sequence[str] | None = None,
) -> Problem:
    """Return features, labels, base weights and target after checking that they fit each other."""
    matrix = checked_features(features)
    codes, count = checked_labels(labels, matrix.shape[0], label_names)
    base = checked_base(base_weights, matrix.shape[0])
    return Problem(matrix, codes, count, base, resolve_target(target, codes, count, base))


def labelled_problem(
    features: Matrix,
    labels: npt.ArrayLike,
    target: Target,
    base_weights: npt.ArrayLike | None = None,
    label_names: Sequence[str] | None = None,
) -> tuple[LabelledFeatures, Ints, Floats, Floats]:
    """Return labelled features, label codes, base weights and target after checking that they fit each other."""
    if not isinstance(features, LabelledFeatures):
        matrix, codes, count, base, shares = checked_problem(
            features, labels, target, base_weights, label_names
        )
        return LabelledFeatures(matrix, codes, count), codes, base, shares
    codes, count = checked_labels(labels, features.rows, label_names)
    equal = np.broadcast_to(np.float64(1.0 / features.rows), (features.rows,))
    base = equal if base_weights is None else checked_base(base_weights, features.rows)
    return features, codes, base, resolve_target(target, codes, count, base)


def share_residuals(totals: Floats, target: Floats) -> Floats:
    """q(l | f_j) − target_l for every feature and label; NaN where a feature has no weight."""
    mass = totals.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(mass > 0, totals / mass - target, np.nan)


def err(weights: npt.ArrayLike, features: Matrix, labels: npt.ArrayLike, target: Target = "uniform") -> float:
    """Mean over features and labels of |q(label | feature) − target|, Stubborn's Err(q).

    ``target="overall"`` compares with the weighted share of each label over all instances.
    """
    matrix = checked_features(features)
    codes, count = checked_labels(labels, matrix.shape[0], None)
    mass = np.asarray(weights, dtype=np.float64)
    if mass.shape != codes.shape or not np.all(np.isfinite(mass)) or np.any(mass < 0) or mass.sum() == 0:
        raise ValueError("weights must be one finite number per row, not negative, and not all zero.")
    shares = resolve_target(target, codes, count, mass)
    residuals = share_residuals(LabelledFeatures(matrix, codes, count).totals(mass), shares)
    if np.all(np.isnan(residuals)):
        raise ValueError("no feature has any weight, so Err is not defined.")
    return float(np.nanmean(np.abs(residuals)))
