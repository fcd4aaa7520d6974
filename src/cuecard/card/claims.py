"""What contradicts itself in a result: one estimate, one interval and one verdict for every number."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from cuecard.analysis import Finding, Measure
from cuecard.card.card import states

#: Numbers that differ by less are the same.
TOLERANCE = 1e-9
#: The level at which a p-value or q-value is significant.
ALPHA = 0.05
#: Pairs of columns that are the ends of something else than an interval of an estimate.
NO_INTERVALS = frozenset({"null_mean", "again_at_chance"})

_VERDICT = re.compile(
    r"((?:not|no longer) )?(?:statistically )?significant \([pq] = (\d[\d.]*(?:e-?\d+)?)\)", re.IGNORECASE
)


def contradictions(
    measures: Sequence[Measure],
    findings: Sequence[Finding],
    tables: Mapping[str, pl.DataFrame],
    summary: Mapping[str, Any],
) -> Iterator[str]:
    """Yield a sentence for every claim that another one, or its own interval, contradicts."""
    yield from _of_measures(measures)
    for finding in findings:
        yield from _of_finding(finding, measures)
    for name, table in tables.items():
        yield from _of_table(name, table)
        if {"held_share", "adjusted_share", "again_at_chance"} <= set(table.columns):
            yield from _pooled_between_parts(name, table)
    yield from _of_summary("the summary", summary)


def _of_measures(measures: Sequence[Measure]) -> Iterator[str]:
    seen: dict[str, Measure] = {}
    for measure in measures:
        yield from _outside(measure.name, measure.value, measure.low, measure.high)
        before = seen.setdefault(measure.name, measure)
        if before != measure:
            yield f"{measure.name} is stated twice: {before.value} and {measure.value}"


def _of_finding(finding: Finding, measures: Sequence[Measure]) -> Iterator[str]:
    low, high = finding.low, finding.high
    yield from _outside(finding.id, finding.value, low, high)
    # Others can have the same number by chance: a measure is the finding's if both are about the same thing.
    own = [m for m in measures if finding.id.partition("/")[2] in m.name.split(".")]
    same = [m for m in own if states(finding, m) and (m.n, m.chance) == (finding.n, finding.chance)]
    stated = [m for m in same if m.low is not None]
    if low is not None and stated and not any(_same_interval(finding, m) for m in stated):
        other = stated[0]
        yield (
            f"{finding.id} has the interval {low} to {high}, and {other.name}, the same number, "
            f"{other.low} to {other.high}"
        )
    for match in _VERDICT.finditer(f"{finding.title} {finding.text}"):
        stated_p = float(match[2])  # a rounded one may equal the level on either side
        if stated_p < ALPHA if match[1] else stated_p > ALPHA:
            yield f"{finding.id} says {match[0]!r}"


def _same_interval(finding: Finding, measure: Measure) -> bool:
    ends = (finding.low, measure.low), (finding.high, measure.high)
    return all(a is None or b is None or abs(a - b) <= TOLERANCE for a, b in ends)


def _outside(name: str, value: float | None, low: float | None, high: float | None) -> Iterator[str]:
    below = value is not None and low is not None and value < low - TOLERANCE
    above = value is not None and high is not None and value > high + TOLERANCE
    if below or above:
        yield f"{name} is {value}, outside of its interval {low} to {high}"


def _of_table(name: str, table: pl.DataFrame) -> Iterator[str]:
    """Yield the columns of a table in which an estimate is outside of its interval."""
    numeric = {column for column, kind in table.schema.items() if kind.is_numeric()}
    for column, low, high in _intervals(table.columns):
        if not {column, low, high} <= numeric:
            continue
        value, start, end = (table[one].cast(pl.Float64).to_numpy() for one in (column, low, high))
        bad = (value < start - TOLERANCE) | (value > end + TOLERANCE)  # False where one is missing
        if bad.any():
            row = int(bad.argmax())
            yield from _outside(f"{column} of the table {name}", value[row], start[row], end[row])


def _intervals(names: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the names of estimates, each with those of the ends of its interval."""
    for name in names:
        ends = ("low", "high") if name == "value" else (f"{name}_low", f"{name}_high")
        if name not in NO_INTERVALS and ends[0] in names and ends[1] in names:
            yield name, *ends


def _pooled_between_parts(name: str, table: pl.DataFrame) -> Iterator[str]:
    """Yield cues whose share over both splits is outside of those of its splits, all at the training prior."""
    parts = ("adjusted_share", "again_at_chance")
    rows = table.drop_nulls(["held_share", *parts])
    low, high = pl.min_horizontal(parts), pl.max_horizontal(parts)
    outside = (pl.col("held_share") < low - TOLERANCE) | (pl.col("held_share") > high + TOLERANCE)
    for row in rows.filter(outside).iter_rows(named=True):
        between = f"{row['adjusted_share']} and {row['again_at_chance']}"
        yield f"{row['feature']} in the table {name} has {row['held_share']}, which is not between {between}"


def _of_summary(place: str, value: object) -> Iterator[str]:
    """Yield the estimates in a summary, or a part of one, that are outside of their intervals."""
    if isinstance(value, Mapping):
        for name, low, high in _intervals(list(value)):
            numbers = [value[name], value[low], value[high]]
            if all(isinstance(one, int | float) for one in numbers):
                yield from _outside(f"{name} of {place}", *numbers)
        for name, part in value.items():
            yield from _of_summary(f"{name} of {place}", part)
    if isinstance(value, list | tuple):
        for part in value:
            yield from _of_summary(place, part)
