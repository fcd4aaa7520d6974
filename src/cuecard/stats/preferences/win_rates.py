"""Win rates, agreement of raters, and the part of a score that goes with length."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit, stdtrit

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.preferences.conditional_logit import (
    ConditionalLogit,
    clustered_covariance,
    conditional_logit,
)

__all__ = [
    "Kappa",
    "cohen_kappa",
    "lowess",
]


@dataclass(frozen=True)
class Kappa:
    """Cohen's κ, both ends of its interval, and the agreement it is made of."""

    value: float
    low: float
    high: float
    agreement: float
    expected: float


def cohen_kappa(
    first: npt.ArrayLike, second: npt.ArrayLike, *, clusters: npt.ArrayLike | None = None, level: float = 0.95
) -> Kappa:
    """Return Cohen's κ of two sequences of verdicts, with a linearised interval over independent clusters.

    A single cluster says nothing of how clusters vary: the interval is then −1 to 1.

    >>> kappa = cohen_kappa([0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, 1])
    >>> round(kappa.value, 3), round(kappa.agreement, 3)
    (0.333, 0.667)
    """
    a, b = np.asarray(first), np.asarray(second)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise ValueError("both raters need one verdict per item, and at least one")
    values, codes = np.unique(np.concatenate([a, b]), return_inverse=True)
    x, y = codes[: len(a)], codes[len(a) :]
    n, k = len(a), len(values)
    p, q = np.bincount(x, minlength=k) / n, np.bincount(y, minlength=k) / n
    observed, expected = float((x == y).mean()), float(p @ q)
    if expected >= 1.0:
        return Kappa(float("nan"), float("nan"), float("nan"), observed, expected)
    kappa = (observed - expected) / (1 - expected)
    # Influence of every item on κ, by the derivative of the ratio.
    change = q[x] + p[y] - 2 * expected
    influence = ((x == y) - observed - (1 - kappa) * change) / (1 - expected)
    units = np.arange(n) if clusters is None else np.unique(np.asarray(clusters), return_inverse=True)[1]
    sums = np.bincount(units, influence)
    groups = len(sums)
    if groups < 2:
        return Kappa(kappa, -1.0, 1.0, observed, expected)
    error = float(np.sqrt((sums**2).sum() * groups / (groups - 1))) / n
    reach = float(stdtrit(groups - 1, 0.5 + level / 2)) * error
    return Kappa(kappa, max(kappa - reach, -1.0), min(kappa + reach, 1.0), observed, expected)


_POINTS = 200


def lowess(x: npt.ArrayLike, y: npt.ArrayLike, fraction: float = 0.5) -> Floats:
    """Return the smoothed y at every x: lines fitted with tricube weights to the nearest `fraction` of the points.

    Lines are fitted at no more than 200 quantiles of x, with straight lines between them.

    >>> lowess([0, 1, 2, 3, 4], [1.0, 3.0, 5.0, 7.0, 9.0], fraction=1.0).round(6).tolist()
    [1.0, 3.0, 5.0, 7.0, 9.0]
    """
    at, values = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction must be above 0 and at most 1, not {fraction}")
    order = np.argsort(at, kind="stable")
    sorted_x, sorted_y = at[order], values[order]
    n = len(at)
    near = max(int(np.ceil(fraction * n)), 2)
    points = np.unique(np.quantile(sorted_x, np.linspace(0, 1, min(_POINTS, n)))) if n else np.empty(0)
    fitted = np.array([_line(sorted_x, sorted_y, point, near) for point in points])
    return np.asarray(np.interp(at, points, fitted) if n else np.empty(0))


def _line(x: Floats, y: Floats, point: float, near: int) -> float:
    """Return the height at a point of the line through its nearest points."""
    middle = int(np.searchsorted(x, point))
    low, high = max(0, middle - near), min(len(x), middle + near)
    distance = np.abs(x[low:high] - point)
    reach = float(np.partition(distance, min(near, len(distance)) - 1)[min(near, len(distance)) - 1])
    weight = np.clip(1 - (distance / (reach * (1 + 1e-9) + 1e-12)) ** 3, 0.0, None) ** 3
    if not weight.sum() > 0:
        weight = np.ones_like(distance)
    total = weight.sum()
    mean_x, mean_y = weight @ x[low:high] / total, weight @ y[low:high] / total
    spread = weight @ (x[low:high] - mean_x) ** 2
    slope = weight @ ((x[low:high] - mean_x) * (y[low:high] - mean_y)) / spread if spread > 1e-12 else 0.0
    return float(mean_y + slope * (point - mean_x))


