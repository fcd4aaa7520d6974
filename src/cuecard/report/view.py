"""What a section shows, said once and drawn by every renderer: sentences, key figures, charts and tables.

To give a section of the card its own view, write one function in a file under `sections/` (or in a plug-in,
entry point group `cuecard.section_views`)::

    @SECTION_VIEWS.register("my_audit")
    def my_audit(card: Card, section: Section) -> SectionView:
        return SectionView(lead=("One sentence that says what was found.",))
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any, Literal

import polars as pl

from cuecard import wording
from cuecard.analysis import Measure
from cuecard.card.card import Card, Section
from cuecard.registry import Registry
from cuecard.wording import display_text

Kind = Literal[
    "text", "label", "count", "percent", "fine_percent", "number", "decimal", "fine", "points", "probability"
]


#: What key figures count.
_COUNTED = re.compile(
    r"\b(cluster|cue|duplicate|example|feature|finding|sentence|shortcut|text|weight|word)s\b"
)


@dataclass(frozen=True)
class KeyFigure:
    """A number large enough to be read at a glance, with what it counts."""

    label: str
    value: str
    detail: str = ""

    def __post_init__(self) -> None:
        """Say what is counted in the singular where there is one of it."""
        if self.value == "1":
            object.__setattr__(self, "label", _COUNTED.sub(r"\1", self.label, count=1))


def measure_figure(measure: Measure, detail: str | None = None) -> KeyFigure:
    """Return a measure as a key figure; by default with its chance level, otherwise its interval, beside it."""
    write = partial(wording.in_unit, unit=measure.unit)
    if detail is None:
        detail = ""
        if measure.chance is not None and measure.unit != "points":
            detail = f"chance {write(measure.chance)}"
        elif measure.low is not None and measure.high is not None:
            detail = f"95 % CI {write(measure.low)} to {write(measure.high)}"
    return KeyFigure(display_text(measure.label or measure.name, 60), write(measure.value), detail)


@dataclass(frozen=True)
class ChartView:
    """A chart with its words; `draw` returns an Altair chart and is called only where it can be shown.

    `name` is what `card["cues"].chart(name)` calls it; made of the title by default.
    """

    title: str
    draw: Callable[[], Any]
    alt: str
    caption: str = ""
    wide: bool = True
    name: str = ""

    def __post_init__(self) -> None:
        """Make a name of the title where there is none: "Label balance" is label_balance."""
        if not self.name:
            object.__setattr__(self, "name", re.sub(r"\W+", "_", self.title.lower()).strip("_"))


def drawn(module: str, name: str, *arguments: Any) -> Callable[[], Any]:
    """Return what draws a chart once it is shown: a function of a module in `report/charts/`."""
    return lambda: getattr(import_module(f"cuecard.report.charts.{module}"), name)(*arguments)


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading and how its values are written."""

    title: str
    kind: Kind = "text"
    hint: str = ""
    brief: bool = True  # whether it is also shown where there is little room

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, which are aligned to the right."""
        return self.kind not in ("text", "label")

    def write(self, value: Any) -> str:
        """Return a value as it is shown."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return wording.MISSING
        if self.numeric and wording.is_number(value):
            return _WRITERS[self.kind](value)
        return display_text(value, limit=200)


_WRITERS: dict[Kind, Callable[[float], str]] = {
    "count": wording.count,
    "percent": wording.percent,
    "fine_percent": wording.fine_percent,
    "number": wording.number,
    "decimal": wording.decimal,
    "fine": wording.fine,
    "points": wording.points,
    "probability": wording.probability,
}


@dataclass(frozen=True)
class TableView:
    """Rows to look at: a sample of a table of the card, whose whole is in a file."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    total: int
    source: str = ""
    caption: str = ""
    searchable: bool = False
    everywhere: bool = False  # whether it is shown beside the first table where there is little room

    @classmethod
    def of(
        cls,
        title: str,
        table: str,
        frame: pl.DataFrame,
        columns: Mapping[str, Column],
        *,
        most: int | None = None,
        total: int | None = None,
        **shown: Any,
    ) -> TableView:
        """Return the first rows of a frame that is (a part of) a table of the card, in these columns."""
        rows = frame.select(list(columns)).head(frame.height if most is None else most).rows()
        height = frame.height if total is None else total
        return cls(title, list(columns.values()), rows, height, f"tables/{table}.parquet", **shown)


@dataclass(frozen=True, eq=False)
class TokenMaps:
    """Saliency maps of two models, drawn as coloured tokens; the table is that of `token_relevance(...).maps`."""

    title: str
    table: pl.DataFrame
    full: str
    partial: str
    caption: str = ""


@dataclass(frozen=True)
class SectionView:
    """What to show of a section, from its first sentence to its last table."""

    lead: Sequence[str] = ()
    figures: Sequence[KeyFigure] = ()
    charts: Sequence[ChartView] = ()
    tables: Sequence[TableView] = ()
    notes: Sequence[str] = field(default=())
    maps: Sequence[TokenMaps] = ()


SECTION_VIEWS: Registry[Callable[[Card, Section], SectionView]] = Registry(
    "section view", group="cuecard.section_views"
)
