"""The dual of entropy balancing, whose weights are a softmax by row."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from cuecard.stats.arrays import Floats, Matrix
from cuecard.stats.entropy_balancing.constraints import (
    LabelledFeatures,
    Target,
    checked_problem,
    share_residuals,
)
from cuecard.stats.weighted import effective_sample_share

__all__ = [
    "DualPoint",
    "DualProblem",
    "SoftmaxWeights",
    "Stopping",
    "Units",
    "minimise_dual",
    "softmax_objective",
    "softmax_weights",
]


@dataclass(frozen=True)
class SoftmaxWeights:
    """Weights with mean one from the paper's objective."""

    weights: Floats
    ess: float
    err_before: float
    err_after: float
    objective: float
    iterations: int
    converged: bool
    """Whether ``err`` was reached (when asked for) or the optimiser's own test was met."""


def softmax_objective(z: Floats, folded: LabelledFeatures, target: Floats) -> tuple[float, Floats, Floats]:
    """Σ_j Σ_l (q(l | f_j) − target_l)² at q = softmax(z), its gradient in z, and the residuals."""
    q = np.exp(z - z.max())
    q /= q.sum()
    totals = folded.totals(q)
    mass = totals.sum(axis=1, keepdims=True)
    shares = totals / mass
    residuals = shares - target
    multipliers = 2.0 * (residuals - np.sum(residuals * shares, axis=1, keepdims=True)) / mass
    slope = folded.scores(multipliers)
    return float(np.sum(residuals**2)), q * (slope - q @ slope), residuals


def softmax_weights(
    features: Matrix,
    labels: npt.ArrayLike,
    *,
    target: Target = "uniform",
    stop_at_err: float | None = None,
    max_iter: int = 2000,
) -> SoftmaxWeights:
    """Weights that minimise the paper's sum of squared residuals by L-BFGS, or until Err is low enough.

    Nothing in this objective prefers weights near uniform, so its effective sample size is whatever the path
    of the optimiser leaves. Features that do not occur with every label are left out, as in the paper.
    """
    matrix, codes, count, base, shares = checked_problem(features, labels, target)
    everything = LabelledFeatures(matrix, codes, count)
    before = everything.totals(base)
    constrained = np.all(before > 0, axis=1)
    if not np.any(constrained):
        raise ValueError("no feature occurs with every label, so there is nothing to balance.")
    folded = everything if constrained.all() else LabelledFeatures(matrix[:, constrained], codes, count)
    wanted = 0.0 if stop_at_err is None else stop_at_err
    last: dict[str, float] = {}

    def evaluate(z: Floats) -> tuple[float, Floats]:
        value, gradient, residuals = softmax_objective(z, folded, shares)
        last["err"] = float(np.mean(np.abs(residuals)))
        return value, gradient

    def check(_: Floats) -> None:
        if last["err"] <= wanted:
            raise StopIteration

    from scipy.optimize import minimize

    outcome = minimize(
        evaluate,
        np.zeros(matrix.shape[0]),
        jac=True,
        method="L-BFGS-B",
        callback=check,
        options={"maxcor": 10, "maxiter": max_iter, "maxfun": 4 * max_iter, "ftol": 1e-15, "gtol": 1e-12},
    )
    value, _, residuals = softmax_objective(outcome.x, folded, shares)
    weights = np.exp(outcome.x - outcome.x.max())
    weights *= len(weights) / weights.sum()
    reached = float(np.mean(np.abs(residuals)))
    return SoftmaxWeights(
        weights=weights,
        ess=effective_sample_share(weights),
        err_before=float(np.mean(np.abs(share_residuals(before, shares)[constrained]))),
        err_after=reached,
        objective=value,
        iterations=int(outcome.nit),
        converged=reached <= wanted if stop_at_err is not None else bool(outcome.success),
    )


# Curvature pairs kept by L-BFGS. Beyond 20 the steps saved cost more than they bring.
_MEMORY = 20
# A feature that has lost all but this share of its weight is on its way out; a hard one at the second is lost.
_VANISHED, _LOST = 1e-6, 1e-12
_NO_ROWS: Floats = np.zeros(0)


