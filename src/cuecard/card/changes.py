"""How far measures and cues moved between two cards, and whether beyond noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import bdtrc, ndtr, ndtri

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.stats.intervals import poisson_interval, wilson
from cuecard.stats.limits import LEVEL, change_of_share, difference_interval
from cuecard.stats.multiple_testing import holm

_Z = float(ndtri((1 + LEVEL) / 2))
#: A change is paired if at least this share of the smaller version is in the other one.
LEAST_SHARED = 0.05


@dataclass(frozen=True)
class MeasuredChange:
    """After minus before, its interval, and the number of examples that both versions hold (0 if not paired)."""

    difference: float
    low: float
    high: float
    shared: int = 0

    @property
    def p_value(self) -> float:
        """Two-sided p-value of no change, by the normal distribution that fits the interval's end nearest to 0."""
        if not self.difference:
            return 1.0
        nearest = self.low if self.difference > 0 else self.high
        spread = abs(self.difference - nearest) / _Z
        return float(2 * ndtr(-abs(self.difference) / spread)) if spread else 0.0

    def worsened(self, worse: str) -> bool:
        """Return whether it surely moved in the direction in which the measure gets worse."""
        return self.low > 0 if worse == "higher" else self.high < 0 if worse == "lower" else False


def measured_change(
    before: Measure, after: Measure, cards: tuple[Card, Card] | None = None
) -> MeasuredChange | None:
    """Return how far a measure moved, or None where one of the versions has no value.

    A share or count without an interval is compared as that of a sample. With the cards, a measure that names the
    column of what was solved is compared example by example.
    """
    before, after = as_sampled(before), as_sampled(after)
    if before.value is None or after.value is None:
        return None
    difference = after.value - before.value
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return MeasuredChange(difference, difference, difference)
    old = (before.value, before.low, before.high)
    new = (after.value, after.low, after.high)
    low, high = difference_interval(old, new)
    paired = _paired(cards, before, after) if cards else None
    if paired is None:
        return MeasuredChange(difference, low, high)
    half, shared = paired
    return MeasuredChange(difference, difference - half, difference + half, shared)


def as_sampled(measure: Measure) -> Measure:
    """Return a share or count without an interval, such as the number of cues, with the interval of a sample.

    The number of significant features of random halves of SNLI varies as a Poisson count does.
    """
    if measure.low is not None or measure.value is None or measure.value < 0:
        return measure
    if measure.unit == "count" and measure.value == round(measure.value):
        low, high = poisson_interval(round(measure.value))
    elif measure.unit == "share" and measure.n and measure.value <= 1:
        low, high = (float(end) for end in wilson(round(measure.value * measure.n), measure.n))
    else:
        return measure
    return replace(measure, low=low, high=high)


def _paired(cards: tuple[Card, Card], before: Measure, after: Measure) -> tuple[float, int] | None:
    """Return half the width of the paired interval and the number of shared examples, where both cards allow it."""
    if not after.solved or before.solved != after.solved or not shared_examples(*cards):
        return None
    tables = [_scored(card, after.solved) for card in cards]
    if tables[0] is None or tables[1] is None:
        return None
    both = tables[0].join(tables[1], on="content", how="full", coalesce=True)
    first, second = both["before"].is_null(), both["before_right"].is_null()
    shared = both.filter(~(first | second))
    if shared.height < LEAST_SHARED * min(tables[0].height, tables[1].height):
        return None
    old, new = both.filter(second)["before"], both.filter(first)["before_right"]
    _, error = change_of_share(
        shared["before"].to_numpy(), shared["before_right"].to_numpy(), old.to_numpy(), new.to_numpy()
    )
    # Copies make an interval wider than that of as many single examples, here as there.
    wider = max(_widening(tables[0]["before"], before), _widening(tables[1]["before"], after), 1.0)
    return _Z * error * wider, shared.height


def shared_examples(before: Card, after: Card) -> int | None:
    """Return how many examples two cards share, or None where they cannot say.

    Hashes of texts are the same only within one version of polars.
    """
    tables = [card.tables.get("examples") for card in (before, after)]
    if any(table is None or "content" not in table.columns for table in tables):
        return None
    if len({card.provenance.versions.get("polars") for card in (before, after)}) > 1:
        return None
    old, new = (table["content"].unique() for table in tables if table is not None)
    return int(old.is_in(new.implode()).sum())


def _scored(card: Card, column: str) -> pl.DataFrame | None:
    """Return which of the examples that a measure rests on were solved, by the hash of their content."""
    examples = card.tables.get("examples")
    if examples is None or not {"content", column} <= set(examples.columns):
        return None
    split = "test" if "test" in examples["split"].unique() else "train"
    scored = examples.filter(split=split).drop_nulls(column)
    return scored.select("content", before=column).unique("content", keep="first", maintain_order=True)


def _widening(solved: pl.Series, measure: Measure) -> float:
    """Return how much wider a measure's interval is than that of independent examples."""
    share = float(solved.to_numpy().mean())
    plain = _Z * math.sqrt(share * (1 - share) / len(solved))
    if measure.low is None or measure.high is None or not plain:
        return 1.0
    return (measure.high - measure.low) / 2 / plain


#: What became of a measure that was judged; one that has no worse direction is higher or lower.
Verdict = Literal["worse", "better", "higher", "lower", "within noise"]
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


def shifted_measures(before: Card, after: Card) -> list[Movement]:
    """Return the measures without a worse direction that moved beyond noise (Holm's correction over them).

    Counts of the data are no samples of anything; what differs between audits of the same data are the settings.
    """
    if before.dataset.fingerprint == after.dataset.fingerprint:
        return []
    old = {m.name: m for m in before.all_measures()}
    moves = []
    for measure in after.all_measures():
        earlier = old.get(measure.name)
        if earlier is None or measure.worse != "neither" or measure.unit not in ("share", "points", "score"):
            continue
        change = measured_change(earlier, measure)
        if change is not None and change.low < change.high:
            direction: Verdict = "higher" if change.difference > 0 else "lower"
            moves.append(Movement(direction, earlier, measure, change))
    adjusted = holm([move.change.p_value for move in moves]) if moves else np.empty(0)
    surely = [move for move, p in zip(moves, adjusted, strict=True) if p <= ALPHA]
    return sorted(surely, key=lambda move: move.change.p_value)


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
    change: float | None = None
    """By how much further its share is from chance, in the direction of the cue, with its 95 % CI."""
    low: float | None = None
    high: float | None = None


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
    if label not in old.labels or label not in new.labels:
        return None  # the versions have other labels
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
    moved = CueChange(kind, direction, *key, label, *labels, *shares, *chances)
    return replace(moved, change=change.difference, low=change.low, high=change.high), change.p_value


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
