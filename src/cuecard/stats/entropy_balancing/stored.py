"""Labelled features of more rows than fit in memory: their entries stay in the file that they are mapped from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.entropy_balancing.constraints import LabelledFeatures

__all__ = ["StoredFeatures"]

_NONE = np.zeros(0)
# Rows whose entries are copied at a time.
_ROWS = 1 << 20


class StoredFeatures(LabelledFeatures):
    """Labelled features in compressed rows, kept in this order alone.

    They give the sums that `LabelledFeatures` of the same matrix give, to the last bit, in half of the room and, where
    the arrays are mapped from files, without taking memory for them.

    Args:
        indptr: where the entries of every row begin, and their number at the end.
        indices: ``feature · L + label`` of every entry, ascending in each row.
        values: the value of every entry; None where all are one.
        labels: the label code of every row.
        features: the number of features.
        label_count: the number of labels L.
    """

    def __init__(
        self,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.integer],
        values: Floats | None,
        labels: Ints,
        features: int,
        label_count: int,
    ) -> None:
        self.rows, self.features, self.label_count = len(indptr) - 1, features, label_count
        self.labels = labels
        self._by_row = (indptr, indices, values)

    def scores(self, multipliers: Floats) -> Floats:
        """Σ_j f_ij · multipliers[j, y_i] for every row i."""
        indptr, indices, values = self._by_row
        flat, sums = np.ascontiguousarray(multipliers).ravel(), np.empty(self.rows)
        for start in range(0, self.rows, _ROWS):
            bounds = indptr[start : start + _ROWS + 1]
            entries = slice(int(bounds[0]), int(bounds[-1]))
            data = np.ones(entries.stop - entries.start) if values is None else values[entries]
            shape = (len(bounds) - 1, len(flat))
            part = sparse.csr_array((data, indices[entries], bounds - bounds[0]), shape=shape)
            sums[start : start + _ROWS] = part @ flat
        return sums

    def totals(self, mass: Floats) -> Floats:
        """Σ_i mass_i · f_ij · 1[y_i = l] as a features × labels array."""
        return self._added(mass)

    def squared_totals(self, mass: Floats) -> Floats:
        """Σ_i mass_i · f_ij² for every feature j."""
        return np.asarray(self._added(mass, squared=True).sum(axis=1))

    def _added(self, mass: Floats, *, squared: bool = False) -> Floats:
        indptr, indices, values = self._by_row
        out = np.zeros(self.features * self.label_count)
        _native.add_by_column(indptr, indices, _NONE if values is None else values, mass, out, squared)
        return out.reshape(self.features, self.label_count)

    def only(self, chosen: Ints) -> LabelledFeatures:
        """Some of the features, in that order."""
        return _Some(self, chosen)

    def with_constant(self) -> LabelledFeatures:
        """The features and a last one that every row has."""
        return _WithConstant(self)

    def some_rows(self, rows: Ints) -> StoredFeatures:
        """The features of some rows, in memory."""
        indptr, indices, values = self._by_row
        sizes = indptr[rows + 1] - indptr[rows]
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        own = np.empty(int(ends[-1]), dtype=indices.dtype)
        own_values = None if values is None else np.empty(len(own))
        for start in range(0, len(rows), _ROWS):
            part = slice(start, min(start + _ROWS, len(rows)))
            first, last = int(ends[part.start]), int(ends[part.stop])
            shift = np.repeat(indptr[rows[part]] - ends[:-1][part], sizes[part])
            entries = np.arange(first, last) + shift
            own[first:last] = indices[entries]
            if values is not None and own_values is not None:
                own_values[first:last] = values[entries]
        return StoredFeatures(ends, own, own_values, self.labels[rows], self.features, self.label_count)


class _View(StoredFeatures):
    """Labelled features made from others; their sums are those of the others."""

    def __init__(self, of: StoredFeatures, features: int) -> None:
        self.of, self.rows, self.labels = of, of.rows, of.labels
        self.features, self.label_count = features, of.label_count


class _Some(_View):
    """Some of the features; the others have multipliers of zero, which change no sum."""

    def __init__(self, of: StoredFeatures, chosen: Ints) -> None:
        super().__init__(of, len(chosen))
        self.chosen = chosen

    def _wide(self, multipliers: Floats) -> Floats:
        wide = np.zeros((self.of.features, self.label_count))
        wide[self.chosen] = multipliers
        return wide

    def scores(self, multipliers: Floats) -> Floats:
        return self.of.scores(self._wide(multipliers))

    def multipliers_of(self, rows: Ints, multipliers: Floats) -> Any:
        place = np.full(self.of.features, -1)
        place[self.chosen] = np.arange(self.features)
        for features, own in self.of.multipliers_of(rows, self._wide(multipliers)):
            kept = place[features] >= 0
            if kept.any():
                yield place[features][kept], own[kept]

    def totals(self, mass: Floats) -> Floats:
        return self.of.totals(mass)[self.chosen]

    def squared_totals(self, mass: Floats) -> Floats:
        return self.of.squared_totals(mass)[self.chosen]

    def columns(self, chosen: Ints) -> sparse.csr_matrix:
        return self.of.columns(self.chosen[chosen])


class _WithConstant(_View):
    """Features and a last one that every row has."""

    def __init__(self, of: StoredFeatures) -> None:
        super().__init__(of, of.features + 1)

    def scores(self, multipliers: Floats) -> Floats:
        return np.asarray(self.of.scores(multipliers[:-1]) + multipliers[-1][self.labels])

    def multipliers_of(self, rows: Ints, multipliers: Floats) -> Any:
        indptr, indices, _ = self.of._by_row
        for row in rows:
            own = indices[indptr[row] : indptr[row + 1]] // self.label_count
            own = np.append(own, self.features - 1)
            yield own, multipliers[own, self.labels[row]]

    def totals(self, mass: Floats) -> Floats:
        constant = np.bincount(self.labels, weights=mass, minlength=self.label_count)
        return np.vstack([self.of.totals(mass), constant])

    def squared_totals(self, mass: Floats) -> Floats:
        constant = np.bincount(self.labels, weights=mass, minlength=self.label_count).sum()
        return np.append(self.of.squared_totals(mass), constant)

    def columns(self, chosen: Ints) -> sparse.csr_matrix:
        own = self.of.columns(chosen[chosen < self.of.features])
        if len(chosen) == own.shape[1]:
            return own
        return sparse.hstack([own, np.ones((self.rows, 1))], format="csr")
