"""Accuracy of models under weights of the user's own: coverage of its interval, and of the change that weights make."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.calibration.rows import Row
from cuecard.stats.arrays import Bools, Floats
from cuecard.stats.weighted import weighted_change, weighted_share

Weights = Literal["inverse class frequencies", "Pareto weights", "heavy Pareto weights"]
#: The tail index of the weights; the heavy ones have no variance.
TAILS = {"Pareto weights": 3.0, "heavy Pareto weights": 1.5}
RARE = 0.2


@dataclass(frozen=True)
class WeightedModel:
    """A model that is right on 80 % of examples of little weight, and on 50 % (or as many) of those of much."""

    weights: Weights
    depends: bool

    @property
    def shares(self) -> tuple[float, float]:
        """How often it is right where weights are large, and where they are small."""
        return (0.5, 0.8) if self.depends else (0.7, 0.7)

    @property
    def truth(self) -> float:
        """Its accuracy by weight: the share of weight above 2 is 2^(1 − tail) for Pareto weights of at least 1."""
        large = 0.5 if self.weights not in TAILS else 2 ** (1 - TAILS[self.weights])
        return large * self.shares[0] + (1 - large) * self.shares[1]

    @property
    def plain(self) -> float:
        """Its accuracy where all examples count the same."""
        large = RARE if self.weights not in TAILS else 2 ** -TAILS[self.weights]
        return large * self.shares[0] + (1 - large) * self.shares[1]

    def drawn(self, n: int, rng: np.random.Generator) -> tuple[Bools, Floats]:
        """Return whether it is right on n examples, and their weights."""
        if self.weights in TAILS:
            weight = rng.pareto(TAILS[self.weights], n) + 1
            large = weight > 2
        else:
            large = rng.random(n) < RARE
            weight = np.where(large, 0.5 / RARE, 0.5 / (1 - RARE))
        return rng.random(n) < np.where(large, *self.shares), weight


def weighted_models(scale: float, seed: int) -> Iterator[Row]:
    """Coverage of the weighted accuracy, and of the difference from the plain one."""
    runs = max(20, round(1_000 * scale))
    kinds: tuple[Weights, ...] = ("inverse class frequencies", "Pareto weights", "heavy Pareto weights")
    for weights in kinds:
        for depends in (False, True):
            model = WeightedModel(weights, depends)
            of = "accuracy goes with the weight" if depends else "accuracy 70 % whatever the weight"
            for n in (50, 200, 1_000):
                rng = np.random.default_rng([seed, n])
                held = changed = 0
                for _ in range(runs):
                    right, weight = model.drawn(n, rng)
                    share, change = weighted_share(right, weight), weighted_change(right, weight)
                    held += share.low <= model.truth <= share.high
                    changed += change[1] <= model.truth - model.plain <= change[2]
                yield Row("coverage", "weighted accuracy", f"{weights}, {of}", f"{n:,}", runs, held / runs)
                yield Row("coverage", "change by weights", f"{weights}, {of}", f"{n:,}", runs, changed / runs)
