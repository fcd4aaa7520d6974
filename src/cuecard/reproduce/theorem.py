"""Selection's Theorem 1 by simulation: accuracy under leakage-neutral weights is that of the neutral world."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cuecard.stats.arrays import Bools, Floats, Ints
from cuecard.stats.weighted import weighted_share

#: P(S = 1 | l), the chance that a draw of leakage 1, 2, 3 or 4 is wanted with label 1.
INTENTION: Floats = np.array([0.15, 0.3, 0.7, 0.85])
#: Accuracy of the simulated model where the leakage points to the label, and where it does not.
RIGHT = (0.9, 0.6)
#: Its accuracy in the neutral world, where both are equally frequent.
TRUTH = sum(RIGHT) / 2


@dataclass(frozen=True)
class Selected:
    """Draws that the intention rule keeps: label, leakage, whether the model is right, and P(S = 1 | l)."""

    label: Ints
    leak: Ints
    right: Bools
    intention: Floats


@dataclass(frozen=True)
class TheoremCheck:
    """Mean accuracies over the repetitions, and how often the 95 % CI covers the accuracy of the neutral world."""

    truth: float
    weighted: float
    unweighted: float
    weighted_coverage: float
    unweighted_coverage: float
    repetitions: int


def select(n: int, rng: np.random.Generator) -> Selected:
    """Draw labels and leakage independently, and keep a draw if the wanted label S is its label Y."""
    label = (rng.random(n) < 0.5).astype(np.int64)
    leak = rng.integers(1, len(INTENTION) + 1, n)
    points_to_label = (leak > len(INTENTION) / 2) == (label == 1)
    right = rng.random(n) < np.where(points_to_label, *RIGHT)
    intention = INTENTION[leak - 1]
    kept = (rng.random(n) < intention) == (label == 1)
    return Selected(label[kept], leak[kept], right[kept], intention[kept])


def theorem_by_simulation(*, repetitions: int = 600, n: int = 1200, seed: int = 0) -> TheoremCheck:
    """Return what accuracy with the weights 1 / P(S = y | l) estimates, and what it estimates without them."""
    rng = np.random.default_rng(seed)
    shares, covered = np.zeros((2, repetitions)), np.zeros((2, repetitions))
    for i in range(repetitions):
        drawn = select(n, rng)
        weights = 1 / np.where(drawn.label == 1, drawn.intention, 1 - drawn.intention)
        for j, used in enumerate((weights, np.ones(len(weights)))):
            score = weighted_share(drawn.right, used)
            shares[j, i], covered[j, i] = score.share, score.low <= TRUTH <= score.high
    weighted, unweighted = shares.mean(axis=1)
    in_weighted, in_unweighted = covered.mean(axis=1)
    return TheoremCheck(
        TRUTH, float(weighted), float(unweighted), float(in_weighted), float(in_unweighted), repetitions
    )
