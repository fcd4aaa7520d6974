"""Accuracies of many models in several ways at once, with ranks and their changes over resampled examples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.scores.cross_fit_intervals import mean_interval

RESAMPLES = 1_000


def scores_of(
    models: list[str], correct: Floats, ways: Mapping[str, Floats], units: Ints, seed: int
) -> pl.DataFrame:
    """Return every model's mean under every way to weight examples, with its rank and the change from the first way.

    Args:
        models: names of the models.
        correct: examples × models, 1 where right.
        ways: weights of the examples by the name of the way; the first is the plain one.
        units: examples that are one observation share a number; they are resampled together.
        seed: of the resamples.
    """
    rng = np.random.default_rng(seed)
    codes = np.unique(units, return_inverse=True)[1]
    groups = int(codes.max(initial=-1)) + 1
    names = list(ways)
    means = {name: _means(correct, weights) for name, weights in ways.items()}
    ranks = {name: _ranks(value) for name, value in means.items()}
    moves: dict[str, list[Ints]] = {name: [] for name in names[1:]}
    for _ in range(RESAMPLES if len(models) > 1 else 0):
        times = rng.multinomial(groups, np.full(groups, 1 / groups))[codes]
        first = _ranks(_means(correct, ways[names[0]] * times))
        for name in names[1:]:
            moves[name].append(first - _ranks(_means(correct, ways[name] * times)))
    columns: dict[str, object] = {"model": models}
    for name, weights in ways.items():
        used: Bools = weights > 0
        ends = [
            mean_interval(correct[used, m], units=codes[used], weights=weights[used])
            for m in range(len(models))
        ]
        columns |= {
            name: means[name],
            f"{name}_low": np.clip([e[1] for e in ends], 0, 1),
            f"{name}_high": np.clip([e[2] for e in ends], 0, 1),
            f"{name}_rank": ranks[name],
        }
        if moves.get(name):
            low, high = np.percentile(np.stack(moves[name]), [2.5, 97.5], axis=0)
            columns |= {
                f"{name}_rank_change": ranks[names[0]] - ranks[name],
                f"{name}_rank_change_low": np.rint(low).astype(np.int64),
                f"{name}_rank_change_high": np.rint(high).astype(np.int64),
            }
    return pl.DataFrame(columns)


def _means(correct: Floats, weights: Floats) -> Floats:
    return np.asarray(weights @ correct / max(float(weights.sum()), 1e-12))


def _ranks(values: Floats) -> Ints:
    """Return 1 for the highest value."""
    return np.asarray((-values).argsort(kind="stable").argsort(kind="stable") + 1)
