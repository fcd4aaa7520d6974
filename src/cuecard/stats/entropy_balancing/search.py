"""The search for balancing weights, and certificates that there are none."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy import sparse

from cuecard.stats.arrays import Floats, Ints, Matrix
from cuecard.stats.entropy_balancing.constraints import LabelledFeatures, share_residuals
from cuecard.stats.entropy_balancing.dual import DualPoint, DualProblem, Stopping, Units, minimise_dual
from cuecard.stats.weighted import effective_sample_share

__all__ = [
    "FALLBACK_ESS",
    "Certificate",
    "Constraints",
    "Solution",
    "absent_label_certificate",
    "conflict_certificate",
    "direction_certificate",
    "is_proof",
    "on_boundary",
    "raise_ridge",
    "soften_all",
    "solve",
    "with_ridge",
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

    def scores(self, features: Matrix, labels: npt.ArrayLike, target: npt.ArrayLike) -> Floats:
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
        features: Matrix,
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
    columns: Matrix, labels: npt.NDArray[np.int64], target: Floats, features: npt.NDArray[np.int64]
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


def _constraint_rows(columns: Matrix, labels: npt.NDArray[np.int64], target: Floats) -> Matrix:
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


# Ridge for features proven to conflict: they come as near as the others allow instead of blocking them.
_RELAXED_RIDGE = 1e-3
# A linear programme over more features than this takes longer than the balancing itself.
_MOST_SUSPECTS = 150
_ROUNDS = 4
# A row with less than this share of its base weight has none to speak of.
_GONE = 1e-4
# One with less than this may be on its way there; it is if its weight falls by the second factor once the solver is
# held to a hundredth of its tolerance.
_SMALL, _FALLS, _TIGHTER, _TIGHT_STEPS = 1e-2, 5.0, 100.0, 100
#: Where features contradict each other so that a solution leaves less than the first of these, or there is none,
#: all are softened until the second is left.
LEAST_ESS, FALLBACK_ESS = 0.1, 0.5
_SOFTEST, _RIDGE_STEP = 100.0, 10**0.5


class Constraints:
    """What has to be balanced: chosen features, against labels and their target shares."""

    def __init__(
        self, features: LabelledFeatures, columns: Ints, target: Floats, max_weight: float | None
    ) -> None:
        self.everything, self.columns = features, columns
        self.target, self.max_weight = target, max_weight
        self.folded = features if len(columns) == features.features else features.only(columns)


@dataclass(frozen=True)
class Solution:
    """Where the solver stands; features are counted within the constrained columns."""

    x: Floats
    point: DualPoint
    problem: DualProblem
    iterations: int
    proofs: dict[int, Certificate]

    @property
    def ess(self) -> float:
        """Effective sample size as a fraction of the rows."""
        return effective_sample_share(self.point.probabilities)

    def is_hopeless(self, stopping: Stopping) -> bool:
        """Whether features contradict each other so that the weights run off to a few rows."""
        diverged = not stopping.reached(self.point) and self.problem.has_diverged_at(self.point)
        return diverged or bool(self.proofs and self.ess < LEAST_ESS)


def solve(constraints: Constraints, units: Units, ridge: float, stopping: Stopping) -> Solution:
    """Minimiser of the dual; where it diverges, features proven to conflict are made soft and it continues."""
    count = len(constraints.columns)
    strengths = np.full(count, ridge)
    proofs: dict[int, Certificate] = {}
    steps = rounds = 0
    while True:
        rounds += 1
        problem = DualProblem(constraints.folded, constraints.target, units, strengths)
        x, point, taken = minimise_dual(problem, np.zeros(count * len(constraints.target)), stopping)
        steps += taken
        solution = Solution(x, point, problem, steps, proofs)
        if ridge > 0 or stopping.reached(point) or rounds == _ROUNDS:
            return solution
        certificates = _proof(constraints, solution, stopping.tolerance, strengths > 0)
        if not certificates:
            return solution
        strengths = strengths.copy()
        for proof in certificates:
            local = np.searchsorted(constraints.columns, proof.features)
            strengths[local] = _RELAXED_RIDGE
            proofs = proofs | dict.fromkeys(local.tolist(), proof)


def _proof(
    constraints: Constraints, solution: Solution, tolerance: float, softened: npt.NDArray[np.bool_]
) -> list[Certificate]:
    """Proofs of conflict, verified, from the features that lag behind or from the diverging dual itself."""
    units, point, target = solution.problem.units, solution.point, constraints.target
    # A feature whose whole weight has vanished is as far behind as can be.
    lag = np.nan_to_num(np.abs(share_residuals(point.totals, target)), nan=1.0).max(axis=1)
    lag[softened] = 0.0
    suspects = np.sort(np.argsort(-lag)[:_MOST_SUSPECTS])
    suspects = suspects[lag[suspects] > tolerance]
    if constraints.max_weight is None and units.groups is None and len(suspects):
        chosen, everything = constraints.columns[suspects], constraints.everything
        conflict = conflict_certificate(everything.columns(chosen), everything.labels, target, chosen)
        if conflict is not None and is_proof(conflict.scores_of(everything, target), None):
            return [conflict]
    if constraints.max_weight is None and units.groups is not None:
        alone = _one_sided(constraints, units, constraints.columns[suspects])
        if alone:
            return alone
    if softened.all():
        return []
    direction = direction_certificate(
        solution.problem.multipliers(solution.x), constraints.columns, constraints.max_weight
    )
    rows = -point.scores if units.groups is None else -point.scores[units.groups]
    return [direction] if is_proof(rows, constraints.max_weight) else []


def _one_sided(constraints: Constraints, units: Units, columns: Ints) -> list[Certificate]:
    """Proofs for those of some features that lean the same way in every group that has them."""
    one_sided = []
    for column in columns:
        for sign in (1.0, -1.0):
            multipliers = np.zeros((1, len(constraints.target)))
            multipliers[0, 0] = sign
            proof = Certificate(np.array([column]), multipliers)
            scores = proof.scores_of(constraints.everything, constraints.target)
            if is_proof(units.unit_scores(scores), None):
                one_sided.append(proof)
    return one_sided


def on_boundary(
    solution: Solution, stopping: Stopping
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Rows without weight to speak of, or whose weight vanishes with the tolerance, and the features that ask for it.

    Some features balance exactly only with weights of zero. There is then no solution, although weights that are small
    enough meet any tolerance: multipliers grow without end and the weights of some rows shrink with the tolerance.
    """
    problem = solution.problem
    base, before = problem.units.base, solution.point.probabilities
    rows = (before < _GONE * base) & (base > 0)
    multipliers = problem.multipliers(solution.x)
    if not rows.any() and np.any(before < _SMALL * base) and not np.any(problem.ridge > 0):
        tight = Stopping(stopping.tolerance / _TIGHTER, None, _TIGHT_STEPS)
        x, point, _ = minimise_dual(problem, solution.x, tight)
        rows = (before < _SMALL * base) & (point.probabilities * _FALLS < before)
        multipliers = problem.multipliers(x) - multipliers
    features = np.zeros(problem.shape[0], dtype=np.bool_)
    # What presses a row down is the feature whose multiplier for its label is lowest.
    for own in problem.features.multipliers_of(np.flatnonzero(rows), multipliers):
        features[own[0][own[1].argmin()]] = True
    return rows, features


