"""Win rates of models, as they stand and with style held equal: Bradley–Terry with style covariates."""

from __future__ import annotations

import numpy as np
import polars as pl
from scipy.special import expit

from cuecard.data.examples import Examples
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.preferences.conditional_logit import ConditionalLogit, conditional_logit

#: Draws from the cluster-robust distribution of the coefficients, for intervals of win rates and ranks.
DRAWS = 2_000
#: A little ridge: a model that won or lost every comparison keeps a finite rating.
_PENALTY = 1e-2


def controlled_win_rates(
    examples: Examples, models: pl.Series, style: Floats, clusters: Ints, seed: int
) -> pl.DataFrame:
    """Return for every model its win rate against all others, plain and at equal style, with ranks and intervals.

    A win rate is the mean probability to win against each other model, by a Bradley–Terry model of the choices.
    Intervals come from draws of the coefficients' cluster-robust normal distribution.
    """
    names = models.unique().sort()
    codes = models.replace_strict(names, np.arange(len(names))).to_numpy().astype(np.int64)
    indicator = np.zeros((len(codes), len(names)))
    indicator[np.arange(len(codes)), codes] = 1.0
    starts, right = examples.first_rows[:-1], examples.right_rows
    fits = [
        conditional_logit(x, starts, right, clusters=clusters, weights=examples.weights, penalty=_PENALTY)
        for x in (indicator, np.hstack([indicator, style]))
    ]
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((DRAWS, len(names) + style.shape[1]))
    plain, held = (_rates(fit, len(names), noise) for fit in fits)
    played = np.bincount(codes, minlength=len(names))
    won = np.bincount(codes[right], minlength=len(names))
    ranks = [_ranks(rates[0]) for rates in (plain, held)]
    moves = _ranks(plain[1]) - _ranks(held[1])
    low, high = np.percentile(moves, [2.5, 97.5], axis=0)
    columns = {"model": names, "n": played, "share_won": won / np.maximum(played, 1)}
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
    return pl.DataFrame(columns).sort("controlled", descending=True)


def _rates(fit: ConditionalLogit, models: int, noise: Floats) -> tuple[Floats, Floats]:
    """Return the win rate of every model against the mean of the others, and for every draw."""
    p = len(fit.coefficients)
    values, vectors = np.linalg.eigh(fit.covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = fit.coefficients + noise[:, :p] @ root.T
    return win_rates(fit.coefficients[:models]), np.stack([win_rates(b[:models]) for b in drawn])


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
