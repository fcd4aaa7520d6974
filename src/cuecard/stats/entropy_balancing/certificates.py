"""Proofs that features cannot be balanced: multipliers under which no admissible weights sum to zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.stats.arrays import Floats
from cuecard.stats.entropy_balancing.constraints import LabelledFeatures

__all__ = [
    "Certificate",
    "absent_label_certificate",
    "conflict_certificate",
    "direction_certificate",
    "is_proof",
]

_ROUNDING = 1e-7


@dataclass(frozen=True)
class Certificate:
    """A theorem of the alternative, checkable by anyone with ``holds``.

    Balanced weights make every ``Σ_i q_i f_ij (1[y_i = l] − target_l)`` zero, so they make the sum of
    ``q_i · score_i`` zero for any multipliers. Here the scores are never negative and positive somewhere: the
    rows with a positive score would need weight zero. With ``max_weight`` the smallest possible sum of
    ``q_i · score_i`` is positive, so no admissible weights are balanced at all.
    """

    features: npt.NDArray[np.int64]
    """Features that take part."""
    multipliers: Floats
    """Multiplier of every taking-part feature (rows) and label (columns)."""
    max_weight: float | None = None
    """The weight limit that the proof relies on, or None."""

    def scores(self, features: Any, labels: npt.ArrayLike, target: npt.ArrayLike) -> Floats:
        """Score of every row: Σ_j f_ij (multiplier[j, y_i] − Σ_l target_l · multiplier[j, l])."""
        codes, shares = np.asarray(labels), np.asarray(target, dtype=np.float64)
        centred = self.multipliers - (self.multipliers @ shares)[:, None]
        columns = sparse.csc_matrix(features)[:, self.features].tocsr()
        scores = np.zeros(len(codes))
        for label in range(len(shares)):
            rows = np.flatnonzero(codes == label)
            scores[rows] = columns[rows] @ centred[:, label]
        return scores

    def scores_of(self, features: LabelledFeatures, target: Floats) -> Floats:
        """Score of every row of labelled features, as `scores` has it."""
        centred = np.zeros((features.features, features.label_count))
        centred[self.features] = self.multipliers - (self.multipliers @ target)[:, None]
        return features.scores(centred)

    def holds(
        self,
        features: Any,
        labels: npt.ArrayLike,
        target: npt.ArrayLike,
        groups: npt.ArrayLike | None = None,
    ) -> bool:
        """Whether the proof is valid for these data (uniform base weights)."""
        scores = self.scores(features, labels, target)
        if groups is not None:
            codes = np.unique(np.asarray(groups), return_inverse=True)[1]
            scores = (np.bincount(codes, weights=scores) / np.bincount(codes))[codes]
        return is_proof(scores, self.max_weight)


def is_proof(scores: Floats, max_weight: float | None) -> bool:
    """Whether scores (one per row) rule out balanced weights that are positive everywhere."""
    size = float(np.max(np.abs(scores), initial=0.0))
    if size == 0.0:
        return False
    if max_weight is None:
        return bool(scores.min() >= -_ROUNDING * size and scores.max() > 1e-3 * size)
    # The smallest possible Σ q·score fills the lowest scores up to their limit first.
    order = np.argsort(scores)
    room = np.clip(1.0 - max_weight * np.arange(len(scores)) / len(scores), 0.0, max_weight / len(scores))
    return bool(room @ scores[order] > _ROUNDING * size)


def absent_label_certificate(feature: int, label: int, label_count: int) -> Certificate:
    """Proof for a feature that never occurs with one label: its other rows would need weight zero."""
    multipliers = np.zeros((1, label_count))
    multipliers[0, label] = -1.0
    return Certificate(np.array([feature]), multipliers)


def direction_certificate(
    multipliers: Floats, features: npt.NDArray[np.int64], max_weight: float | None
) -> Certificate:
    """Proof carried by a diverging dual: its direction separates zero from all admissible weights."""
    norm = float(np.max(np.abs(multipliers), initial=0.0)) or 1.0
    return Certificate(features, -multipliers / norm, max_weight)


def conflict_certificate(
    columns: Any, labels: npt.NDArray[np.int64], target: Floats, features: npt.NDArray[np.int64]
) -> Certificate | None:
    """Proof, if there is one, that the given columns cannot all be balanced with positive weights.

    Linear programme over multipliers λ: maximise ``Σ_i min(score_i, 1)`` with every score ≥ 0. Rows with the
    same label and features are one constraint. The result is thinned to the features that carry the proof.
    """
    from scipy.optimize import linprog

    rows = np.flatnonzero(np.diff(columns.tocsr().indptr))
    constraint = _constraint_rows(columns.tocsr()[rows], labels[rows], target)
    count, width = constraint.shape
    # Variables: λ (free), z (0 ≤ z ≤ 1); constraints z − constraint·λ ≤ 0; maximise Σ z.
    solution = linprog(
        np.concatenate([np.zeros(width), -np.ones(count)]),
        A_ub=sparse.hstack([-constraint, sparse.identity(count)], format="csr"),
        b_ub=np.zeros(count),
        bounds=[(None, None)] * width + [(0.0, 1.0)] * count,
        method="highs",
    )
    if solution.status != 0 or -solution.fun < 1e-6:
        return None
    multipliers = solution.x[:width].reshape(-1, len(target))
    multipliers = multipliers - (multipliers @ target)[:, None]
    used = np.abs(multipliers).max(axis=1) > 1e-9 * np.abs(multipliers).max()
    return Certificate(features[used], multipliers[used])


def _constraint_rows(columns: Any, labels: npt.NDArray[np.int64], target: Floats) -> Any:
    """Distinct rows a_i of the constraint matrix over feature × label multipliers."""
    per_label = [
        sparse.kron(
            columns[labels == label], (np.arange(len(target)) == label) - target[None, :], format="csr"
        )
        for label in range(len(target))
    ]
    stacked = sparse.vstack(per_label, format="csr")
    stacked.sort_indices()
    seen: dict[bytes, int] = {}
    for i in range(stacked.shape[0]):
        part = slice(stacked.indptr[i], stacked.indptr[i + 1])
        seen.setdefault(stacked.indices[part].tobytes() + stacked.data[part].tobytes(), i)
    return stacked[list(seen.values())]
