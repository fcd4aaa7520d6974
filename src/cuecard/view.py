"""What a check shows, declared as data: sentences, key figures, tables, and charts of a dozen kinds.

A check declares its view beside `run`: `view` is a `View`, or a function from an `Outcome` to one where sentences or
rows are computed from what the check learned. The report draws it; nothing here imports a drawing library. A table, and
the rows of a chart, are a frame, or the name of a table of the check as it is on the card.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import polars as pl

from cuecard import wording
from cuecard.analysis import Measure, Summary
from cuecard.data import Task
from cuecard.wording import display_text

Kind = Literal[
    "text", "label", "count", "percent", "fine_percent", "number", "decimal", "fine", "points", "probability",
    "log10_p",
]  # fmt: skip
_WRITERS: dict[Kind, Callable[[float], str]] = {
    "count": wording.count,
    "percent": wording.percent,
    "fine_percent": wording.fine_percent,
    "number": wording.number,
    "decimal": wording.decimal,
    "fine": wording.fine,
    "points": wording.points,
    "probability": wording.brief_probability,
    "log10_p": lambda exponent: wording.brief_probability(None, -abs(exponent)),
}
#: How to read the saliency maps of two models.
HOW_TO_READ_MAPS = (
    "Darker tokens have a larger effect on the prediction. The strongest are underlined; the tooltip shows the share "
    "of the whole map."
)
#: What key figures count.
_COUNTED = re.compile(
    r"\b(cluster|cue|duplicate|example|feature|finding|sentence|shortcut|text|weight|word)s\b"
)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a view is made of: what the check returned, its parameters, and the dataset it was about."""

    summary: Summary
    tables: Mapping[str, pl.DataFrame]
    parameters: Summary
    task: Task
    labels: Sequence[str]
    splits: Sequence[str]
    instances: Mapping[str, int] = field(default_factory=dict)  # by split
    measures: Mapping[str, Measure] = field(default_factory=dict)  # of all sections, by name

    @property
    def training(self) -> str:
        """The word "training " before what the training split holds; nothing where it is the only split."""
        return "training " if len(self.splits) > 1 else ""

    @property
    def training_set(self) -> str:
        """What the training split is called: where it is the only one, the data."""
        return "training set" if len(self.splits) > 1 else "data"

    def rows(self, table: str) -> pl.DataFrame:
        """Return a table, or an empty one where there is none of that name."""
        return self.tables.get(table, pl.DataFrame())


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
        elif interval := wording.interval_in_unit(measure.low, measure.high, measure.unit):
            detail = f"95 % CI {interval}"
    return KeyFigure(display_text(measure.label or measure.name, 60), write(measure.value), detail)


