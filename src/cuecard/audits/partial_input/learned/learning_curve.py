"""How much data does the shortcut need? Accuracy of partial input by number of examples learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.audits.partial_input.baselines.judging import interval
from cuecard.audits.partial_input.learned.cross_fit import Trainer
from cuecard.models.linear.kept_rows import Features
from cuecard.stats.arrays import Ints

SMALLEST = 50
POINTS = 6
#: Small samples differ; this many are drawn below the size at which one is enough.
REPEATS = 3
ONE_IS_ENOUGH = 5_000
LARGEST = 30_000


@dataclass(frozen=True, eq=False)
class _Point:
    size: int
    repeat: int


def curve(
    fit: Trainer, matrix: Features, learn: Ints, guess: Ints, chance: float
) -> Callable[[], pl.DataFrame]:
    """Return a function that gives the table: one row per training size and draw, with accuracy and interval."""
    generator = np.random.default_rng(fit.seed)
    points = [
        _Point(size, repeat)
        for size in sizes(min(len(learn), LARGEST))
        for repeat in range(REPEATS if size < min(ONE_IS_ENOUGH, len(learn)) else 1)
    ]

    def scored(learn: Ints) -> tuple[float, float, float]:
        guesses = fit.guess(matrix, learn, guess).weighted(fit.examples.weight(guess))
        return guesses.mean(guesses.score), *interval(guesses.score, guesses.weight)

    promised = [
        fit.pool.submit(scored, np.sort(generator.permutation(learn)[: point.size])) for point in points
    ]

    def collect() -> pl.DataFrame:
        rows = [
            (point.size, point.repeat, *promise.result(), chance, len(guess))
            for point, promise in zip(points, promised, strict=True)
        ]
        return pl.DataFrame(
            rows, schema=["train_examples", "draw", "accuracy", "low", "high", "chance", "n"], orient="row"
        )

    return collect


def sizes(most: int) -> list[int]:
    """Return training sizes that grow by about the same factor, from a few dozen to all."""
    if most <= SMALLEST:
        return [most]
    return sorted({round(size) for size in np.geomspace(SMALLEST, most, POINTS)})
