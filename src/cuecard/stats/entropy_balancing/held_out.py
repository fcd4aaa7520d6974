"""How well balancing carries over to rows it was not made from, and the ridge that makes it carry over best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints, Matrix
from cuecard.stats.entropy_balancing.constraints import (
    LabelledFeatures,
    Target,
    checked_problem,
    share_residuals,
)
from cuecard.stats.entropy_balancing.dual import Stopping, Units
from cuecard.stats.entropy_balancing.search import Constraints, Solution, solve, with_ridge
from cuecard.stats.weighted import effective_sample_share

__all__ = ["RIDGES", "HeldOut", "held_out_balance"]

#: Ridges that are compared; zero is exact balance.
RIDGES = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
#: Held-out Err needs no exact solution; steps beyond this are in vain for features that conflict.
_MAX_ITER = 300
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class HeldOut:
    """Balance on held-out rows by ridge: multipliers fitted on some rows, applied to the others."""

    ridges: Floats
    """The ridges, on the scale of all rows."""
    err: Floats
    """Mean |q(label | feature) − target| of the held-out rows, a mean over folds."""
    ess: Floats
    """Effective sample size of the held-out rows as a fraction, a mean over folds."""
    unweighted: float
    """Err of the held-out rows without weights."""
    floor: float
    """Err that sampling alone would leave on this number of held-out rows if every feature were balanced."""

    @property
    def best(self) -> float:
        """The ridge with the smallest held-out Err; of equal ones the largest."""
        return float(self.ridges[np.flatnonzero(self.err <= self.err.min() + 1e-12)[-1]])

    def at(self, ridge: float) -> float:
        """Held-out Err at the compared ridge that is nearest to this one."""
        if ridge == 0:
            return float(self.err[int(self.ridges.argmin())])
        distance = np.abs(np.log(np.maximum(self.ridges, 1e-9)) - np.log(ridge))
        return float(self.err[int(distance.argmin())])


def held_out_balance(
    features: Matrix,
    labels: npt.ArrayLike,
    *,
    target: Target = "uniform",
    ridges: Sequence[float] = RIDGES,
    folds: int = 2,
    max_weight: float | None = None,
    groups: npt.ArrayLike | None = None,
    seed: int = 0,
) -> HeldOut:
    """Err on rows that the weights were not made from, for several ridges, by cross-validation.

    The rows (or groups) are divided at random; multipliers fitted on the rest give the held-out rows their weights
    exp(λ · a). Exact balance fits the chance imbalance of its own rows, too, and loses that elsewhere. A ridge is a
    prior on the multipliers, so its size goes with 1 / rows: the ridges are compared on the scale of all rows.

    >>> from scipy.sparse import csr_matrix
    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 600)
    >>> noise = csr_matrix(rng.random((600, 60)) < 0.1)
    >>> result = held_out_balance(noise, labels)
    >>> result.best > 0, bool(result.err[0] > result.err[-1])
    (True, True)
    """
    matrix, codes, count, base, shares = checked_problem(features, labels, target, None)
    units = np.arange(len(codes)) if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
    if not 2 <= folds <= int(units.max()) + 1:
        raise ValueError(f"folds must lie between 2 and the number of rows or groups, got {folds}.")
    drawn = np.random.default_rng(seed).permutation(np.arange(int(units.max()) + 1) % folds)[units]
    order = sorted({float(ridge) for ridge in ridges}, reverse=True)
    if not order or order[-1] < 0:
        raise ValueError("ridges must not be empty nor negative.")
    everywhere = np.all(LabelledFeatures(matrix, codes, count).totals(base) > 0, axis=1)
    matrix = matrix[:, np.flatnonzero(everywhere)]
    if not matrix.shape[1]:
        raise ValueError("no feature occurs with every label, so there is nothing to balance.")
    err, ess = np.zeros((folds, len(order))), np.zeros((folds, len(order)))
    unweighted, floor = np.zeros(folds), np.zeros(folds)
    for fold in range(folds):
        out = drawn == fold
        held = _Part(matrix[out], codes[out], base[out], units[out], count)
        unweighted[fold] = _err(held.folded.totals(held.base), shares)
        floor[fold] = _floor(held.folded.totals(np.ones(out.sum())).sum(axis=1), shares)
        rest = _Part(matrix[~out], codes[~out], base[~out] / base[~out].sum(), units[~out], count)
        scale = (~out).mean()
        for at, multipliers in enumerate(
            _fitted(rest, shares, [ridge / scale for ridge in order], max_weight, groups is not None)
        ):
            q = held.weighted(multipliers, groups is not None)
            err[fold, at] = _err(held.folded.totals(q), shares)
            ess[fold, at] = effective_sample_share(q)
    return HeldOut(
        np.array(order)[::-1],
        err.mean(axis=0)[::-1],
        ess.mean(axis=0)[::-1],
        float(unweighted.mean()),
        float(floor.mean()),
    )


class _Part:
    """Some of the rows with what belongs to them."""

    def __init__(self, matrix: Matrix, labels: Ints, base: Floats, units: Ints, count: int) -> None:
        self.matrix, self.labels, self.base = matrix, labels, base
        self.units = np.unique(units, return_inverse=True)[1]
        self.count = count
        self.folded = LabelledFeatures(matrix, labels, count)

    def weighted(self, multipliers: Floats, grouped: bool) -> Floats:
        """Probabilities of the rows under multipliers of the constraints."""
        units = Units.build(self.base / self.base.sum(), self.units if grouped else None, None)
        scores = units.unit_scores(self.folded.scores(multipliers))
        return units.row_probabilities(units.tilt(scores)[1])


def _fitted(
    part: _Part, target: Floats, ridges: Sequence[float], max_weight: float | None, grouped: bool
) -> list[Floats]:
    """Multipliers of all features for every ridge, from the softest on; zero for those the rows cannot balance."""
    columns = np.flatnonzero(np.all(part.folded.totals(part.base) > 0, axis=1))
    if not len(columns):
        return [np.zeros((part.matrix.shape[1], part.count)) for _ in ridges]
    units = Units.build(part.base, part.units if grouped else None, max_weight)
    constraints = Constraints(part.folded, columns, target, max_weight)
    stopping = Stopping(_TOLERANCE, None, _MAX_ITER)
    by_ridge = []
    solution: Solution | None = None
    for ridge in ridges:
        if solution is None:
            solution = solve(constraints, units, ridge, stopping)
        else:
            solution = with_ridge(solution, solution, ridge, stopping, softer=False)
        multipliers = np.zeros((part.matrix.shape[1], part.count))
        multipliers[columns] = solution.problem.multipliers(solution.x)
        by_ridge.append(multipliers)
    return by_ridge


def _err(totals: Floats, target: Floats) -> float:
    return float(np.nanmean(np.abs(share_residuals(totals, target))))


def _floor(counts: Floats, target: Floats) -> float:
    """Mean |share − target| of labels drawn from the target (half-normal)."""
    n = counts[counts > 0]
    return float(np.mean(np.sqrt(2 / np.pi * (target * (1 - target))[None, :] / n[:, None])))
