"""A printed number beside ours: the same, different, measured on part of the data, or not possible, and why."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import polars as pl

from cuecard.analysis import Measure
from cuecard.card.card import Card
from cuecard.card.measures import value_of
from cuecard.errors import InputError
from cuecard.report.sections import section_view
from cuecard.reproduce.papers.specification import Item, Paper
from cuecard.wording import plural

#: reproduced: every number agrees, or the chart is drawn; partial: the data is part of the paper's, so that the numbers
#: are shown and not judged; not run: it takes long and was not asked for, or its command failed.
Outcome = Literal["reproduced", "different", "partial", "not possible", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Reading:
    """One printed number and ours, in the unit of the paper."""

    key: str
    printed: str
    ours: float | None
    low: float | None = None
    high: float | None = None

    def agrees(self, *, interval: bool) -> bool:
        """Return whether ours is the printed number: to its last digit, or within our confidence interval."""
        if self.ours is None:
            return False
        printed = float(self.printed)
        if abs(self.ours - printed) <= _half_a_digit(self.printed):
            return True
        inside = self.low is not None and self.high is not None and self.low <= printed <= self.high
        return interval and inside


@dataclass(frozen=True)
class Result:
    """An item with its outcome and the reason, and every number of it."""

    where: str
    what: str
    outcome: Outcome
    reason: str = ""
    command: str = ""
    readings: tuple[Reading, ...] = ()


@dataclass(frozen=True)
class Reproduction:
    """A paper regenerated: its items in their order."""

    paper: str
    title: str
    reference: str
    results: tuple[Result, ...] = field(default=())

    @property
    def counts(self) -> dict[str, int]:
        """How many items came out in which way."""
        counted = Counter(result.outcome for result in self.results)
        return {outcome: counted[outcome] for outcome in OUTCOMES}

    def as_dict(self) -> dict[str, Any]:
        """Return everything as JSON holds it."""
        return {**asdict(self), "counts": self.counts}


@dataclass(frozen=True)
class Unavailable:
    """Why a command gave nothing."""

    outcome: Outcome
    reason: str


#: What a command gave.
Output = Card | Mapping[str, Any] | Unavailable


def summarised(reproduction: Reproduction) -> str:
    """Return the outcome of a paper in one sentence."""
    parts = [f"{n} {outcome}" for outcome, n in reproduction.counts.items() if n]
    return f"{reproduction.title}: {plural(len(reproduction.results), 'item')}, {', '.join(parts)}."


def judged(item: Item, paper: Paper, output: Output | None, command: str) -> Result:
    """Return the outcome of an item whose command gave this; None where it has no command."""

    def result(outcome: Outcome, reason: str, readings: Sequence[Reading] = ()) -> Result:
        return Result(item.where, item.what, outcome, reason, command, tuple(readings))

    if output is None:
        return result("not possible", item.missing)
    if isinstance(output, Unavailable):
        return result(output.outcome, output.reason)
    partial = paper.runs[item.run].partial
    if item.chart:
        if not _is_drawn(item.chart, output):
            return result("different", "the report does not draw it")
        return result("partial" if partial else "reproduced", partial or item.note)
    read = _reader(item, output)
    readings = [read(key, printed) for key, printed in item.printed.items()]
    if partial:
        return result("partial", partial, readings)
    if all(reading.agrees(interval=item.interval) for reading in readings):
        return result("reproduced", item.note, readings)
    return result("different", item.why or "no reason is known", readings)


def _reader(item: Item, output: Card | Mapping[str, Any]) -> Callable[[str, str], Reading]:
    """Return what reads the number of a key from the output of the item's command."""

    def scaled(value: float | None) -> float | None:
        return None if value is None else value * item.scale

    def read(key: str, printed: str) -> Reading:
        if item.measure and isinstance(output, Card):
            measures = [_measure(output, name) for name in item.measure.format(key=key).split(" + ")]
            if any(m.value is None for m in measures):
                return Reading(key, printed, None)
            if len(measures) > 1:
                return Reading(key, printed, scaled(sum(m.value or 0.0 for m in measures)))
            [one] = measures
            return Reading(key, printed, scaled(one.value), scaled(one.low), scaled(one.high))
        if item.cell is not None and isinstance(output, Card):
            return Reading(key, printed, scaled(_cell(item, output, key)))
        if item.value and not isinstance(output, Card):
            return Reading(key, printed, scaled(_value(output, item.value.format(key=key))))
        raise InputError(f"{item.where}, {item.what}: it names nothing that its command gives.")

    return read


def _measure(card: Card, name: str) -> Measure:
    """Return a measure of a card, without a value where it is not there; `NAME@chance` is its chance level."""
    name, _, field_name = name.partition("@")
    if value_of(card, name) is None:
        return Measure(name, None)
    measure = card.measure(name)
    return Measure(name, measure.chance) if field_name == "chance" else measure


def _cell(item: Item, card: Card, key: str) -> float | None:
    assert item.cell is not None
    table = card.tables[item.cell.table]
    for column, value in item.cell.where.items():
        table = table.filter(pl.col(column).cast(pl.String) == value.format(key=key))
    return None if table.height != 1 else _number(table[item.cell.column.format(key=key)][0])


def _is_drawn(chart: str, output: Card | Mapping[str, Any]) -> bool:
    """Return whether the report of a card has a chart, named `section.chart`, or any of a section: `section.`."""
    section, _, name = chart.partition(".")
    return isinstance(output, Card) and any(
        name in ("", view.name) for view in section_view(output, section).charts
    )


def _value(document: Mapping[str, Any], path: str) -> float | None:
    value: Any = document
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return _number(value)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _half_a_digit(printed: str) -> float:
    """Return half a unit of the last printed digit, and a little for what rounding leaves open."""
    mantissa, _, exponent = printed.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 0.5000001 * 10.0 ** (int(exponent or 0) - decimals)
