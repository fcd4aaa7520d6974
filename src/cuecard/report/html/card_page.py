"""The card as one HTML file that opens anywhere, offline, with interactive charts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from cuecard.card.card import Card, FindingModel, Section
from cuecard.card.damage import of_readable_card
from cuecard.report import numbers
from cuecard.report.findings import (
    facts,
    how_many_more,
    looked_at,
    meter,
    ordered_findings,
    other_ways,
    worst_severity,
)
from cuecard.report.headline.questions import answers
from cuecard.report.headline.verdict import key_figures, verdict
from cuecard.report.html.chart_library import WITHOUT, chart_library
from cuecard.report.html.inlined import resource, script_json, security_policy
from cuecard.report.html.saliency import saliency_html
from cuecard.report.markdown import finding_markdown
from cuecard.report.palette import DARK, LIGHT, css_variables, vega_config
from cuecard.report.sections import section_view
from cuecard.report.texts import Piece, display_text, highlight, isolated
from cuecard.report.view import SectionView
from cuecard.writing import write_text

#: Findings shown at once; the others are one click away.
OPEN_FINDINGS = 8


@dataclass(frozen=True)
class _Chapter:
    """A section of the card beside what to show of it."""

    name: str
    section: Section
    view: SectionView
    seconds: float | None
    severity: str  # of its most serious finding, "none" where it has none

    @property
    def first(self) -> str:
        """The sentence it is folded behind."""
        return next(iter(self.view.lead), "") if self.section.status == "done" else ""


@of_readable_card
def render_html(card: Card) -> str:
    """Return the whole report as HTML: findings first, then every section, then how it was made."""
    chapters = [
        _Chapter(
            name,
            section,
            section_view(card, name),
            card.provenance.seconds.get(name),
            worst_severity(card, name),
        )
        for name, section in card.sections.items()
    ]
    findings = ordered_findings(card)
    charts, libraries = _drawn(chapters)
    payload = {
        "charts": charts,
        "without_charts": WITHOUT if charts and not libraries else "",
        "themes": {"light": vega_config(LIGHT), "dark": vega_config(DARK)},
        "snippets": [finding_markdown(card, finding) for finding in findings],
    }
    scripts = [*libraries, resource("report.js")]
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            card=card,
            verdict=verdict(card),
            figures=key_figures(card),
            answers=answers(card),
            findings=findings,
            open_findings=OPEN_FINDINGS,
            more_findings=how_many_more(findings[OPEN_FINDINGS:]),
            chapters=chapters,
            css=Markup(resource("report.css") + resource("saliency.css")),
            light=Markup(css_variables(LIGHT)),
            dark=Markup(css_variables(DARK)),
            scripts=[Markup(script) for script in scripts],
            payload=Markup(script_json(payload)),
            policy=security_policy(scripts),
            **_functions(card),
        )
    )


def write_report(card: Card, path: str | Path) -> Path:
    """Write the report to a file, whole or not at all, and return its path."""
    path = Path(path)
    write_text(path, render_html(card), errors="replace")
    return path


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("cuecard.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _sentence(text: object, limit: int = 600) -> Markup:
    """Return a text to be shown as HTML, words written from right to left isolated."""
    return Markup(isolated(str(escape(display_text(text, limit))), "<bdi>", "</bdi>"))


def _functions(card: Card) -> dict[str, Any]:
    """Return what the templates call to put numbers and texts into words."""
    positions = {label: i % len(LIGHT.labels) for i, label in enumerate(card.dataset.labels)}

    def marked(finding: FindingModel, field: str, text: str, words: Sequence[str]) -> list[Piece]:
        return highlight(text, words if looked_at(card, finding, field) else ())

    return {
        "numbers": numbers,
        "show": display_text,
        "say": _sentence,
        "marked": marked,
        "label_colour": lambda label: positions.get(label),
        "meter": meter,
        "other_ways": other_ways,
        "facts": facts,
        "settings": settings,
        "token_maps": lambda maps: Markup(saliency_html(maps.table, full=maps.full, partial=maps.partial)),
        "chart_id": lambda chapter, i: f"{chapter.name}-{i}",
    }


def _drawn(chapters: Sequence[_Chapter]) -> tuple[dict[str, Any], list[str]]:
    """Return the specification of every chart, and the chart library if there is any chart."""
    charts = {f"{c.name}-{i}": chart for c in chapters for i, chart in enumerate(c.view.charts)}
    if not charts:
        return {}, []
    # Bundling the library takes seconds outside of Python: the charts are built meanwhile.
    with ThreadPoolExecutor(max_workers=1) as pool:
        library = pool.submit(chart_library)
        from cuecard.report.charts.drawing import specification

        specifications = {
            name: specification(chart.draw) | {"description": chart.alt} for name, chart in charts.items()
        }
        script = library.result()
        return specifications, [] if script is None else [script]


def settings(section: Section) -> str:
    """Return the parameters of a section in a line, or why it has none."""
    if section.status != "done":
        return section.reason
    return ", ".join(
        f"{name} {', '.join(map(str, value)) if isinstance(value, (list, tuple)) else value}"
        for name, value in section.parameters.items()
        if value not in (None, "", [], ())
    )
