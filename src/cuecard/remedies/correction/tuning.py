"""How strongly to correct: chosen on examples with labels, never on those that are scored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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

#: Multipliers of the two constraints that are tried, and strengths of an expert.
MULTIPLIERS = np.round(np.arange(0, 1.51, 0.05), 2)
STRENGTHS = np.round(np.arange(0, 4.01, 0.05), 2)

#: Probabilities and strengths → corrected probabilities.
Apply = Callable[[Sequence[float]], Floats]


@dataclass(frozen=True, eq=False)
class Part:
    """Examples with a model's probabilities, their cues, and what the expert says of them, if there is one."""

    probabilities: Floats
    gold: Ints
    groups: CueGroups
    expert: Floats | None = None

    def take(self, rows: Ints) -> Part:
        """Return some of the examples."""
        expert = None if self.expert is None else self.expert[rows]
        return Part(self.probabilities[rows], self.gold[rows], self.groups.take(rows), expert)


@dataclass(frozen=True)
class Judged:
    """How answers do: accuracy, accuracy in U and in N, and both permutation tests as z."""

    accuracy: float
    usual_accuracy: float
    unusual_accuracy: float
    z: float
    z_within_label: float

    @property
    def worst(self) -> float:
        """The lower accuracy of U and N."""
        return min(self.usual_accuracy, self.unusual_accuracy)

    @property
    def highest_z(self) -> float:
        """The higher of both tests: at most 0 if neither finds U more accurate than shuffling makes it."""
        return max(self.z, self.z_within_label)


@dataclass(frozen=True)
class Tuned:
    """The chosen strengths, the shares that the constraints refer to, and how the answers they were chosen by do."""

    strengths: tuple[float, ...]
    shares: tuple[Floats, Floats]
    judged: Judged

    def apply(self, part: Part) -> Floats:
        """Return the corrected probabilities of other examples."""
        return corrected(part, self.strengths, self.shares)


def corrected(part: Part, strengths: Sequence[float], shares: tuple[Floats, Floats]) -> Floats:
    """Return corrected probabilities: by the expert where the part has one, by both constraints otherwise."""
    if part.expert is not None:
        return without_expert(part.probabilities, part.expert, strengths[0])
    gains = [advantages(part.groups, share) for share in shares]
    return constrained_probabilities(part.probabilities, gains, strengths)


def judge(answers: Ints, gold: Ints, groups: CueGroups) -> Judged:
    """Return how answers do on examples with cues."""
    right = answers == gold
    usual, unusual = groups.with_answers(gold)
    pool = usual | unusual
    return Judged(
        float(right.mean()),
        float(right[usual].mean()) if usual.any() else np.nan,
        float(right[unusual].mean()) if unusual.any() else np.nan,
        permutation_z(right, usual, pool),
        permutation_z(right, usual, pool, gold),
    )


def tune(
    part: Part,
    aim: Aim,
    *,
    fixed: Sequence[float] | None = None,
    margin: float = 0.0,
    judged_by: CueGroups | None = None,
) -> Tuned:
    """Return the strengths that serve the aim best on a part.

    "gap": the highest accuracy for which both tests are at most −`margin`; where none is, the smallest z.
    "worst-group": the highest accuracy of the worse of U and N; of equals, the highest accuracy.

    Args:
        part: examples with labels.
        aim: what to reach.
        fixed: take these strengths instead.
        margin: how far below zero both tests are to be, in standard deviations.
        judged_by: groups of other cues to tune for; those of the part by default.
    """
    shares = usual_shares(part.groups, part.gold)
    groups = judged_by or part.groups

    def judged(strengths: Sequence[float]) -> Judged:
        return judge(corrected(part, strengths, shares).argmax(axis=1), part.gold, groups)

    if fixed is not None:
        return Tuned(tuple(fixed), shares, judged(fixed))
    tried: list[tuple[float, ...]] = (
        [(float(s),) for s in STRENGTHS]
        if part.expert is not None
        else [(float(a), float(b)) for a, b in product(MULTIPLIERS, MULTIPLIERS)]
    )
    results = [(judged(strengths), strengths) for strengths in tried]

    def gap_closed(result: tuple[Judged, tuple[float, ...]]) -> tuple[float, ...]:
        outcome, strengths = result
        closed = outcome.highest_z <= -margin
        return (float(closed), outcome.accuracy if closed else -outcome.highest_z, -sum(strengths))

    def worst_group(result: tuple[Judged, tuple[float, ...]]) -> tuple[float, ...]:
        outcome, strengths = result
        return outcome.worst, outcome.accuracy, -sum(strengths)

    best, strengths = max(results, key=gap_closed if aim == "gap" else worst_group)
    return Tuned(strengths, shares, best)
