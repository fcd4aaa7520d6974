"""Which of several answers is chosen, as a logistic model of their differences (McFadden 1974)."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.special import fdtrc, stdtr, stdtrit

from cuecard.stats.arrays import Floats, Ints

__all__ = ["ConditionalLogit", "choice_probabilities", "clustered_covariance", "conditional_logit"]

_STEPS = 50
_CLOSE = 1e-9
#: Coefficients of standardised features beyond this mean that a feature separates the answers.
_SEPARATED = 12.0


@dataclass(frozen=True, eq=False)
class ConditionalLogit:
    """Coefficients with their covariance over independent clusters, and how well they explain the choices."""

    coefficients: Floats
    covariance: Floats
    """Cluster-robust (sandwich) covariance, with the correction G / (G − 1) for G clusters."""
    naive: Floats
    """Covariance by the inverse information: too small where choices of a cluster depend on each other."""
    clusters: int
    log_likelihood: float
    null_log_likelihood: float
    penalty: float
    """Ridge penalty that kept the coefficients finite; 0 where none was needed."""
    residual: Floats = field(repr=False)
    """Σ over an example's answers of (chosen − probability) · features: its share in the score."""

    @property
    def pseudo_r2(self) -> float:
        """McFadden's pseudo-R²: 1 − log-likelihood / log-likelihood of chance."""
        return 1.0 - self.log_likelihood / self.null_log_likelihood if self.null_log_likelihood else 0.0

    @property
    def errors(self) -> Floats:
        """Cluster-robust standard errors; infinite with a single cluster, which says nothing of how clusters vary."""
        if self.clusters < 2:
            return np.full(len(self.coefficients), np.inf)
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))

    def interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return both ends of every coefficient's interval, by Student's t with G − 1 degrees of freedom."""
        reach = float(stdtrit(max(self.clusters - 1, 1), 0.5 + level / 2)) * self.errors
        return self.coefficients - reach, self.coefficients + reach

    def p_values(self) -> Floats:
        """Return the two-sided p-value of every coefficient."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.abs(self.coefficients) / self.errors
        values = 2 * stdtr(max(self.clusters - 1, 1), -np.where(np.isfinite(ratio), ratio, 0.0))
        return np.asarray(values)

    def wald_p(self) -> float:
        """Return the p-value of all coefficients together: Wald's statistic as an F with (p, G − p) degrees."""
        p, clusters = len(self.coefficients), self.clusters
        if clusters <= p + 1:
            return 1.0
        wald = float(self.coefficients @ np.linalg.pinv(self.covariance) @ self.coefficients)
        return float(fdtrc(p, clusters - p, wald * (clusters - p) / (p * (clusters - 1))))


def choice_probabilities(utilities: npt.ArrayLike, starts: npt.ArrayLike) -> Floats:
    """Return the probability of every answer among those of its example; `starts` are the first rows of examples.

    >>> choice_probabilities([0.0, 0.0, 1.0, 1.0, 1.0], [0, 2]).round(3).tolist()
    [0.5, 0.5, 0.333, 0.333, 0.333]
    """
    u, first = np.asarray(utilities, np.float64), np.asarray(starts, np.int64)
    sizes = np.diff(np.append(first, len(u)))
    exps = np.exp(u - np.repeat(np.maximum.reduceat(u, first), sizes))
    return np.asarray(exps / np.repeat(np.add.reduceat(exps, first), sizes))


def conditional_logit(
    features: npt.ArrayLike,
    starts: npt.ArrayLike,
    chosen: npt.ArrayLike,
    *,
    clusters: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    penalty: float = 0.0,
) -> ConditionalLogit:
    """Fit P(answer j of an example) ∝ exp(features[j] · β) by Newton's method, with cluster-robust errors.

    Args:
        features: answers × features.
        starts: the first row of every example, ascending from 0.
        chosen: the row of every example's chosen answer.
        clusters: code of every example's cluster (its prompt), within which choices may depend on each other.
        weights: how much every example counts.
        penalty: ridge penalty on the coefficients; where a feature separates the answers, 1 is used.

    With two answers it is a logistic regression on the difference of their features, without an intercept.

    >>> fit = conditional_logit([[1.0], [0.0], [1.0], [0.0], [0.0], [1.0]], [0, 2, 4], [0, 2, 4])
    >>> round(float(fit.coefficients[0]), 4)  # log(2 / 1)
    0.6931
    """
    x, first, right = (
        np.asarray(features, np.float64),
        np.asarray(starts, np.int64),
        np.asarray(chosen, np.int64),
    )
    w = np.ones(len(first)) if weights is None else np.asarray(weights, np.float64)
    sizes = np.diff(np.append(first, len(x)))
    if len(first) and (sizes == 2).all():
        # Two answers: half the rows, and no sums over examples.
        design = x[right] - x[2 * first + 1 - right]
        fit = _newton_pairs(design, w, penalty)
        if penalty == 0.0 and not _settled(fit):
            return conditional_logit(x, first, right, clusters=clusters, weights=weights, penalty=1.0)
        beta = fit
        probability = _sigmoid(design @ beta)
        residual = (w * (1 - probability))[:, None] * design
        information = (design * (w * probability * (1 - probability))[:, None]).T @ design
        log_likelihood = float(w @ -np.logaddexp(0.0, -(design @ beta)))
    else:
        beta, residual, information, log_likelihood = _newton(x, first, sizes, right, w, penalty)
        if penalty == 0.0 and not _settled(beta):
            return conditional_logit(x, first, right, clusters=clusters, weights=weights, penalty=1.0)
    inverse = np.linalg.pinv(information + penalty * np.eye(x.shape[1]))
    codes = (
        np.arange(len(first)) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    )
    covariance, groups = clustered_covariance(residual @ inverse, codes)
    null = float(-(w @ np.log(sizes)))
    return ConditionalLogit(beta, covariance, inverse, groups, log_likelihood, null, penalty, residual)


