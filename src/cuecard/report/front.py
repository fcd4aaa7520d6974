"""The picture on the first screen of a report: charts and tables that its sections declare, or the first chart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cuecard.analysis import SEVERITIES
from cuecard.card.card import Card
from cuecard.report.findings import worst_severity
from cuecard.report.sections import SectionView, TableView
from cuecard.report.verdict import main_subject
from cuecard.view import Chart

#: Charts and tables on a first screen.
MOST_SHOWN = 2


@dataclass(frozen=True)
class FrontItem:
    """A chart or a table of a section, and what it is called on the page: the first chart of cues is cues-0."""

    section: str
    place: str
    shown: Chart | TableView

    @property
    def is_chart(self) -> bool:
        """Whether it is a chart."""
        return isinstance(self.shown, Chart)


def front_items(card: Card, views: Mapping[str, SectionView]) -> list[FrontItem]:
    """Return what a report opens with: what sections about its main subject declare, tables first.

    Where none declares anything, it is the first chart of the section with the most serious finding that has one.
    """
    subject = main_subject(card)
    about = {name: view for name, view in views.items() if card.sections[name].about == subject}
    declared = [item for name, view in about.items() for item in _declared(name, view)]
    if declared:
        return sorted(declared[:MOST_SHOWN], key=lambda item: item.is_chart)
    ranks = [*SEVERITIES, "none"]
    by_severity = sorted(about, key=lambda name: ranks.index(worst_severity(card, name)))
    charts = (
        FrontItem(name, f"{name}-0", about[name].charts[0]) for name in by_severity if about[name].charts
    )
    return [item for item in [next(charts, None)] if item is not None]


def _declared(name: str, view: SectionView) -> list[FrontItem]:
    tables = [FrontItem(name, f"{name}-front", table) for table in view.tables if table.title in view.front]
    charts = [
        FrontItem(name, f"{name}-{i}", chart)
        for i, chart in enumerate(view.charts)
        if chart.name in view.front
    ]
    return [*tables, *charts]
