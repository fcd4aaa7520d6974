"""A fitted linear model that has weights of the features it has met alone, and scores rows part by part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.data.space import MEMORY, Space
from cuecard.models.linear.features_on_request import Features
from cuecard.models.linear.learner import LinearModel
from cuecard.stats import _native
from cuecard.stats.arrays import Floats, Ints, follows

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
        own = (features.data, place[features.indices], features.indptr)
        model.fit(
            sparse.csr_matrix(own, shape=(features.shape[0], int(met.sum()))),
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
