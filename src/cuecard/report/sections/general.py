"""The view of a section that has none of its own: its measures and the first rows of its table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from cuecard import wording
from cuecard.card.card import Card, Section
from cuecard.report.view import Column, KeyFigure, Kind, SectionView, TableView, measure_figure
from cuecard.wording import display_text

MOST_FIGURES = 12
MOST_ROWS = 50
_RATES = ("accuracy", "share", "rate", "chance", "low", "high", "fraction")
_PROBABILITIES = ("p_value", "q_value")


def general(card: Card, section: Section) -> SectionView:
    """Return the section's measures, or its summary where it has none, and a sample of its first table."""
    del card
    figures = [measure_figure(measure) for measure in section.measures] or [
        KeyFigure(name.replace("_", " "), _write(name, value)) for name, value in _leaves(section.summary)
    ]
    tables = [_sample(name, section[name]) for name in section.tables[:1]]
    return SectionView(figures=figures[:MOST_FIGURES], tables=tables)


def _leaves(summary: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers and short texts of a summary, nested ones named by their path."""
    for name, value in summary.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path} · ")
        elif isinstance(value, (bool, int, float, str)):
            yield path, value


def _write(name: str, value: Any) -> str:
    kind = _kind(name.rsplit(" · ", 1)[-1])
    if kind == "text" or not wording.is_number(value):
        return wording.number(value) if wording.is_number(value) else display_text(value, 60)
    return Column(name, kind).write(value)


def _kind(name: str) -> Kind:
    if name in _PROBABILITIES:
        return "probability"
    return "percent" if name in _RATES or name.endswith(("_share", "_accuracy", "_rate")) else "text"


def _sample(name: str, frame: pl.DataFrame) -> TableView:
    columns = []
    for column, dtype in frame.schema.items():
        kind = _kind(column)
        if kind == "text" and dtype.is_integer():
            kind = "count"
        elif kind == "text" and dtype.is_float():
            kind = "number"
        columns.append(Column(column.replace("_", " "), kind if dtype.is_numeric() else "text"))
    return TableView(
        title=name.replace("_", " ").capitalize(),
        columns=columns,
        rows=frame.head(MOST_ROWS).rows(),
        total=frame.height,
        source=f"tables/{name}.parquet",
    )
