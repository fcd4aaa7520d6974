"""How strongly to correct predictions: chosen on examples with labels, never on those that are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np

from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.correction import (
    CueGroups,
    advantages,
    constrained_probabilities,
    permutation_z,
    usual_shares,
    without_expert,
)

Aim = Literal["gap", "worst-group"]
Method = Literal["constraint", "expert"]

#: Multipliers of the two constraints that are tried first, and strengths of an expert. Where nearly all examples are
#: usual, a right answer adds little to the statistic, and multipliers are large.
MULTIPLIERS = np.append(np.round(np.arange(0, 1.51, 0.1), 2), [2, 3, 5, 8])
STRENGTHS = np.round(np.arange(0, 4.01, 0.05), 2)
#: Steps by which the best multipliers are then moved: a gap changes its sign between two points of a grid.
STEPS = (0.1, 0.05, 0.02, 0.01)
#: Moves of one size, at most.
MOVES = 20


@dataclass(frozen=True, eq=False)
class Part:
    """Examples with a model's probabilities, their cues, and what the expert says of them, if there is one.

    `bands` are groups of several lists of cues, the strongest first; each has multipliers of its own.
    """

    probabilities: Floats
    gold: Ints
    bands: tuple[CueGroups, ...]
    expert: Floats | None = None

    def take(self, rows: Ints) -> Part:
        """Return some of the examples."""
        expert = None if self.expert is None else self.expert[rows]
        bands = tuple(groups.take(rows) for groups in self.bands)
        return Part(self.probabilities[rows], self.gold[rows], bands, expert)


@dataclass(frozen=True)
class Judged:
    """How answers do: accuracy, the lower accuracy of U and N, and the z of every permutation test.

    A z is above 0 if U is more accurate than shuffling makes it, and below 0 if it is less accurate.
    """

    accuracy: float
    worst: float
    z: tuple[float, ...]

    @property
    def furthest_z(self) -> float:
        """The largest |z|."""
        return max(abs(z) for z in self.z)


#: Of every band the share r of U in the pool, over all examples and within each right answer.
Shares = tuple[tuple[Floats, Floats], ...]


@dataclass(frozen=True)
class Tuned:
    """The chosen strengths, the shares that the constraints refer to, and how the answers they were chosen by do."""

    strengths: tuple[float, ...]
    shares: Shares
    judged: Judged

    def apply(self, part: Part) -> Floats:
        """Return the corrected probabilities of other examples."""
        return Correcting(part, self.shares).probabilities(self.strengths)


class Correcting:
    """Corrects a part: by its expert where it has one, by two constraints per band otherwise."""

    def __init__(self, part: Part, shares: Shares) -> None:
        self._part = part
        self._gains = [
            advantages(groups, share)
            for groups, both in zip(part.bands, shares, strict=True)
            for share in both
        ]

    def probabilities(self, strengths: Sequence[float]) -> Floats:
        """Return the probabilities after a correction of these strengths."""
        if self._part.expert is not None:
            return without_expert(self._part.probabilities, self._part.expert, strengths[0])
        return constrained_probabilities(self._part.probabilities, self._gains, strengths)


def judge(answers: Ints, gold: Ints, lists: Sequence[CueGroups]) -> Judged:
    """Return how answers do on examples with cues of one or several lists."""
    right = answers == gold
    worst, z = [], []
    for groups in lists:
        usual, unusual = groups.with_answers(gold)
        worst += [float(right[members].mean()) for members in (usual, unusual) if members.any()]
        z += [permutation_z(right, usual, usual | unusual, strata) for strata in (None, gold)]
    return Judged(float(right.mean()), min(worst), tuple(z))


def tune(
    part: Part,
    aim: Aim,
    *,
    fixed: Sequence[float] | None = None,
    margin: float = 0.0,
    judged_by: Sequence[CueGroups] | None = None,
) -> Tuned:
    """Return the strengths that serve the aim best on a part.

    "gap": the highest accuracy for which all tests are within `margin` of zero; where none is, the nearest to it.
    "worst-group": the highest accuracy of the worse of U and N; of equals, the highest accuracy.
    The multipliers of a second and further band are found with those before them held, and then all are moved.

    Args:
        part: examples with labels.
        aim: what to reach.
        fixed: take these strengths instead.
        margin: how far from zero all tests may be, in standard deviations.
        judged_by: groups of other cues to tune for; those of the part by default.
    """
    shares = tuple(usual_shares(groups, part.gold) for groups in part.bands)
    correcting = Correcting(part, shares)
    lists = part.bands if judged_by is None else judged_by

    def value(strengths: Sequence[float], judged_lists: Sequence[CueGroups]) -> tuple[float, ...]:
        answers = correcting.probabilities(strengths).argmax(axis=1)
        outcome = judge(answers, part.gold, judged_lists)
        size = -float(np.abs(strengths).sum())
        if aim == "worst-group":
            return outcome.worst, outcome.accuracy, size
        beyond = sum(max(0.0, abs(z) - margin) ** 2 for z in outcome.z)
        return -beyond, outcome.accuracy, size

    def best(tried: Iterable[tuple[float, ...]], judged_lists: Sequence[CueGroups]) -> tuple[float, ...]:
        return max(tried, key=lambda strengths: value(strengths, judged_lists))

    if fixed is not None:
        chosen = tuple(fixed)
    elif part.expert is not None:
        chosen = best([(float(s),) for s in STRENGTHS], lists)
    else:
        n = len(part.bands)
        grid = [(float(a), float(b)) for a, b in product(MULTIPLIERS[:: 1 if n == 1 else 2], repeat=2)]
        chosen = (0.0,) * (2 * n)
        for band in range(n):
            judged_lists = lists if judged_by is not None else lists[: band + 1]
            tried = [(*chosen[: 2 * band], *pair, *chosen[2 * band + 2 :]) for pair in grid]
            chosen = best(tried, judged_lists)
        chosen = _moved(chosen, lambda tried: best(tried, lists))
    judged = judge(correcting.probabilities(chosen).argmax(axis=1), part.gold, lists)
    return Tuned(chosen, shares, judged)


def _moved(
    start: tuple[float, ...], best: Callable[[Iterable[tuple[float, ...]]], tuple[float, ...]]
) -> tuple[float, ...]:
    """Return multipliers moved by ever smaller steps, one or both of a band at a time, as long as it helps."""
    ways = [(a, b) for a, b in product((-1, 0, 1), repeat=2) if a or b]
    chosen = np.array(start)
    for step in STEPS:
        for _ in range(MOVES):
            tried = [tuple(chosen)]
            for band, (a, b) in product(range(len(start) // 2), ways):
                moved = chosen.copy()
                moved[2 * band : 2 * band + 2] += step * np.array([a, b])
                tried.append(tuple(moved))
            now = np.array(best(tried))
            if np.array_equal(now, chosen):
                break
            chosen = now
    return tuple(float(value) for value in np.round(chosen, 6))
