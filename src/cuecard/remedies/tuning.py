"""How strongly to correct predictions: chosen on examples with labels, never on those that are scored."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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

#: Multipliers of the two constraints that are tried, and strengths of an expert. Where nearly all examples are usual,
#: a right answer adds little to the statistic, and multipliers are large.
MULTIPLIERS = np.append(np.round(np.arange(0, 1.51, 0.05), 2), [2, 3, 5, 8])
STRENGTHS = np.round(np.arange(0, 4.01, 0.05), 2)


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
    """How answers do: accuracy, the lower accuracy of U and N, and the highest z of all permutation tests.

    `highest_z` is at most 0 if no test finds U more accurate than shuffling makes it.
    """

    accuracy: float
    worst: float
    highest_z: float


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
        return corrected(part, self.strengths, self.shares)


def corrected(part: Part, strengths: Sequence[float], shares: Shares) -> Floats:
    """Return corrected probabilities: by the expert where the part has one, by two constraints per band otherwise."""
    if part.expert is not None:
        return without_expert(part.probabilities, part.expert, strengths[0])
    gains = [
        advantages(groups, share) for groups, both in zip(part.bands, shares, strict=True) for share in both
    ]
    return constrained_probabilities(part.probabilities, gains, strengths)


def judge(answers: Ints, gold: Ints, bands: Sequence[CueGroups]) -> Judged:
    """Return how answers do on examples with cues of one or several lists."""
    right = answers == gold
    worst, highest = [], []
    for groups in bands:
        usual, unusual = groups.with_answers(gold)
        worst += [float(right[members].mean()) for members in (usual, unusual) if members.any()]
        highest += [permutation_z(right, usual, usual | unusual, strata) for strata in (None, gold)]
    return Judged(float(right.mean()), min(worst), max(highest))


def tune(
    part: Part,
    aim: Aim,
    *,
    fixed: Sequence[float] | None = None,
    margin: float = 0.0,
    judged_by: Sequence[CueGroups] | None = None,
) -> Tuned:
    """Return the strengths that serve the aim best on a part.

    "gap": the highest accuracy for which all tests are at most −`margin`; where none is, the smallest z.
    "worst-group": the highest accuracy of the worse of U and N; of equals, the highest accuracy.
    The multipliers of a second and further band are found with those before them held, and the first ones once more.

    Args:
        part: examples with labels.
        aim: what to reach.
        fixed: take these strengths instead.
        margin: how far below zero all tests are to be, in standard deviations.
        judged_by: groups of other cues to tune for; those of the part by default.
    """
    shares = tuple(usual_shares(groups, part.gold) for groups in part.bands)

    def judged(strengths: Sequence[float], bands: Sequence[CueGroups]) -> Judged:
        return judge(corrected(part, strengths, shares).argmax(axis=1), part.gold, bands)

    def value(outcome: Judged, strengths: Sequence[float]) -> tuple[float, ...]:
        if aim == "worst-group":
            return outcome.worst, outcome.accuracy, -sum(strengths)
        closed = outcome.highest_z <= -margin
        return float(closed), outcome.accuracy if closed else -outcome.highest_z, -sum(strengths)

    def best(tried: Iterable[tuple[float, ...]], bands: Sequence[CueGroups]) -> tuple[float, ...]:
        return max(tried, key=lambda strengths: value(judged(strengths, bands), strengths))

    groups = part.bands if judged_by is None else judged_by
    if fixed is not None:
        chosen = tuple(fixed)
    elif part.expert is not None:
        chosen = best([(float(s),) for s in STRENGTHS], groups)
    else:
        n = len(part.bands)
        grid = [(float(a), float(b)) for a, b in product(MULTIPLIERS[:: 1 if n == 1 else 2], repeat=2)]
        chosen = (0.0,) * (2 * n)
        for band, judged_bands in [*((i, i + 1) for i in range(n)), *([(0, n)] if n > 1 else [])]:
            tried = [(*chosen[: 2 * band], *pair, *chosen[2 * band + 2 :]) for pair in grid]
            chosen = best(tried, groups if judged_by is not None else groups[:judged_bands])
    return Tuned(chosen, shares, judged(chosen, groups))
