"""Which measures and cues moved beyond noise between two cards, for the verdict of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.changes import MeasuredChange, measured_change
from cuecard.stats.intervals import wilson
from cuecard.stats.limits.limits import difference_interval
from cuecard.stats.multiple_testing import holm

Direction = Literal["worse", "better"]
#: Moves are judged together, so that a comparison of equal data calls something moved in at most this share of cases.
ALPHA = 0.05


@dataclass(frozen=True)
class Movement:
    """A measure that moved beyond noise."""

    direction: Direction
    before: Measure
    after: Measure
    change: MeasuredChange


@dataclass(frozen=True)
class CueMovement:
    """A cue whose association with its label moved beyond noise; without `before`, it was too rare to be tested."""

    direction: Direction
    feature: str
    label: str
    share_before: float | None
    share_after: float | None


def movements(before: Card, after: Card) -> list[Movement]:
    """Return the measures that moved beyond noise (Holm's correction over all), those that got worse first."""
    old = {m.name: m for m in before.all_measures()}
    same = before.dataset.fingerprint == after.dataset.fingerprint
    judged = []
    for measure in after.all_measures():
        earlier = old.get(measure.name)
        if earlier is None or not _is_judged(measure, old):
            continue
        if same and after.sections[measure.section].about == "data":
            continue  # what differs there are the settings
        change = measured_change(_with_interval(earlier), _with_interval(measure), (before, after))
        if change is not None:
            judged.append((earlier, measure, change))
    adjusted = holm([change.p_value for _, _, change in judged]) if judged else np.empty(0)
    moved = [
        Movement("worse" if change.worsened(now.worse) else "better", then, now, change)
        for (then, now, change), p in zip(judged, adjusted, strict=True)
        if p <= ALPHA
    ]
    return sorted(moved, key=lambda one: (one.direction != "worse", one.change.p_value))


def _is_judged(measure: Measure, old: dict[str, Measure]) -> bool:
    """Return whether a measure has a direction and says something that another one does not."""
    if measure.worse == "neither" or measure.unit == "p":
        return False
    if measure.low is None or measure.high is None:
        return measure.unit == "share" and bool(measure.n)
    # Points above chance stay comparable where the labels' balance changed; the accuracy beside them does not.
    beside = measure.name.removesuffix("accuracy") + "excess"
    return not (measure.name.endswith(".accuracy") and beside in old)


def _with_interval(measure: Measure) -> Measure:
    """Return a share without an interval, such as that of repeated examples, with that of a sample of its size."""
    if measure.low is not None or measure.value is None or measure.unit != "share" or not measure.n:
        return measure
    low, high = (float(end) for end in wilson(round(measure.value * measure.n), measure.n))
    return replace(measure, low=low, high=high)


def cue_movements(before: Card, after: Card) -> list[CueMovement]:
    """Return the cues of either card whose share moved beyond noise."""
    if "cues" not in before.tables or "cues" not in after.tables:
        return []
    columns = ["label", "share", "share_low", "share_high", "chance", "significant"]
    old, new = (
        card.tables["cues"].filter("is_cue").select("family", "feature", *columns) for card in (before, after)
    )
    keys = ["family", "feature"]
    both = old.join(new, on=keys, how="full", coalesce=True, maintain_order="left_right")
    listed = both.filter(
        pl.col("significant").fill_null(False) | pl.col("significant_right").fill_null(False)
    )
    rows = list(listed.iter_rows(named=True))
    tested = [row for row in rows if row["share"] is not None and row["share_right"] is not None]
    changes = [_share_change(row) for row in tested]
    adjusted = holm([change.p_value for change in changes]) if changes else np.empty(0)
    moved = [
        CueMovement(
            "worse" if change.difference > 0 else "better",
            row["feature"],
            row["label_right"] if change.difference > 0 else row["label"],
            row["share"],
            row["share_right"],
        )
        for row, change, p in zip(tested, changes, adjusted, strict=True)
        if p <= ALPHA
    ]
    return sorted([*moved, *_untested(rows)], key=lambda one: one.direction != "worse")


def _share_change(row: dict[str, float]) -> MeasuredChange:
    """Return how far the share of a cue's label moved away from chance (positive) or towards it."""
    sides = []
    for suffix in ("", "_right"):
        sign = 1.0 if row[f"share{suffix}"] >= row[f"chance{suffix}"] else -1.0
        values = (row[f"{name}{suffix}"] for name in ("share", "share_low", "share_high"))
        ends = [sign * (value - row[f"chance{suffix}"]) for value in values]
        sides.append((ends[0], min(ends[1:]), max(ends[1:])))
    if (
        row["label"] != row["label_right"]
    ):  # turned round: the new label's share rises from the other side of chance
        value, low, high = sides[0]
        sides[0] = (-value, -high, -low)
    low, high = difference_interval(sides[0], sides[1])
    return MeasuredChange(sides[1][0] - sides[0][0], low, high)


def _untested(rows: Sequence[dict[str, object]]) -> list[CueMovement]:
    """Return the cues that one version has and that are too rare to be tested in the other."""
    moved = []
    for row in rows:
        if row["share"] is None and row["significant_right"]:
            moved.append(
                CueMovement("worse", str(row["feature"]), str(row["label_right"]), None, row["share_right"])  # type: ignore[arg-type]
            )
        elif row["share_right"] is None and row["significant"]:
            moved.append(CueMovement("better", str(row["feature"]), str(row["label"]), row["share"], None))  # type: ignore[arg-type]
    return moved
