"""How far a measure moved between two cards, with an interval: paired where the cards share examples."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import polars as pl
from scipy.special import ndtr, ndtri

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.stats.intervals import poisson_interval, wilson
from cuecard.stats.limits.changes import change_of_share
from cuecard.stats.limits.limits import LEVEL, difference_interval

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