def _settled(beta: Floats) -> bool:
    return bool(np.isfinite(beta).all() and np.abs(beta).max(initial=0.0) < _SEPARATED)


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(0.5 * (1 + np.tanh(0.5 * values)))


def _newton_pairs(design: Floats, w: Floats, penalty: float) -> Floats:
    beta = np.zeros(design.shape[1])
    best = -np.inf
    step = np.zeros_like(beta)
    for _ in range(_STEPS):
        utilities = design @ beta
        value = float(w @ -np.logaddexp(0.0, -utilities)) - 0.5 * penalty * float(beta @ beta)
        if value < best - 1e-10 * abs(best):
            step *= 0.5
            beta = beta - step
            continue
        gained, best = value - best, value
        probability = _sigmoid(utilities)
        gradient = design.T @ (w * (1 - probability)) - penalty * beta
        hessian = (design * (w * probability * (1 - probability))[:, None]).T @ design
        step = _solve(hessian + penalty * np.eye(len(beta)), gradient)
        if gained < _CLOSE * (1 + abs(best)) and np.abs(step).max(initial=0.0) < 1e-7:
            break
        beta = beta + step
        if np.abs(beta).max(initial=0.0) > 1e3:
            break
    return beta


def _newton(
    x: Floats, first: Ints, sizes: Ints, right: Ints, w: Floats, penalty: float
) -> tuple[Floats, Floats, Floats, float]:
    row_weight = np.repeat(w, sizes)
    beta = np.zeros(x.shape[1])

    def at(b: Floats) -> tuple[Floats, Floats, Floats, float]:
        p = choice_probabilities(x @ b, first)
        mean = np.add.reduceat(p[:, None] * x, first, axis=0)
        residual = w[:, None] * (x[right] - mean)
        hessian = (x * (row_weight * p)[:, None]).T @ x - (mean * w[:, None]).T @ mean
        value = float(w @ np.log(np.maximum(p[right], 1e-300)))
        return residual, hessian, p, value

    residual, hessian, _, value = at(beta)
    for _ in range(_STEPS):
        gradient = residual.sum(axis=0) - penalty * beta
        step = _solve(hessian + penalty * np.eye(len(beta)), gradient)
        size = 1.0
        while True:
            trial = beta + size * step
            new = at(trial)
            objective = new[3] - 0.5 * penalty * float(trial @ trial)
            if objective >= value - 0.5 * penalty * float(beta @ beta) - 1e-10 or size < 1e-4:
                break
            size /= 2
        beta, (residual, hessian, _, value) = trial, new
        if np.abs(size * step).max(initial=0.0) < 1e-8 or np.abs(beta).max(initial=0.0) > 1e3:
            break
    return beta, residual, hessian, value


def _solve(matrix: Floats, vector: Floats) -> Floats:
    try:
        return np.asarray(np.linalg.solve(matrix, vector), np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.pinv(matrix) @ vector)


def clustered_covariance(influence: Floats, codes: Ints) -> tuple[Floats, int]:
    """Return the covariance of estimates from the influence of every example on them, and the number of clusters.

    The influence on coefficients is `residual @ naive`; those of several fits side by side give their joint covariance.
    """
    groups = int(codes.max(initial=-1)) + 1
    sums = np.stack([np.bincount(codes, column, minlength=groups) for column in influence.T], axis=1)
    return np.asarray(sums.T @ sums * (groups / max(groups - 1, 1)), np.float64), groups
