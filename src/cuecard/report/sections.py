"""What to show of a section: the view that its check declares, with its tables and measures looked up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from cuecard.analysis import ANALYSES, Analysis
from cuecard.audits import AUDITS
from cuecard.card.card import Card, Section
from cuecard.card.files import of_readable_card
from cuecard.registry import unknown_name
from cuecard.view import (
    Chart,
    Column,
    KeyFigure,
    Kind,
    Outcome,
    Table,
    TokenMaps,
    View,
    ViewOf,
    measure_figure,
)
from cuecard.wording import display_text, is_number, number

if TYPE_CHECKING:
    from altair.typing import ChartType

#: The view of a section without one has at most this many measures and rows.
MOST_FIGURES, MOST_ROWS = 12, 50
_RATES = ("accuracy", "share", "rate", "chance", "low", "high", "fraction")
_PROBABILITIES = ("p_value", "q_value")


@dataclass(frozen=True)
class TableView:
    """Rows to look at: a sample of a table of the card, whose whole is in a file."""

    title: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[object]]
    total: int
    source: str = ""
    caption: str = ""
    searchable: bool = False
    everywhere: bool = False  # whether it is shown beside the first table where there is little room


@dataclass(frozen=True)
class SectionView:
    """What to show of a section, from its first sentence to its last note: a view with everything looked up."""

    lead: Sequence[str] = ()
    figures: Sequence[KeyFigure] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[TableView] = ()
    notes: Sequence[str] = ()
    maps: Sequence[TokenMaps] = ()
    front: Sequence[str] = ()


@of_readable_card
def draw_chart(card: Card, section: str, name: str) -> ChartType:
    """Return a chart of a section as an Altair chart, by the name that its view gives it."""
    from cuecard.report.charts.kinds import draw

    charts = {chart.name: chart for chart in section_view(card, section).charts}
    if name not in charts:
        raise unknown_name(f"chart of the section {section!r}", name, list(charts))
    return draw(charts[name])


def section_view(card: Card, name: str) -> SectionView:
    """Return what to show of a section: its own view, the general one, or nothing where it did not run."""
    section = card[name]
    if section.status != "done":
        return SectionView()
    analysis = declaring(name)
    view: ViewOf | View | None = getattr(analysis, "view", None)
    if view is None:
        return general_view(section)
    try:
        declared = view if isinstance(view, View) else view(outcome_of(card, section))
        return _looked_up(declared, card, name)
    except Exception as error:
        if analysis is not None and analysis.__module__.startswith("cuecard."):
            raise
        # The view of another package must not cost the user the report.
        shown = general_view(section)
        note = f"The view of this section failed ({type(error).__name__}: {error}); this is the general one."
        return replace(shown, notes=(*shown.notes, note))


def declaring(section: str) -> type[Analysis] | None:
    """Return the analysis that a section is named after, if it is known here."""
    for registry in (AUDITS, ANALYSES):
        if section in registry.names():
            return registry.get(section)
    # Cards of data need no probes and no remedies, which take long to import.
    from cuecard.probes import PROBES
    from cuecard.remedies import REMEDIES

    if section in PROBES.names():
        return PROBES.get(section)
    every = (analysis for registry in (REMEDIES, AUDITS, PROBES, ANALYSES) for analysis in registry)
    return next((analysis for analysis in every if analysis.name == section), None)


def outcome_of(card: Card, section: Section) -> Outcome:
    """Return what the view of a section is made of."""
    dataset = card.dataset
    instances = {name: split.instances for name, split in dataset.splits.items()}
    return Outcome(
        section.summary,
        card.tables,
        section.parameters,
        dataset.task,
        dataset.labels,
        list(instances),
        instances,
        {measure.name: measure for measure in card.all_measures()},
    )


def _looked_up(view: View, card: Card, name: str) -> SectionView:
    measures = {measure.name: measure for measure in card[name].measures}
    return SectionView(
        view.lead,
        [
            measure_figure(measures[f"{name}.{figure}"]) if isinstance(figure, str) else figure
            for figure in view.figures
        ],
        [
            replace(chart, data=card.tables[chart.data]) if isinstance(chart.data, str) else chart
            for chart in view.charts
        ],
        [table_view(table, card.tables) for table in view.tables],
        view.notes,
        view.maps,
        view.front,
    )


def table_view(table: Table, tables: Mapping[str, pl.DataFrame]) -> TableView:
    """Return the rows of a declared table, in the columns that it has."""
    frame = tables[table.source] if table.data is None else table.data
    columns = {name: column for name, column in table.columns.items() if name in frame.columns}
    rows = frame.select(list(columns)).head(frame.height if table.most is None else table.most).rows()
    return TableView(
        table.title,
        list(columns.values()),
        rows,
        frame.height if table.total is None else table.total,
        f"tables/{table.source}.parquet" if table.source else "",
        table.caption,
        table.searchable,
        table.everywhere,
    )


def general_view(section: Section) -> SectionView:
    """Return the section's measures, or its summary where it has none, and a sample of its first table."""
    figures = [measure_figure(measure) for measure in section.measures] or [
        KeyFigure(name.replace("_", " "), _write(name, value)) for name, value in _leaves(section.summary)
    ]
    tables = [_sample(name, section[name]) for name in section.tables[:1]]
    return SectionView(figures=figures[:MOST_FIGURES], tables=tables)


def _leaves(summary: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Yield the numbers and short texts of a summary, nested ones named by their path."""
    for name, value in summary.items():
        path = f"{prefix}{name}"
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{path} · ")
        elif isinstance(value, (bool, int, float, str)):
            yield path, value


def _write(name: str, value: object) -> str:
    kind = _kind(name.rsplit(" · ", 1)[-1])
    if kind == "text" or not is_number(value):
        return number(value) if is_number(value) else display_text(value, 60)
    return Column(name, kind).write(value)


def _kind(name: str) -> Kind:
    if name in _PROBABILITIES:
        return "probability"
    return "percent" if name in _RATES or name.endswith(("_share", "_accuracy", "_rate")) else "text"


def _sample(name: str, frame: pl.DataFrame) -> TableView:
    columns = {}
    for column, dtype in frame.schema.items():
        kind = _kind(column)
        if kind == "text" and dtype.is_numeric():
            kind = "count" if dtype.is_integer() else "number"
        columns[column] = Column(column.replace("_", " "), kind if dtype.is_numeric() else "text")
    table = Table(name.replace("_", " ").capitalize(), name, columns, most=MOST_ROWS)
    return table_view(table, {name: frame})