@dataclass(frozen=True)
class Column:
    """A column of a table, or a line of a tooltip: its heading and how its values are written."""

    title: str
    kind: Kind = "text"
    hint: str = ""
    brief: bool = True  # whether it is also shown where there is little room

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers, which are aligned to the right."""
        return self.kind not in ("text", "label")

    def write(self, value: object) -> str:
        """Return a value as it is shown."""
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return wording.MISSING
        if isinstance(value, Written):
            return value.text
        if self.numeric and wording.is_number(value):
            return _WRITERS[self.kind](value).replace("-", "−")
        return display_text(value, limit=200)

    def sorted_by(self, value: object) -> str:
        """Return the exact number by which a table is sorted, and that is copied; nothing where there is none."""
        number = value.number if isinstance(value, Written) else value
        return str(number) if wording.is_number(number) else ""


def interval_columns(
    prefix: str = "", kind: Kind = "percent", of: str = "", *, brief: bool = False
) -> dict[str, Column]:
    """Return the columns of a 95 % confidence interval, named `low` and `high` after a prefix."""
    whose = f" of {of}" if of else ""
    return {
        f"{prefix}low": Column("CI low", kind, f"lower end of the 95 % CI{whose}", brief),
        f"{prefix}high": Column("CI high", kind, f"upper end of the 95 % CI{whose}", brief),
    }


@dataclass(frozen=True)
class Written:
    """A cell with words of its own, such as a number in another unit than its column; tables sort by the number."""

    text: str
    number: float | None = None


@dataclass(frozen=True, eq=False)
class Table:
    """The first rows of a table to look at, in these columns; those that its rows do not have are left out.

    `source` is the table of the card; `data` are other rows, such as some of them, joined or sorted.
    """

    title: str
    source: str
    columns: Mapping[str, Column]
    data: pl.DataFrame | None = None
    most: int | None = None
    total: int | None = None  # rows of the whole table; those of `data` by default
    caption: str = ""
    searchable: bool = False
    everywhere: bool = False  # whether it is shown beside the first table where there is little room


@dataclass(frozen=True, eq=False)
class TokenMaps:
    """Saliency maps of two models, drawn as coloured tokens; the table is that of `token_relevance(...).maps`."""

    title: str
    table: pl.DataFrame
    full: str
    partial: str
    caption: str = HOW_TO_READ_MAPS


@dataclass(frozen=True)
class Axis:
    """A column along an axis: its title, how its values are written, and from where to where it goes."""

    column: str
    title: str = ""
    kind: Kind = "number"
    domain: tuple[float, float] | None = None
    zero: bool = True  # whether an axis without a domain begins at zero
    log: bool = False
    ticks: Sequence[float] | int | None = None  # where, or about how many


def _plain(column: str) -> Column:
    return Column(column.replace("_", " "))


def _along(axis: Axis, title: str = "") -> dict[str, Column]:
    return {axis.column: Column(title or axis.title or axis.column.replace("_", " "), axis.kind)}


def _named(*columns: str) -> dict[str, Column]:
    return {column: _plain(column) for column in columns if column}


def _ends(low: str, high: str, kind: Kind) -> dict[str, Column]:
    return {low: Column("CI low", kind), high: Column("CI high", kind)} if low else {}


@dataclass(frozen=True, eq=False, kw_only=True)
class Chart:
    """A chart with its words and rows; each kind is a subclass, which names the columns it draws.

    `name` is what `card["cues"].chart(name)` calls it; made of the title by default. `wide` is whether it takes the
    whole width of a page. Hovering over a mark shows what is drawn, and the columns of `tooltip`. `colours` are all
    values that a colour can stand for, in the order of the colours. `brief` says in a sentence how to read it on the
    first screen, where the caption is too long.
    """

    title: str
    data: pl.DataFrame | str
    alt: str
    caption: str = ""
    brief: str = ""
    name: str = ""
    wide: bool = True
    tooltip: Mapping[str, Column] = field(default_factory=dict)
    colours: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Make a name of the title where there is none: "Label balance" is label_balance."""
        if not self.name:
            object.__setattr__(self, "name", re.sub(r"\W+", "_", self.title.lower()).strip("_"))

    @property
    def drawn(self) -> Mapping[str, Column]:
        """The columns that are drawn, as hovering shows them."""
        return {}

    @property
    def hints(self) -> Mapping[str, Column]:
        """What hovering over a mark shows."""
        return {**self.drawn, **self.tooltip}

    @property
    def frame(self) -> pl.DataFrame:
        """The rows to draw; the report looks up those that are named."""
        if isinstance(self.data, str):
            raise TypeError(f"the table {self.data!r} of the chart {self.title!r} has not been looked up")
        return self.data


