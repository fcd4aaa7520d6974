"""Stubborn's own method, kept for comparison: q = softmax(z), least squares on the label shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats
from cuecard.stats.entropy_balancing.constraints import (
    LabelledFeatures,
    Target,
    checked_problem,
    share_residuals,
)
from cuecard.stats.weighted import effective_sample_share

__all__ = ["SoftmaxWeights", "softmax_objective", "softmax_weights"]


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
    features: Any,
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
