"""Entropy balancing: among all weights that balance every feature, the closest to uniform."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats, Ints, Matrix
from cuecard.stats.entropy_balancing.constraints import (
    Target,
    labelled_problem,
    share_residuals,
)
from cuecard.stats.entropy_balancing.dual import Stopping, Units
from cuecard.stats.entropy_balancing.search import (
    Certificate,
    Constraints,
    Solution,
    absent_label_certificate,
    on_boundary,
    raise_ridge,
    soften_all,
    solve,
)
from cuecard.stats.weighted import effective_sample_share

__all__ = ["BalancedWeights", "Reason", "UnbalancedFeature", "entropy_balance"]

_QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)

Reason: TypeAlias = Literal[
    "absent label", "conflict", "boundary", "max_weight", "ridge", "softened", "not reached", "sampled"
]


@dataclass(frozen=True)
class UnbalancedFeature:
    """A feature whose label shares stay off target, and why."""

    feature: int
    reason: Reason
    residual: float
    """Largest |q(label | feature) − target| left."""
    certificate: Certificate | None
    """Proof that it cannot be balanced; None when it was softened or iterations ran out."""


@dataclass(frozen=True)
class BalancedWeights:
    """Weights with mean one, and everything needed to judge them."""

    weights: Floats
    target: Floats
    ess: float
    """Effective sample size as a fraction of the instances."""
    err_before: float
    """Mean |q(label | feature) − target| over the constrained features under the base weights."""
    err_after: float
    residuals: Floats
    """q(label | feature) − target, features × labels; NaN for a feature without weight."""
    constrained: npt.NDArray[np.bool_]
    """Which features took part in the constraints."""
    unbalanced: tuple[UnbalancedFeature, ...]
    iterations: int
    converged: bool
    """Whether the solver's optimality condition met the tolerance on every constraint it kept."""
    largest_residual: float
    """Largest |q(label | feature) − target| over the constrained features."""
    duality_gap: float
    divergence: float
    """KL(q ‖ base) in nats: how far the weights had to move."""
    ridge: float
    """The ridge used: the one asked for, or what the floor on the effective sample size needed."""
    label_shares: Floats
    """Weighted share of each label over all instances."""
    max_weight: float
    quantiles: dict[float, float]
    multipliers: Floats
    """Multipliers λ, features × labels: without a limit, weights go with exp(Σ_j f_ij λ[j, y_i]). Zero for features
    that took no part; with ``balance_labels``, a last row is that of the labels themselves."""
    vanishing: int = 0
    """Rows whose weight shrinks with the tolerance: exact balance is infeasible, weights of zero aside."""


