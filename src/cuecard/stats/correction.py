"""Answers corrected for cues: the most accurate ones whose correctness does not depend on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cuecard.stats.arrays import Bools, Floats, Ints

#: Least factor of a probability: an answer that the constraints rule out stays possible, and the least likely one.
SMALLEST_FACTOR = 1e-6


@dataclass(frozen=True, eq=False)
class CueGroups:
    """What every answer would make of an example, examples × answers.

    `usual`: were this the right answer, the example would have a cue with its usual answer (Stubborn's U); `unusual`:
    it would have a cue with another one (N). An example can be in both.
    """

    usual: Bools
    unusual: Bools

    @property
    def pool(self) -> Bools:
        """U ∪ N, over which correctness is shuffled."""
        return self.usual | self.unusual

    def with_answers(self, answers: Ints) -> tuple[Bools, Bools]:
        """Return who is in U and in N if these are the right answers."""
        rows = np.arange(len(answers))
        return self.usual[rows, answers], self.unusual[rows, answers]

    def take(self, rows: Ints) -> CueGroups:
        """Return the groups of some examples."""
        return CueGroups(self.usual[rows], self.unusual[rows])


def advantages(groups: CueGroups, shares: Floats) -> Floats:
    """Return what a right answer adds to the statistic of the permutation test: examples × answers.

    The test looks at k − r K: the correct answers in U, less the share r = |U| / |U ∪ N| of all correct answers in
    U ∪ N. A right answer adds 1 − r in U and −r in the rest of the pool. `shares` has r for every answer: the same
    one for the test over all examples, that of each answer for the test within right answers.
    """
    return np.asarray(groups.usual - shares[None, :] * groups.pool)


def usual_shares(groups: CueGroups, gold: Ints) -> tuple[Floats, Floats]:
    """Return r = |U| / |U ∪ N| over all examples (once per answer), and within each right answer."""
    usual, unusual = groups.with_answers(gold)
    answers = groups.usual.shape[1]
    pool = usual | unusual
    within = np.bincount(gold[usual], minlength=answers) / np.maximum(
        np.bincount(gold[pool], minlength=answers), 1
    )
    return np.full(answers, usual.sum() / max(pool.sum(), 1)), within


def constrained_probabilities(
    probabilities: Floats, gains: Sequence[Floats], multipliers: Sequence[float]
) -> Floats:
    """Return probabilities whose most likely answer is the most accurate one under linear constraints.

    Among all ways to answer, the one of highest expected accuracy for which every Σ gain of right answers is at most 0
    takes argmax_y p(y | x) · (1 − Σ_c μ_c gain_c(x, y)), with a multiplier μ_c ≥ 0 per constraint: the Lagrangian is a
    sum over examples, so each is decided by itself (Menon & Williamson 2018; Hardt et al. 2016 for two groups).
    """
    factor = np.ones_like(probabilities)
    for gain, multiplier in zip(gains, multipliers, strict=True):
        factor -= multiplier * gain
    changed = probabilities * np.maximum(factor, SMALLEST_FACTOR)
    return np.asarray(changed / changed.sum(axis=1, keepdims=True))


def without_expert(probabilities: Floats, expert: Floats, strength: float) -> Floats:
    """Return p(y | x) / expert(y)^strength, normalised; `expert` are log-probabilities, −∞ where there is no answer.

    >>> p, expert = np.array([[0.8, 0.2]]), np.log([[0.8, 0.2]])
    >>> without_expert(p, expert, 1.0)
    array([[0.5, 0.5]])
    """
    possible = probabilities > 0
    logs = np.where(possible, np.log(np.where(possible, probabilities, 1)), -np.inf)
    logs = np.where(possible, logs - strength * np.where(np.isfinite(expert), expert, 0), -np.inf)
    odds = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def permutation_z(correct: Bools, usual: Bools, pool: Bools, strata: Ints | None = None) -> float:
    """Return the permutation test's count of correct answers in U in standard deviations from what shuffling gives.

    With strata, correctness is shuffled within each. It orders predictions as the p-value does, and costs nothing.
    """
    layer = np.zeros(len(correct), np.int64) if strata is None else strata
    n_layers = int(layer.max(initial=0)) + 1

    def count(mask: Bools) -> Floats:
        return np.bincount(layer[mask], minlength=n_layers).astype(np.float64)

    pooled, drawn, right = count(pool), count(usual), count(pool & correct)
    size = np.maximum(pooled, 1)
    excess = float((count(usual & correct) - drawn * right / size).sum())
    spread = drawn * (pooled - drawn) * right * (pooled - right) / (size**2 * np.maximum(pooled - 1, 1))
    return excess / float(np.sqrt(max(spread.sum(), 1e-12)))
