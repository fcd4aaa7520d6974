"""A printed number beside ours: the same, different, measured on part of the data, or not possible, and why."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import polars as pl

from cuecard.analysis import Measure, Row, Summary
from cuecard.card.card import Card, value_of
from cuecard.errors import InputError
from cuecard.report.sections import section_view
from cuecard.wording import plural
from cuecard_papers.specification import CI, Cell, Correlation, Item, Kind, Paper, WordList

#: reproduced: every number agrees, or the chart is drawn; within CI: some numbers differ, but all lie in our intervals,
#: which may be wide; partial: the data is part of the paper's, so that the numbers are shown and not judged; not run:
#: it takes long and was not asked for, or its command failed.
Outcome = Literal["reproduced", "within CI", "different", "partial", "not possible", "not run"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
#: What items of a kind are called.
KINDS: dict[Kind, tuple[str, str]] = {
    "result": ("result of a method", "results of methods"),
    "statement": ("statement or figure without numbers", "statements and figures without numbers"),
    "description": (
        "description of data or of printed columns",
        "descriptions of data and of printed columns",
    ),
}


@dataclass(frozen=True)
class Reading:
    """One printed number and ours, in the unit of the paper, with its place in the printed table."""

    key: str
    printed: str
    ours: float | None
    low: float | None = None
    high: float | None = None
    row: str = ""
    column: str = ""

    def agrees(self, *, interval: bool, tolerance: float | None = None) -> bool:
        """Return whether ours is the printed number: to its last digit or a tolerance, or within our interval.

        A statement such as ">0.5" holds or does not.
        """
        if self.ours is None:
            return False
        if self.printed[0] in "<>":
            bound = float(self.printed[1:])
            return self.ours > bound if self.printed[0] == ">" else self.ours < bound
        printed = float(self.printed)
        if abs(self.ours - printed) <= (_half_a_digit(self.printed) if tolerance is None else tolerance):
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
    criterion: str = ""
    readings: tuple[Reading, ...] = ()
    kind: Kind = "result"
    run: str = ""
    chart: str = ""
    plot: Correlation | None = None

    def outcome_of(self, reading: Reading) -> Outcome:
        """Return how one number came out; those of an item that is not judged share its outcome."""
        if self.outcome not in ("reproduced", "within CI", "different"):
            return self.outcome
        if self.outcome == "reproduced" or reading.agrees(interval=False):
            return "reproduced"
        return "within CI" if reading.agrees(interval=CI in self.criterion) else "different"


@dataclass(frozen=True)
class Timing:
    """CPU seconds of a command, on all cores together; None if it was not run."""

    run: str
    slow: bool
    cpu_seconds: float | None


@dataclass(frozen=True)
class Reproduction:
    """A paper regenerated: its items in their order, and how long its commands took.

    `order` has the rows of tables in their printed order; `folder` the cards, one folder per command.
    """

    paper: str
    title: str
    reference: str
    results: tuple[Result, ...] = field(default=())
    timings: tuple[Timing, ...] = field(default=())
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    folder: str = ""

    @property
    def counts(self) -> dict[Kind, dict[Outcome, int]]:
        """How many items of every kind came out in which way."""
        counted = Counter((result.kind, result.outcome) for result in self.results)
        return {kind: {outcome: counted[kind, outcome] for outcome in OUTCOMES} for kind in KINDS}

    def as_dict(self) -> Summary:
        """Return everything as JSON holds it."""
        return {**asdict(self), "counts": self.counts}


@dataclass(frozen=True)
class Unavailable:
    """Why a command gave nothing."""

    outcome: Outcome
    reason: str


#: What a command gave.
Output = Card | Row | Unavailable


def summarised(reproduction: Reproduction) -> str:
    """Return the outcome of a paper in words, results of methods apart from everything else."""
    said = []
    for kind, counts in reproduction.counts.items():
        parts = [f"{n} {outcome}" for outcome, n in counts.items() if n]
        if parts:
            said.append(f"{plural(sum(counts.values()), *KINDS[kind])}: {', '.join(parts)}")
    return f"{reproduction.title}. {'; '.join(said)}."


def judged(
    item: Item, paper: Paper, output: Output | None, command: str, authors: Path | None = None
) -> Result:
    """Return the outcome of an item whose command gave this; None where it has no command."""

    def result(outcome: Outcome, reason: str, readings: Sequence[Reading] = ()) -> Result:
        places = [_place(item, one.key, paper) for one in readings]
        placed = tuple(
            replace(one, row=row, column=column) for one, (row, column) in zip(readings, places, strict=True)
        )
        return Result(
            item.where,
            item.what,
            outcome,
            reason,
            command,
            item.criterion,
            placed,
            item.kind,
            item.run,
            item.chart,
            item.correlate or item.plot,
        )

    unread = [Reading(key, printed, None) for key, printed in item.printed.items()]
    if item.plot is not None:
        return result("partial", item.note)
    if item.correlate is not None:
        readings = [
            Reading(key, printed, correlation(paper, item.correlate)) for key, printed in item.printed.items()
        ]
        partial = ""
    elif output is None:
        return result("not possible", item.missing, unread)
    elif isinstance(output, Unavailable):
        return result(output.outcome, output.reason, unread)
    else:
        partial = paper.runs[item.run].partial
        if item.chart and not _is_drawn(item.chart, output):
            return result("different", "the report does not draw it")
        read = _reader(item, output, authors)
        readings = [read(key, printed) for key, printed in item.printed.items()]
    if partial:
        return result("partial", partial, readings)
    outcomes: tuple[tuple[Outcome, bool], ...] = (("reproduced", False), ("within CI", item.interval))
    for outcome, interval in outcomes:
        if all(reading.agrees(interval=interval, tolerance=item.tolerance) for reading in readings):
            return result(outcome, item.note, readings)
    return result("different", item.why or "no reason is known", readings)


def _place(item: Item, key: str, paper: Paper) -> tuple[str, str]:
    """Return row and column of a number in the printed table; no row where the item has none."""
    row, column = (text.format(key=key) for text in (item.row, item.column))
    if item.column == "{key}" and "{key}" in item.row:
        column = "printed"  # the key names the row
    return paper.headings.get(row, row), paper.headings.get(column, column)


def correlation(paper: Paper, columns: Correlation) -> float | None:
    """Return Pearson's correlation of two printed columns over the rows that have both."""
    rows: dict[str, dict[str, float]] = {}
    for item in paper.items:
        numbers = {key: float(printed) for key, printed in item.printed.items() if item.row}
        rows.setdefault(item.row, {}).update(numbers)
    pairs = [
        (row[columns.x], row[columns.y]) for row in rows.values() if {columns.x, columns.y} <= row.keys()
    ]
    return float(np.corrcoef(np.array(pairs).T)[0, 1]) if len(pairs) > 2 else None


