"""Which measures and cues moved beyond noise between two cards, for the verdict of a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import bdtrc

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.changes import MeasuredChange, measured_change
from cuecard.stats.intervals import wilson
from cuecard.stats.limits.limits import difference_interval
from cuecard.stats.multiple_testing import holm

Direction = Literal["worse", "better"]
#: What became of a measure that was judged.
Verdict = Literal["worse", "better", "within noise"]
#: Moves are judged together, so that a comparison of equal data calls something moved in at most this share of cases.
ALPHA = 0.05
#: Families whose features are bins chosen for every version separately: a bin that the other lacks is no new cue.
REDRAWN = frozenset({"length"})


@dataclass(frozen=True)
class Movement:
    """How far a measure moved, and whether beyond noise."""

    direction: Verdict
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
    chance_before: float | None = None
    chance_after: float | None = None


def movements(before: Card, after: Card) -> list[Movement]:
    """Return the measures that moved beyond noise, those that got worse first."""
    return [one for one in judged_measures(before, after) if one.direction != "within noise"]


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


def cue_movements(before: Card, after: Card) -> list[CueMovement]:
    """Return the cues of either card that moved beyond noise (Holm's correction over all features of both)."""
    if "cues" not in before.tables or "cues" not in after.tables:
        return []
    sides = [_Features.of(card) for card in (before, after)]
    changes = [
        one
        for key in dict.fromkeys([*sides[0].rows, *sides[1].rows])
        if (one := _cue_change(key, sides[0], sides[1])) is not None
    ]
    adjusted = holm([p for _, p in changes]) if changes else np.empty(0)
    moved = [one for (one, _), p in zip(changes, adjusted, strict=True) if one is not None and p <= ALPHA]
    return sorted(moved, key=lambda one: one.direction != "worse")


@dataclass(frozen=True, eq=False)
class _Features:
    """The features of a card that can be cues, by family and feature."""

    rows: dict[tuple[str, str], dict[str, Any]]
    labels: list[str]
    chances: dict[str, float]
    least: int
    examples: int

    @classmethod
    def of(cls, card: Card) -> _Features:
        table = card.tables["cues"].filter("is_cue")
        rows = {(row["family"], row["feature"]): row for row in table.iter_rows(named=True)}
        train = card.dataset.splits.get("train")
        return cls(
            rows,
            card.dataset.labels,
            dict(table.select("label", "chance").iter_rows()),
            int(table["train_count"].min() or 1) if table.height else 1,  # type: ignore[arg-type]
            train.instances if train else 0,
        )

    def share(self, row: dict[str, Any], label: str, chance: float) -> tuple[float, float, float, float]:
        """Return the share of any label among the instances with a feature, its interval, and the label's chance."""
        if row["label"] == label:
            return row["share"], row["share_low"], row["share_high"], row["chance"]
        if len(self.labels) == 2:
            return 1 - row["share"], 1 - row["share_high"], 1 - row["share_low"], 1 - row["chance"]
        share = row[f"train_{label}"] / sum(row[f"train_{name}"] for name in self.labels)
        low, high = (float(end) for end in wilson(round(share * row["effective_n"]), row["effective_n"]))
        return share, low, high, self.chances.get(label, chance)


def _cue_change(
    key: tuple[str, str], old: _Features, new: _Features
) -> tuple[CueMovement | None, float] | None:
    """Return how a feature moved, None in place of the movement of one that is no cue, and the p-value of no change.

    Both versions are compared by the share of one label: that of the cue in the new version, if it is one there.
    """
    then, now = old.rows.get(key), new.rows.get(key)
    cue = now if now and now["significant"] else then if then and then["significant"] else now or then
    assert cue is not None
    if then is None or now is None:
        return _rarity_change(key, cue, old, new)
    label, sign = cue["label"], 1.0 if cue["share"] >= cue["chance"] else -1.0
    shares, chances, ends = [], [], []
    for side, row in ((old, then), (new, now)):
        share, low, high, chance = side.share(row, label, cue["chance"])
        shares.append(share)
        chances.append(chance)
        above = [sign * (number - chance) for number in (share, low, high)]
        ends.append((above[0], min(above[1:]), max(above[1:])))
    low, high = difference_interval(ends[0], ends[1])
    change = MeasuredChange(ends[1][0] - ends[0][0], low, high)
    if not cue["significant"]:
        return None, change.p_value
    direction: Direction = "worse" if change.difference > 0 else "better"
    return CueMovement(direction, key[1], label, *shares, *chances), change.p_value


def _rarity_change(
    key: tuple[str, str], cue: dict[str, Any], old: _Features, new: _Features
) -> tuple[CueMovement, float] | None:
    """Return a cue that one version has and that is too rare to be tested in the other, if it is one."""
    if not cue["significant"] or key[0] in REDRAWN:
        return None
    is_new = key in new.rows
    there, absent = (new, old) if is_new else (old, new)
    count = int(cue["train_count"])
    # It had at most one instance fewer than the rarest feature that was tested.
    total, part = count + absent.least - 1, there.examples / max(1, there.examples + absent.examples)
    p = float(bdtrc(count - 1, total, part))  # of at least this count
    share = cue["share"]
    shares = (None, share) if is_new else (share, None)
    return CueMovement("worse" if is_new else "better", key[1], cue["label"], *shares), p