#: Draws from the cluster-robust distribution of the coefficients, for intervals of win rates and ranks.
DRAWS = 2_000
#: A little ridge: a model that won or lost every comparison keeps a finite rating.
_PENALTY = 1e-2


def controlled_win_rates(
    models: Ints,
    style: Floats,
    starts: Ints,
    chosen: Ints,
    *,
    clusters: Ints,
    weights: Floats | None = None,
    seed: int = 0,
) -> dict[str, Floats | Ints]:
    """Return for every model its win rate against all others, plain and at equal style, with ranks and intervals.

    `models` are the codes of the answers' models and `style` their covariates; `starts` are the first answers of the
    examples and `chosen` those that were preferred.

    A win rate is the mean probability to win against each other model, by a Bradley–Terry model of the choices.
    Intervals come from draws of the cluster-robust normal distribution that the coefficients of both models have
    together: both are fitted to the same choices, so a change is far more certain than two independent rates.
    """
    k = int(models.max()) + 1
    indicator = np.zeros((len(models), k))
    indicator[np.arange(len(models)), models] = 1.0
    fits = [
        conditional_logit(x, starts, chosen, clusters=clusters, weights=weights, penalty=_PENALTY)
        for x in (indicator, np.hstack([indicator, style]))
    ]
    plain, held = (
        (win_rates(fit.coefficients[:k]), np.stack([win_rates(b[:k]) for b in drawn]))
        for fit, drawn in zip(fits, _drawn(fits, clusters, seed), strict=True)
    )
    played = np.bincount(models, minlength=k)
    won = np.bincount(models[chosen], minlength=k)
    ranks = [_ranks(rates[0]) for rates in (plain, held)]
    moves = _ranks(plain[1]) - _ranks(held[1])
    low, high = np.percentile(moves, [2.5, 97.5], axis=0)
    columns: dict[str, Floats | Ints] = {"n": played, "share_won": won / np.maximum(played, 1)}
    for name, (value, draws) in (("plain", plain), ("controlled", held)):
        ends = np.percentile(draws, [2.5, 97.5], axis=0)
        columns |= {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}
    difference = np.percentile(held[1] - plain[1], [2.5, 97.5], axis=0)
    columns |= {
        "change": held[0] - plain[0],
        "change_low": difference[0],
        "change_high": difference[1],
        "rank": ranks[0],
        "controlled_rank": ranks[1],
        "rank_change": ranks[0] - ranks[1],
        "rank_change_low": np.rint(low).astype(np.int64),
        "rank_change_high": np.rint(high).astype(np.int64),
    }
    return columns


def _drawn(fits: list[ConditionalLogit], clusters: Ints, seed: int) -> list[Floats]:
    """Return draws of the coefficients of every fit, from their joint distribution over clusters."""
    codes = np.unique(clusters, return_inverse=True)[1]
    covariance, _ = clustered_covariance(np.hstack([fit.residual @ fit.naive for fit in fits]), codes)
    values, vectors = np.linalg.eigh(covariance)
    noise = np.random.default_rng(seed).standard_normal((DRAWS, len(covariance)))
    shifts = noise @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    ends = np.cumsum([len(fit.coefficients) for fit in fits])
    return [
        fit.coefficients + part for fit, part in zip(fits, np.split(shifts, ends[:-1], axis=1), strict=True)
    ]


def win_rates(strengths: Floats) -> Floats:
    """Return each model's mean probability to win against the others.

    >>> win_rates(np.array([0.0, 0.0, 0.0])).tolist()
    [0.5, 0.5, 0.5]
    """
    k = len(strengths)
    wins = expit(strengths[:, None] - strengths[None, :])
    return np.asarray((wins.sum(axis=1) - 0.5) / (k - 1))


def _ranks(rates: Floats) -> Ints:
    """Return 1 for the highest rate, along the last axis."""
    return np.asarray((-rates).argsort(axis=-1).argsort(axis=-1) + 1)
