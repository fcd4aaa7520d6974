"""The views of the card's sections, one per file and found by name; a section without one gets the general view."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

from cuecard.card.card import Card
from cuecard.card.files import of_readable_card
from cuecard.registry import unknown_name
from cuecard.report.sections.general import general
from cuecard.report.view import SECTION_VIEWS, SectionView

__all__ = ["draw_chart", "section_view"]

for _module in walk_packages(__path__, f"{__name__}."):  # a view registers itself when its file is imported
    import_module(_module.name)


@of_readable_card
def draw_chart(card: Card, section: str, name: str) -> Any:
    """Return a chart of a section as an Altair chart, by the name that its view gives it."""
    charts = {chart.name: chart for chart in section_view(card, section).charts}
    if name not in charts:
        raise unknown_name(f"chart of the section {section!r}", name, list(charts))
    return charts[name].draw()


def section_view(card: Card, name: str) -> SectionView:
    """Return what to show of a section: its own view, the general one, or nothing where it did not run."""
    section = card[name]
    if section.status != "done":
        return SectionView()
    if name not in SECTION_VIEWS.names():
        return general(card, section)
    view = SECTION_VIEWS.get(name)
    try:
        return view(card, section)
    except Exception as error:
        if view.__module__.startswith(f"{__name__}."):
            raise
        # The view of another package must not cost the user the report.
        shown = general(card, section)
        note = f"The view of this section failed ({type(error).__name__}: {error}); this is the general one."
        return replace(shown, notes=(*shown.notes, note))
