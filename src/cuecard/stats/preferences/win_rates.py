"""Win rates of models, as they stand and with style held equal: Bradley–Terry with style covariates."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.preferences.conditional_logit import (
    ConditionalLogit,
    clustered_covariance,
    conditional_logit,
)

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