def entropy_balance(
    features: Matrix,
    labels: npt.ArrayLike,
    *,
    target: Target = "uniform",
    ridge: float = 0.0,
    max_weight: float | None = None,
    min_ess: float | None = None,
    groups: npt.ArrayLike | None = None,
    base_weights: npt.ArrayLike | None = None,
    balance_labels: bool = False,
    label_names: Sequence[str] | None = None,
    tolerance: float = 1e-4,
    stop_at_err: float | None = None,
    max_iter: int = 1000,
) -> BalancedWeights:
    """Weights closest to the base (in KL) under which each feature's label shares equal the target.

    ``features`` is a sparse instances × features matrix (binary, or not negative), or `LabelledFeatures` of these
    labels; ``labels`` are codes from zero. ``ridge`` > 0 makes all constraints soft. ``max_weight`` bounds every
    weight (mean one). ``min_ess`` raises the ridge until the effective sample size reaches it. Rows with the same
    value in ``groups`` share one weight. ``balance_labels`` also holds the label shares over all instances to the
    target: features alone leave the instances that have none of them free. ``tolerance`` bounds
    |q(label | feature) − target| for every feature and label; ``stop_at_err`` is content with their mean.

    A feature that never occurs with some label cannot be balanced: it is left out and listed with its proof.
    So are features proven to conflict with each other, which are brought as near as the others allow. If there is
    still no solution, or one that leaves less than a tenth of the sample, all are softened until half of it is left
    (or ``min_ess``).

    >>> from scipy.sparse import csr_matrix
    >>> contains_not = csr_matrix([[1], [1], [1], [1], [0], [0]])
    >>> balanced = entropy_balance(contains_not, [1, 1, 1, 0, 0, 1])
    >>> balanced.weights.round(3).tolist()
    [0.634, 0.634, 0.634, 1.902, 1.098, 1.098]
    >>> round(balanced.err_before, 3), round(balanced.err_after, 3), round(balanced.ess, 2)
    (0.25, 0.0, 0.83)
    """
    everything, codes, base, shares = labelled_problem(features, labels, target, base_weights, label_names)
    _check_options(ridge, max_weight, min_ess, tolerance, max_iter)
    count, real = everything.label_count, everything.features
    units = Units.build(base, groups, max_weight)
    if balance_labels:
        everything = everything.with_constant()
    before = everything.totals(base)
    constrained = np.all(before > 0, axis=1)
    if not np.any(constrained):
        raise ValueError("no feature occurs with every label, so there is nothing to balance.")
    columns = np.flatnonzero(constrained)
    stopping = Stopping(tolerance, stop_at_err, max_iter)
    constraints = Constraints(everything, columns, shares, max_weight)
    solution = solve(constraints, units, ridge, stopping)
    softened = False
    if min_ess is not None:
        solution = raise_ridge(solution, min_ess, stopping)
    elif ridge == 0 and solution.is_hopeless(stopping):
        solution, softened = soften_all(solution, stopping), True

    vanishing, infeasible = (
        on_boundary(solution, stopping) if stop_at_err is None else (np.zeros(0), np.zeros(0))
    )
    q = solution.point.probabilities
    residuals = share_residuals(everything.totals(q), shares)
    off = np.abs(residuals)
    unbalanced = _absent(before, off, count)
    unbalanced += _off_target(off, columns, solution, max_weight is not None, softened, tolerance)
    already = {entry.feature for entry in unbalanced}
    unbalanced += [
        UnbalancedFeature(int(columns[local]), "boundary", float(off[columns[local]].max()), None)
        for local in np.flatnonzero(infeasible)
        if int(columns[local]) not in already
    ]
    multipliers = np.zeros((everything.features, count))
    multipliers[columns] = solution.problem.multipliers(solution.x)
    chosen = constrained[:real]
    weights = q * len(q)
    largest = np.nanmax(off[:real][chosen]) if chosen.any() else 0.0
    return BalancedWeights(
        weights=weights,
        target=shares,
        ess=effective_sample_share(weights),
        err_before=_mean_off(share_residuals(before, shares)[:real][chosen]),
        err_after=_mean_off(residuals[:real][chosen]),
        residuals=residuals[:real],
        constrained=chosen,
        unbalanced=tuple(entry for entry in unbalanced if entry.feature < real),
        iterations=solution.iterations,
        converged=stopping.reached(solution.point),
        largest_residual=float(largest),
        duality_gap=solution.problem.gap(solution.x, solution.point),
        divergence=_divergence(q, base),
        ridge=float(np.min(solution.problem.ridge)),
        label_shares=np.bincount(codes, weights=q, minlength=count).astype(np.float64),
        max_weight=float(weights.max()),
        quantiles=dict(zip(_QUANTILES, np.quantile(weights, _QUANTILES).tolist(), strict=True)),
        multipliers=multipliers,
        vanishing=int(vanishing.sum()),
    )


def _check_options(
    ridge: float, max_weight: float | None, min_ess: float | None, tolerance: float, max_iter: int
) -> None:
    if not ridge >= 0:
        raise ValueError(f"ridge must not be negative, got {ridge}.")
    if max_weight is not None and not max_weight > 1:
        raise ValueError(f"max_weight must be above 1, the mean weight, got {max_weight}.")
    if min_ess is not None and not 0 < min_ess < 1:
        raise ValueError(f"min_ess must be a fraction between 0 and 1, got {min_ess}.")
    if not tolerance > 0 or max_iter < 1:
        raise ValueError("tolerance must be positive and max_iter at least 1.")


def _absent(before: Floats, off: Floats, count: int) -> list[UnbalancedFeature]:
    """Features that some label never has, each with its proof; columns that never occur are left out."""
    listed = np.flatnonzero(np.any(before == 0, axis=1) & (before.sum(axis=1) > 0))
    return [
        UnbalancedFeature(
            int(j),
            "absent label",
            float(np.nanmax(off[j])),
            absent_label_certificate(int(j), int(np.argmin(before[j])), count),
        )
        for j in listed
    ]


def _off_target(
    off: Floats,
    columns: Ints,
    solution: Solution,
    capped: bool,
    softened: bool,
    tolerance: float,
) -> list[UnbalancedFeature]:
    entries = []
    for local in np.flatnonzero(~(off[columns].max(axis=1) <= tolerance)):
        proof = solution.proofs.get(int(local))
        reason: Literal["conflict", "max_weight", "ridge", "softened", "not reached"] = "not reached"
        if proof is not None:
            reason = "max_weight" if capped else "conflict"
        elif solution.problem.ridge[local] > 0:
            reason = "softened" if softened else "ridge"
        j = int(columns[local])
        entries.append(UnbalancedFeature(j, reason, float(off[j].max()), proof))
    return entries


def _mean_off(residuals: Floats) -> float:
    return float(np.nanmean(np.abs(residuals))) if residuals.size else 0.0


def _divergence(q: Floats, base: Floats) -> float:
    positive = q > 0
    own = q[positive]
    terms = own / base[positive]
    np.log(terms, out=terms)
    terms *= own
    return float(np.sum(terms))