@dataclass(frozen=True)
class Units:
    """What carries a weight of its own: rows, or groups of rows that must share one."""

    base: Floats
    """Base probability of every row."""
    groups: npt.NDArray[np.int64] | None
    """Group code of every row, or None when each row stands alone."""
    unit_base: Floats
    """Base probability of every unit."""
    cap: Floats | None
    """Largest probability a unit may have, or None."""

    @classmethod
    def build(cls, base: Floats, groups: npt.ArrayLike | None, max_weight: float | None) -> Units:
        """Units of checked base probabilities; ``max_weight`` is on the scale of weights with mean one."""
        rows = len(base)
        codes: npt.NDArray[np.int64] | None = None
        unit_base = base
        heaviest: Floats | float = 1.0
        if groups is not None:
            values = np.asarray(groups)
            if values.shape != (rows,):
                raise ValueError(
                    f"groups must hold one value per row of features ({rows}), got {values.shape}."
                )
            codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
            unit_base = np.bincount(codes, weights=base).astype(np.float64)
            heaviest = np.zeros(len(unit_base))
            np.maximum.at(heaviest, codes, base / unit_base[codes])
        if max_weight is None:
            return cls(base, codes, unit_base, None)
        cap = np.full(len(unit_base), max_weight / rows) / heaviest
        if cap.sum() < 1.0 - 1e-12:
            raise ValueError(
                f"max_weight {max_weight:g} is too small: the weights could not reach a mean of one."
            )
        return cls(base, codes, unit_base, cap)

    def unit_scores(self, scores: Floats) -> Floats:
        """Base-weighted mean score of each unit's rows."""
        if self.groups is None:
            return scores
        return np.bincount(self.groups, weights=self.base * scores) / self.unit_base

    def row_probabilities(self, unit_probabilities: Floats) -> Floats:
        """Each unit's probability shared out over its rows in proportion to their base."""
        if self.groups is None:
            return unit_probabilities
        return (unit_probabilities / self.unit_base)[self.groups] * self.base

    def tilt(self, scores: Floats) -> tuple[float, Floats]:
        """``max_q q·s − KL(q ‖ base)`` over the (capped) simplex, and the q that attains it."""
        shift = float(scores.max())
        # In place: with many rows, every array beside the scores counts.
        q = np.subtract(scores, shift)
        np.exp(q, out=q)
        q *= self.unit_base
        total = float(q.sum())
        q /= total
        if self.cap is None or not np.any(q > self.cap):
            return shift + float(np.log(total)), q
        # Units at their cap stay there while the rest are scaled up to fill the mass that was cut, so the
        # set of capped units only grows and the loop ends.
        capped = q > self.cap
        while True:
            free = ~capped
            room = 1.0 - float(self.cap[capped].sum())
            if room <= 0 or not free.any():
                q = self.cap / self.cap.sum()
                break
            # Taken from the highest free score: against the capped ones, all the others may vanish in rounding.
            raw = np.where(free, self.unit_base * np.exp(np.minimum(scores - scores[free].max(), 0.0)), 0.0)
            q = np.where(capped, self.cap, raw * (room / raw.sum()))
            over = free & (q > self.cap)
            if not np.any(over):
                break
            capped |= over
        positive = q > 0
        divergence = float(np.sum(q[positive] * np.log(q[positive] / self.unit_base[positive])))
        return float(q @ scores) - divergence, q

    def largest_divergence(self) -> float:
        """Upper bound on KL(q ‖ base) over all admissible q."""
        highest = 1.0 if self.cap is None else np.minimum(self.cap, 1.0)
        return float(np.max(np.log(highest / self.unit_base)))


@dataclass(frozen=True)
class DualPoint:
    """The dual at one set of multipliers."""

    value: float
    gradient: Floats
    scores: Floats
    """Unit scores λ·a_u."""
    probabilities: Floats
    """Row probabilities q."""
    totals: Floats
    """Weighted feature × label totals under q."""
    stationarity: float
    """Largest |gradient| on the scale of label shares: max |q(l|f) − target| when nothing is soft."""
    mean_stationarity: float
    """Mean |gradient| on that scale: Err when nothing is soft."""


@dataclass(frozen=True)
class Stopping:
    """When the solver may stop."""

    tolerance: float
    """Largest |q(label | feature) − target| allowed."""
    stop_at_err: float | None
    """Mean |q(label | feature) − target| that is good enough by itself, or None."""
    max_iter: int

    def reached(self, point: DualPoint) -> bool:
        """Whether the point is good enough."""
        if self.stop_at_err is not None and point.mean_stationarity <= self.stop_at_err:
            return True
        return point.stationarity <= self.tolerance


