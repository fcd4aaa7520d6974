"""Which measures moved beyond noise between two cards, for the verdict of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.changes import MeasuredChange, measured_change
from cuecard.stats.multiple_testing import holm

#: What became of a measure that was judged.
Verdict = Literal["worse", "better", "within noise"]
#: Moves are judged together, so that a comparison of equal data calls something moved in at most this share of cases.
ALPHA = 0.05


@dataclass(frozen=True)
class Movement:
    """How far a measure moved, and whether beyond noise."""

    direction: Verdict
    before: Measure
    after: Measure
    change: MeasuredChange


def judged_measures(before: Card, after: Card) -> list[Movement]:
    """Return the change of every measure that has a direction (Holm's correction over all).

    Those that got worse beyond noise come first, then those that got better.
    """
    old = {m.name: m for m in before.all_measures()}
    same = before.dataset.fingerprint == after.dataset.fingerprint
    judged = []
    for measure in after.all_measures():
        earlier = old.get(measure.name)
        if earlier is None or not _is_judged(measure, old):
            continue
        if same and after.sections[measure.section].about == "data":
            continue  # what differs there are the settings
        change = measured_change(earlier, measure, (before, after))
        if change is not None:
            judged.append((earlier, measure, change))
    adjusted = holm([change.p_value for _, _, change in judged]) if judged else np.empty(0)
    results = [
        Movement(_direction(now, change, p), then, now, change)
        for (then, now, change), p in zip(judged, adjusted, strict=True)
    ]
    order = ("worse", "better", "within noise")
    return sorted(results, key=lambda one: (order.index(one.direction), one.change.p_value))


def _direction(measure: Measure, change: MeasuredChange, adjusted: float) -> Verdict:
    if adjusted > ALPHA:
        return "within noise"
    return "worse" if change.worsened(measure.worse) else "better"


def _is_judged(measure: Measure, old: dict[str, Measure]) -> bool:
    """Return whether a measure has a direction and says something that another one does not."""
    if measure.worse == "neither" or measure.unit == "p":
        return False
    if measure.low is None or measure.high is None:
        return measure.unit == "share" and bool(measure.n)
    # Points above chance stay comparable where the labels' balance changed; the accuracy beside them does not.
    beside = measure.name.removesuffix("accuracy") + "excess"
    return not (measure.name.endswith(".accuracy") and beside in old)