@dataclass(frozen=True, eq=False, kw_only=True)
class Intervals(Chart):
    """A dot with its interval per row: estimates beside each other, by name.

    With `series` a row has several dots, one above the other. `differs` is true of dots drawn as circles; the others
    are triangles. `line` is a dashed line over all rows, `tick` a column with one per row, `second` a second, hollow
    mark.
    """

    y: str
    x: Axis
    low: str = ""
    high: str = ""
    series: str = ""
    colour: str = ""
    legend: bool | None = None  # by default where there are several names
    differs: str = ""
    line: float | None = None
    tick: str = ""
    second: str = ""
    text: str = ""

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return (
            _named(self.y, self.series or self.colour)
            | _along(self.x)
            | _ends(self.low, self.high, self.x.kind)
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Bars(Chart):
    """Bars by name: beside each other by `series`, or `stacked`; `behind` is a longer, pale bar behind each.

    `fade` is a column by which bars get paler, `text` one that is written behind each bar, of stacked ones behind all.
    """

    y: str
    x: Axis
    behind: str = ""
    low: str = ""
    high: str = ""
    series: str = ""
    colour: str = ""
    fade: str = ""
    stacked: bool = False
    text: str = ""

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return {
            **_named(self.y, self.series),
            **({self.behind: Column(self.behind.replace("_", " "), self.x.kind)} if self.behind else {}),
            **_along(self.x, self.x.column.replace("_", " ")),
            **_ends(self.low, self.high, self.x.kind),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Histogram(Chart):
    """Bars from `low.column` to `high`: how many, or which share, by range; stacked by `colour`, or `overlaid`."""

    low: Axis
    high: str
    y: Axis
    colour: str = ""
    overlaid: bool = False
    line: float | None = None

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return {
            **_named(self.colour),
            self.low.column: Column("from", self.low.kind),
            self.high: Column("to", self.low.kind),
            **_along(self.y),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Lines(Chart):
    """Curves, one per colour; `low` and `high` are a band, or bars where the places on `x` are names.

    `reference` is a column of a dashed curve, `level` a dashed line. With `mean`, rows at the same place are points,
    and the curve goes through their means.
    """

    x: Axis
    y: Axis
    colour: str = ""
    low: str = ""
    high: str = ""
    reference: str = ""
    level: float | None = None
    facet: str = ""
    shape: Literal["linear", "monotone", "step", "step-after"] = "linear"
    named: bool = False  # whether x holds names, in the order of the rows
    filled: bool = False
    points: bool = False
    mean: bool = False

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        x = _along(replace(self.x, kind="text") if self.named else self.x)
        return _named(self.colour) | x | _along(self.y)


@dataclass(frozen=True, eq=False, kw_only=True)
class HeatMap(Chart):
    """A cell per pair of names: around `middle` in two colours, without one in one colour, the stronger the larger.

    `text` and below it `note` are written in a cell; those where `framed` is true have a frame, where `faint` is true
    they are pale. With `facet` there is a panel per value of it, and a legend. `steps` are all names of both axes.
    """

    x: str
    y: str
    value: Axis
    x_title: str = ""
    y_title: str = ""
    middle: float | None = None
    text: str = ""
    note: str = ""
    framed: str = ""
    faint: str = ""
    facet: str = ""
    steps: Sequence[int] = ()

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return {
            **_named(self.facet),
            self.x: Column(self.x_title or self.x),
            self.y: Column(self.y_title or self.y),
            **_along(self.value),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Scatter(Chart):
    """Points in two dimensions, coloured and shaped by `colour`, sized by `size`, named by `text`.

    `joined` draws a line through all points, `diagonal` the line on which both axes are equal, `line` a dashed line
    upright at a place on x. Points where `chosen` is true stand out.
    """

    x: Axis
    y: Axis
    colour: str = ""
    size: str = ""
    text: str = ""
    x_low: str = ""
    x_high: str = ""
    low: str = ""
    high: str = ""
    line: float | None = None
    diagonal: bool = False
    joined: bool = False
    chosen: str = ""

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return _named(self.text, self.colour) | _along(self.x) | _along(self.y)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs(Chart):
    """Two values of a thing, `before` and `after`, joined by a line; of many in ranks, `ranked` is the axis title."""

    item: str
    before: str
    after: str
    axis: Axis
    names: tuple[str, str] = ("before", "after")
    ranked: str = ""

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return {
            **_named(self.item),
            self.before: Column(self.names[0], self.axis.kind),
            self.after: Column(self.names[1], self.axis.kind),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class Boxes(Chart):
    """Tukey boxes (columns low, q1, median, q3 and high) by name, one beside the other per colour."""

    x: str
    x_title: str
    colour: str
    y: Axis

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return {
            **_named(self.colour, self.x),
            **{name: Column(name, "fine") for name in ("low", "q1", "median", "q3", "high")},
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class PointMap(Chart):
    """Texts in two dimensions (x, y, label, cluster, text); clusters above a threshold on a slider stand out."""

    clusters: pl.DataFrame


@dataclass(frozen=True, eq=False, kw_only=True)
class CueMap(Chart):
    """Features by how often they occur and the share of their label, with chance and significance of every label.

    `instances` is of how many instances the coverage of a feature is a share. Points where `named` is true have their
    names written before others.
    """

    chance: Mapping[str, float]
    critical_p: float
    instances: int = 0
    named: str = ""
    x_title: str = ""

    @property
    def drawn(self) -> Mapping[str, Column]:
        """What a mark stands for."""
        return {
            **_named("feature", "label"),
            "share": Column("share", "percent"),
            **_ends("share_low", "share_high", "percent"),
        }


@dataclass(frozen=True, eq=False)
class View:
    """What to show of a check, from its first sentence to its last note.

    A figure is a `KeyFigure`, or the name of a measure without the check's own: "hypothesis_only.accuracy". `front` are
    the names of charts and the titles of tables that belong on the first screen of a report.
    """

    lead: Sequence[str] = ()
    figures: Sequence[KeyFigure | str] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    maps: Sequence[TokenMaps] = ()
    front: Sequence[str] = ()


ViewOf = Callable[[Outcome], View]