class DualProblem:
    """``D(λ) = log Σ_u b_u exp(λ·a_u) + ½ Σ_j ridge_j |λ_j|²`` in column-scaled multipliers."""

    def __init__(self, features: LabelledFeatures, target: Floats, units: Units, ridge: Floats) -> None:
        self.features, self.target, self.units, self.ridge = features, target, units, ridge
        # Dividing a column by the root of its frequency gives every constraint about the same curvature.
        self.scale = 1.0 / np.sqrt(features.squared_totals(units.base))
        self.base_mass = features.totals(units.base).sum(axis=1, keepdims=True)
        self.shape = (features.features, features.label_count)

    def multipliers(self, x: Floats) -> Floats:
        """Centred multipliers M[j, l] of the unscaled constraints: a row's score is Σ_j f_ij M[j, y_i]."""
        raw = x.reshape(self.shape) * self.scale[:, None]
        return np.asarray(raw - (raw @ self.target)[:, None])

    def at(self, x: Floats) -> DualPoint:
        """Dual and gradient at scaled multipliers x: two sparse products."""
        scores = self.units.unit_scores(self.features.scores(self.multipliers(x)))
        value, unit_probabilities = self.units.tilt(scores)
        q = self.units.row_probabilities(unit_probabilities)
        totals = self.features.totals(q)
        mass = totals.sum(axis=1, keepdims=True)
        scaled = x.reshape(self.shape)
        soft = self.ridge[:, None] * scaled
        gradient = (totals - self.target * mass) * self.scale[:, None] + soft
        # A soft feature may lose most of its weight; what is left of it is no measure of how well it is solved.
        measure = np.where(self.ridge[:, None] > 0, np.maximum(mass, self.base_mass), mass)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            relative = np.abs(gradient) / (measure * self.scale[:, None])
        relative = np.where(measure > 0, relative, np.inf)
        value += 0.5 * float(np.sum(soft * scaled))
        worst, mean = float(relative.max()), float(relative.mean())
        return DualPoint(value, gradient.ravel(), scores, q, totals, worst, mean)

    def gap(self, x: Floats, point: DualPoint) -> float:
        """Primal minus dual objective at x in absolute value: zero exactly at the solution."""
        gradient, scaled = point.gradient.reshape(self.shape), x.reshape(self.shape)
        soft = self.ridge > 0
        hard_part = float(np.sum(scaled[~soft] * gradient[~soft]))
        soft_part = float(np.sum(gradient[soft] ** 2 / (2.0 * self.ridge[soft, None])))
        return abs(hard_part + soft_part)

    def is_unbounded_at(self, point: DualPoint) -> bool:
        """Whether this dual value alone proves that no admissible q meets the constraints.

        Weak duality: any feasible q has ``−KL(q ‖ base) ≤ D(λ)``, and KL cannot exceed its bound.
        """
        return not np.any(self.ridge > 0) and point.value < -self.units.largest_divergence() - 1e-6

    def has_diverged_at(self, point: DualPoint) -> bool:
        """Whether the weights run off to a few rows: some feature has next to none of its weight left."""
        return self.is_unbounded_at(point) or bool(np.any(self._left(point) < _VANISHED))

    def is_lost_at(self, point: DualPoint) -> bool:
        """Whether more steps are in vain: the dual is unbounded, or, beside soft features, a hard one has no weight.

        While nothing is soft the dual continues until its value is a proof.
        """
        hard = self.ridge == 0
        return self.is_unbounded_at(point) or bool(not hard.all() and np.any(self._left(point)[hard] < _LOST))

    def _left(self, point: DualPoint) -> Floats:
        """Share of its base weight that every feature has left."""
        return np.asarray(point.totals.sum(axis=1) / self.base_mass[:, 0])


def minimise_dual(problem: DualProblem, start: Floats, stopping: Stopping) -> tuple[Floats, DualPoint, int]:
    """Scaled multipliers, the dual there, and how many L-BFGS steps it took to be good enough."""
    latest: list[tuple[Floats, DualPoint]] = []
    reached, first = start, problem.at(start)
    if stopping.reached(first):
        return start, first, 0
    del first

    def evaluate(x: Floats) -> tuple[float, Floats]:
        # Points on the way are kept without their rows, which may take most of the memory.
        point = replace(problem.at(x), scores=_NO_ROWS, probabilities=_NO_ROWS)
        latest[:] = [(x.copy(), point)]
        return point.value, point.gradient

    def check(x: Floats) -> None:
        nonlocal reached
        evaluated, point = latest[0]
        if not np.array_equal(evaluated, x):
            point = problem.at(x)
        reached = x.copy()
        if stopping.reached(point) or problem.is_lost_at(point):
            raise StopIteration

    from scipy.optimize import minimize

    limit = stopping.max_iter
    # The steps of L-BFGS itself are short vector sums: threads that wake and wait for each cost more than they save.
    with threadpool_limits(limits=1, user_api="blas"):
        outcome = minimize(
            evaluate,
            start,
            jac=True,
            method="L-BFGS-B",
            callback=check,
            options={"maxcor": _MEMORY, "maxiter": limit, "maxfun": 4 * limit, "ftol": 0.0, "gtol": 0.0},
        )
    return reached, problem.at(reached), int(outcome.nit)
