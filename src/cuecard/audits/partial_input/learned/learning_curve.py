"""How much data does the shortcut need? Accuracy of partial input by number of examples learned from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from cuecard.audits.partial_input.baselines.guessing import Guesses
from cuecard.audits.partial_input.baselines.judging import interval
from cuecard.audits.partial_input.learned.cross_fit import Trainer, everything
from cuecard.audits.partial_input.learned.members import Members, shuffled
from cuecard.audits.partial_input.learned.predicting import Ask
from cuecard.models.linear.features_on_request import Features
from cuecard.stats.arrays import Floats, Ints

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
    fit: Trainer, matrix: Features, learn: Ints | Members, guess: Ints, chance: float
) -> Callable[[], pl.DataFrame]:
    """Return a function that gives the table: one row per training size and draw, with accuracy and interval."""
    generator, n = np.random.default_rng(fit.seed), len(learn)
    points = [
        _Point(size, repeat)
        for size in sizes(min(n, LARGEST))
        for repeat in range(REPEATS if size < min(ONE_IS_ENOUGH, n) else 1)
    ]
    promised = [
        fit.fitted(matrix, learn[np.sort(shuffled(generator, n)[: point.size]).astype(np.int64)])
        for point in points
    ]

    def collect() -> pl.DataFrame:
        space, weight = fit.examples.instances.space, fit.examples.weight(guess)
        scores: list[Floats] = [space.array(np.float64, len(guess)) for _ in points]
        fit.predict(
            matrix,
            guess,
            [Ask(one, everything, _scores_to(score)) for one, score in zip(promised, scores, strict=True)],
        )
        rows = [
            (
                p.size,
                p.repeat,
                float(np.average(score, weights=weight)),
                *interval(score, weight),
                chance,
                len(guess),
            )
            for p, score in zip(points, scores, strict=True)
        ]
        return pl.DataFrame(
            rows, schema=["train_examples", "draw", "accuracy", "low", "high", "chance", "n"], orient="row"
        )

    return collect


def _scores_to(scores: Floats) -> Callable[[slice, Guesses], None]:
    def write(some: slice, part: Guesses) -> None:
        scores[some] = part.score

    return write


def sizes(most: int) -> list[int]:
    """Return training sizes that grow by about the same factor, from a few dozen to all."""
    if most <= SMALLEST:
        return [most]
    return sorted({round(size) for size in np.geomspace(SMALLEST, most, POINTS)})