def raise_ridge(solution: Solution, min_ess: float, stopping: Stopping) -> Solution:
    """Least soft solution whose effective sample size reaches the floor, by continuation in the ridge."""
    hopeless = solution.is_hopeless(stopping)
    if solution.ess >= min_ess and not hopeless:
        return solution
    units = solution.problem.units
    untouched = units.row_probabilities(units.tilt(np.zeros(len(units.unit_base)))[1])
    if effective_sample_share(untouched) <= min_ess:
        raise ValueError(
            f"min_ess {min_ess:g} cannot be reached: the base weights alone have an effective sample size "
            f"of {effective_sample_share(untouched):.3f}."
        )
    if hopeless:
        reached, high = _from_above(solution, min_ess, stopping)
        low = high / _RIDGE_STEP
    else:
        low = high = max(float(solution.problem.ridge.min()), 1e-6)
        reached = with_ridge(solution, solution, high, stopping)
        while reached.ess < min_ess:
            low, high = high, high * 10.0
            reached = with_ridge(solution, reached, high, stopping)
    for _ in range(10):
        middle = float(np.sqrt(low * high))
        trial = with_ridge(solution, reached, middle, stopping)
        if trial.ess >= min_ess:
            high, reached = middle, trial
        else:
            low, reached = middle, replace(reached, iterations=trial.iterations)
    return reached


def soften_all(solution: Solution, stopping: Stopping) -> Solution:
    """Solution that a hopeless one is replaced by: every constraint as soft as ``FALLBACK_ESS`` needs."""
    return _from_above(solution, FALLBACK_ESS, stopping)[0]


def _from_above(solution: Solution, min_ess: float, stopping: Stopping) -> tuple[Solution, float]:
    """Solution and ridge, lowered in steps from equal weights as long as enough of the sample is left.

    Where there is nothing to be found at ridge zero, small ridges take thousands of steps and give weights to few
    rows; from above, every solution starts next to its neighbour.
    """
    ridge = _SOFTEST
    start = replace(solution, x=np.zeros_like(solution.x))
    reached = with_ridge(solution, start, ridge, stopping)
    while reached.ess < min_ess:
        ridge *= 10.0
        reached = with_ridge(solution, reached, ridge, stopping)
    while ridge > _RELAXED_RIDGE:
        trial = with_ridge(solution, reached, ridge / _RIDGE_STEP, stopping)
        if trial.ess < min_ess or not stopping.reached(trial.point):
            return replace(reached, iterations=trial.iterations), ridge
        reached, ridge = trial, ridge / _RIDGE_STEP
    return reached, ridge


def with_ridge(
    hard: Solution, warm: Solution, strength: float, stopping: Stopping, *, softer: bool = True
) -> Solution:
    """Solution of the hard problem made soft, started from a neighbour; unless `softer`, with this ridge alone."""
    old = hard.problem
    ridge = np.maximum(old.ridge, strength) if softer else np.full_like(old.ridge, strength)
    problem = DualProblem(old.features, old.target, old.units, ridge)
    x, point, taken = minimise_dual(problem, warm.x, stopping)
    return Solution(x, point, problem, warm.iterations + taken, hard.proofs)
