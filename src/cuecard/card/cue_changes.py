"""Which cues changed between two cards: one list, with what became of each and whether it is beyond noise."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy.special import bdtrc

from cuecard.card.card import Card
from cuecard.card.changes import MeasuredChange
from cuecard.card.movement import ALPHA, Verdict
from cuecard.stats.intervals import wilson
from cuecard.stats.limits.limits import difference_interval
from cuecard.stats.multiple_testing import holm

#: What became of a cue; "turned" is one that predicts another label, or rules out the label it predicted.
CueKind = Literal["new", "gone", "turned", "stronger", "weaker"]
#: What a dataset gained: it comes before what the dataset lost.
GAINED: frozenset[CueKind] = frozenset({"new", "turned", "stronger"})
#: Families whose features are bins chosen for every version separately: a bin that the other lacks is no new cue.
REDRAWN = frozenset({"length"})


@dataclass(frozen=True)
class CueChange:
    """A cue that appeared, went away, turned, or became stronger or weaker.

    A cue is new or gone if it is significant on one card only, and stronger or weaker only if it moved beyond noise.
    The shares are those of `label`, with its chance levels; None where the feature was too rare to be tested.
    """

    kind: CueKind
    direction: Verdict
    family: str
    feature: str
    label: str
    label_before: str | None
    label_after: str | None
    share_before: float | None
    share_after: float | None
    chance_before: float | None = None
    chance_after: float | None = None


def cue_changes(before: Card, after: Card) -> list[CueChange]:
    """Return the cues that changed, what the dataset gained first, each the surest first.

    Every feature of either card is tested for a change of its association with the label, and Holm's correction is over
    all of them.
    """
    if "cues" not in before.tables or "cues" not in after.tables:
        return []
    old, new = (_Features.of(card) for card in (before, after))
    tested = [
        one for key in dict.fromkeys([*old.rows, *new.rows]) if (one := _tested(key, old, new)) is not None
    ]
    adjusted = holm([p for _, p in tested]) if tested else np.empty(0)
    changes = [
        (_settled(change, within_noise=adjusted_p > ALPHA), p)
        for (change, p), adjusted_p in zip(tested, adjusted, strict=True)
        if change is not None
    ]
    listed = [(change, p) for change, p in changes if change is not None]
    listed.sort(key=lambda one: (one[0].kind not in GAINED, one[1]))
    return [change for change, _ in listed]


def _settled(change: CueChange, *, within_noise: bool) -> CueChange | None:
    """Return a change with its verdict; a cue of both cards that stays within noise has not changed."""
    if not within_noise:
        return change
    return None if change.kind in ("stronger", "weaker") else replace(change, direction="within noise")


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
            int(table["train_count"].to_numpy().min()) if table.height else 1,
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


def _tested(key: tuple[str, str], old: _Features, new: _Features) -> tuple[CueChange | None, float] | None:
    """Return what became of a feature, None in place of it for one that is no cue, and the p-value of no change.

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
    labels = tuple(row["label"] if row["significant"] else None for row in (then, now))
    kind: CueKind
    if None in labels:
        kind = "gone" if labels[1] is None else "new"
    elif labels[0] != labels[1] or ends[0][0] < 0:
        kind = "turned"
    else:
        kind = "stronger" if change.difference > 0 else "weaker"
    direction: Verdict = "worse" if change.difference > 0 else "better"
    return CueChange(kind, direction, *key, label, *labels, *shares, *chances), change.p_value


def _rarity_change(
    key: tuple[str, str], cue: dict[str, Any], old: _Features, new: _Features
) -> tuple[CueChange, float] | None:
    """Return a cue that one version has and that is too rare to be tested in the other, if it is one."""
    if not cue["significant"] or key[0] in REDRAWN:
        return None
    is_new = key in new.rows
    there, absent = (new, old) if is_new else (old, new)
    count = int(cue["train_count"])
    # It had at most one instance fewer than the rarest feature that was tested.
    total, part = count + absent.least - 1, there.examples / max(1, there.examples + absent.examples)
    p = float(bdtrc(count - 1, total, part))  # of at least this count
    label, share = cue["label"], cue["share"]
    if is_new:
        return CueChange("new", "worse", *key, label, None, label, None, share), p
    return CueChange("gone", "better", *key, label, label, None, share, None), p