def _reader(item: Item, output: Card | Row, authors: Path | None) -> Callable[[str, str], Reading]:
    """Return what reads the number of a key from the output of the item's command."""

    def reading(key: str, printed: str, *numbers: float | None) -> Reading:
        value, low, high = (None if number is None else number * item.scale for number in numbers)
        return Reading(key, printed, value, low, high)

    def read(key: str, printed: str) -> Reading:
        if item.measure and isinstance(output, Card):
            return reading(key, printed, *_measured(output, item.measure.format(key=key)))
        if item.cell is not None and isinstance(output, Card):
            return reading(key, printed, *_cell(item.cell, output, key))
        if item.words is not None and isinstance(output, Card):
            return Reading(key, printed, _shared_words(item.words, output, authors))
        if item.value and not isinstance(output, Card):
            return reading(key, printed, _value(output, item.value.format(key=key)), None, None)
        raise InputError(f"{item.where}, {item.what}: it names nothing that its command gives.")

    return read


def _measured(card: Card, names: str) -> tuple[float | None, float | None, float | None]:
    """Return the value and interval of a measure, a sum `A + B`, a ratio `A / B` or a relative change `A / B - 1`."""
    ratio = names.removesuffix(" - 1")
    changed, _, base = ratio.partition(" / ")
    if base:
        one, other = _measure(card, changed), _measure(card, base)
        if not other.value:
            return None, None, None
        by, less = other.value, float(ratio != names)
        value, low, high = (
            None if part is None else part / by - less for part in (one.value, one.low, one.high)
        )
        return value, low, high
    measures = [_measure(card, name) for name in names.split(" + ")]
    if len(measures) == 1:
        return measures[0].value, measures[0].low, measures[0].high
    values = [m.value for m in measures if m.value is not None]
    return sum(values) if len(values) == len(measures) else None, None, None


def _measure(card: Card, name: str) -> Measure:
    """Return a measure of a card, without a value where it is not there; `NAME@chance` is its chance level."""
    name, _, field_name = name.partition("@")
    if value_of(card, name) is None:
        return Measure(name, None)
    measure = card.measure(name)
    return Measure(name, measure.chance) if field_name == "chance" else measure


def _cell(cell: Cell, card: Card, key: str) -> tuple[float | None, float | None, float | None]:
    """Return the value and the ends of its interval, None where no row or several have these values."""
    if cell.table not in card.tables:
        return None, None, None
    table = card.tables[cell.table]
    for column, value in cell.where.items():
        table = table.filter(pl.col(column).cast(pl.String) == value.format(key=key))
    if table.height != 1:
        return None, None, None
    columns = [_number(table[name][0]) for name in cell.column.format(key=key).split(" + ")]
    low, high = (_number(table[name.format(key=key)][0]) if name else None for name in (cell.low, cell.high))
    known = [number for number in columns if number is not None]
    return sum(known) if len(known) == len(columns) else None, low, high


def _shared_words(words: WordList, card: Card, authors: Path | None) -> float | None:
    """Return how many words of the authors' list are among as many of ours of highest value for its label."""
    theirs: Sequence[str] = words.listed
    where = dict(words.where)
    if words.file:
        file = None if authors is None else authors / words.file
        if file is None or not file.exists():
            return None
        theirs = json.loads(file.read_text(encoding="utf-8"))[words.label]
        where["label"] = words.label
    table = card.tables[words.table]
    for column, value in where.items():
        table = table.filter(pl.col(column).cast(pl.String) == value)
    for column, least in words.at_least.items():
        table = table.filter(pl.col(column) >= least)
    falling = not words.column.startswith("-")
    ours = table.sort(words.column.lstrip("-"), descending=falling, maintain_order=True).head(len(theirs))
    return float(len(set(ours["feature"]) & set(theirs)))


def _is_drawn(chart: str, output: Card | Row) -> bool:
    """Return whether the report of a card has a chart, named `section.chart`, or any of a section: `section.`."""
    section, _, name = chart.partition(".")
    if isinstance(output, Card) and section not in output.sections:
        return False
    return isinstance(output, Card) and any(
        name in ("", view.name) for view in section_view(output, section).charts
    )


def _value(document: Row, path: str) -> float | None:
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
