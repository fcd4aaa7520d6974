"""What contradicts itself on a card: one estimate, one interval and one verdict for every number."""

from __future__ import annotations

import re
from collections.abc import Iterator

import polars as pl

from cuecard.analysis import Finding, Measure
from cuecard.card.card import Card, states

#: Numbers that differ by less are the same.
TOLERANCE = 1e-9
#: Pairs of columns that are the ends of something else than an interval of an estimate.
NO_INTERVALS = frozenset({"null_mean", "again_at_chance"})

_NOT_SIGNIFICANT = re.compile(r"not (?:statistically )?significant \(([pq]) = ([\d.e-]+)\)")
_SIGNIFICANT = re.compile(r"(?<!not )(?<!not statistically )significant \(([pq]) = ([\d.e-]+)\)")
_HEDGED = re.compile(r"\b(?:not|no|may)\b|\bNo\b")
_ABOVE = re.compile(r"above chance|beats? chance|better than chance")


def contradictions(card: Card) -> list[str]:
    """Return a sentence for every claim of a card that another one, or its own interval, contradicts."""
    found = [*_of_measures(card), *_of_findings(card)]
    for name, table in card.tables.items():
        found += _outside(name, table)
        if "held_share" in table.columns:
            found += _pooled_between_parts(name, table)
    return found


def _of_measures(card: Card) -> Iterator[str]:
    seen: dict[str, Measure] = {}
    for measure in card.all_measures():
        if not _inside(measure.value, measure.low, measure.high):
            yield f"{measure.name} is {measure.value}, outside of its interval {measure.low} to {measure.high}"
        before = seen.setdefault(measure.name, measure)
        if before != measure:
            yield f"{measure.name} is stated twice: {before.value} and {measure.value}"


def _of_findings(card: Card) -> Iterator[str]:
    measures = list(card.all_measures())
    for finding in card.findings:
        if not _inside(finding.value, finding.low, finding.high):
            yield f"{finding.id} is {finding.value}, outside of its interval {finding.low} to {finding.high}"
        stated = [m for m in measures if states(finding, m) and m.n == finding.n and m.low is not None]
        if finding.low is not None and stated and not any(_same_interval(finding, m) for m in stated):
            other = stated[0]
            yield (
                f"{finding.id} has the interval {finding.low} to {finding.high}, and {other.name}, the same number, "
                f"{other.low} to {other.high}"
            )
        if _ABOVE.search(finding.title) and not _HEDGED.search(finding.title) and _covers_chance(finding):
            yield f"{finding.id} says {finding.title!r}, and its interval begins at {finding.low}"
        graded = finding.severity != "info" and finding.role == "cue"
        if (
            graded
            and None not in (finding.chance, finding.low)
            and finding.low < finding.chance < finding.high
        ):
            yield f"{finding.id} is {finding.severity}, and its interval includes chance, {finding.chance}"
        text = f"{finding.title} {finding.text}"
        for pattern, contradicts in ((_NOT_SIGNIFICANT, float.__le__), (_SIGNIFICANT, float.__gt__)):
            yield from (
                f"{finding.id} says {match[0]!r}"
                for match in pattern.finditer(text)
                if contradicts(float(match[2]), 0.05)
            )


def _covers_chance(finding: Finding) -> bool:
    low, chance = finding.low, finding.chance
    return low is not None and chance is not None and low < chance - TOLERANCE


def _same_interval(finding: Finding, measure: Measure) -> bool:
    if finding.low is None or finding.high is None or measure.low is None or measure.high is None:
        return True
    return abs(finding.low - measure.low) <= TOLERANCE and abs(finding.high - measure.high) <= TOLERANCE


def _inside(value: float | None, low: float | None, high: float | None) -> bool:
    below = value is not None and low is not None and value < low - TOLERANCE
    above = value is not None and high is not None and value > high + TOLERANCE
    return not (below or above)


def _outside(name: str, table: pl.DataFrame) -> Iterator[str]:
    """Yield the columns of a table in which an estimate is outside of its interval."""
    for column in table.columns:
        low, high = f"{column}_low", f"{column}_high"
        if column in NO_INTERVALS or low not in table.columns or high not in table.columns:
            continue
        bad = table.filter(
            (pl.col(column) < pl.col(low) - TOLERANCE) | (pl.col(column) > pl.col(high) + TOLERANCE)
        )
        if bad.height:
            row = bad.row(0, named=True)
            yield f"{column} of table {name} is {row[column]}, outside of {row[low]} to {row[high]}"


def _pooled_between_parts(name: str, table: pl.DataFrame) -> Iterator[str]:
    """Yield cues whose share over both splits is outside of those of its splits, all at the training prior."""
    parts = ("adjusted_share", "again_at_chance")
    rows = table.drop_nulls(["held_share", *parts])
    low, high = pl.min_horizontal(parts), pl.max_horizontal(parts)
    outside = (pl.col("held_share") < low - TOLERANCE) | (pl.col("held_share") > high + TOLERANCE)
    for row in rows.filter(outside).iter_rows(named=True):
        parts_said = f"{row['adjusted_share']} and {row['again_at_chance']}"
        yield f"{row['feature']} in table {name} has {row['held_share']}, which is not between {parts_said}"
