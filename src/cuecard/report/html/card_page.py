"""The card as one HTML file that opens anywhere, offline, and as a piece of HTML for a notebook cell."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from cuecard import wording
from cuecard.analysis import Finding
from cuecard.card.card import Card, DatasetInfo, Section
from cuecard.card.files import REPORT_FILE, audit_beside, of_readable_card
from cuecard.report.findings import (
    Piece,
    facts,
    highlight,
    how_many_more,
    looked_at,
    meter,
    ordered_findings,
    other_ways,
    worst_severity,
)
from cuecard.report.first_screen import answers, front_items, open_questions
from cuecard.report.html.chart_page import saliency_html
from cuecard.report.html.page import (
    environment,
    findings_that_fit,
    fitted_views,
    inlined_parts,
    resource,
    sentence,
)
from cuecard.report.markdown import finding_markdown
from cuecard.report.palette import LIGHT
from cuecard.report.sections import SectionView, section_view
from cuecard.report.verdict import key_figures, verdict
from cuecard.wording import display_text
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
        if self.section.status == "done":
            return next(iter(self.view.lead), "")
        return f"{self.section.status.capitalize()}: {self.section.reason.rstrip('.')}."


@of_readable_card
def render_html(card: Card, folder: str | Path | None = None) -> str:
    """Return the whole report as HTML: findings first, then every section, then how it was made.

    Of a card about models, questions about the data are answered by the audit of the same data beside `folder`, where
    the report goes, if there is one; by default, that is where the card was read from.
    """
    audit, page = _audit_beside(card, folder)
    rows = answers(card, audit, page)
    views = fitted_views([section_view(card, name) for name in card.sections])
    chapters = [
        _Chapter(name, section, view, card.provenance.seconds.get(name), worst_severity(card, name))
        for (name, section), view in zip(card.sections.items(), views, strict=True)
    ]
    findings = ordered_findings(card)
    snippets = [finding_markdown(card, finding) for finding in findings]
    shown = findings_that_fit(snippets)
    charts = {f"{c.name}-{i}": chart for c in chapters for i, chart in enumerate(c.view.charts)}
    return report_template().render(
        card=card,
        verdict=verdict(card),
        figures=key_figures(card),
        answers=[row for row in rows if row.known],
        open_questions=open_questions(rows),
        audit=page,
        sizes=split_sizes(card.dataset),
        front=front_items(card, {chapter.name: chapter.view for chapter in chapters}),
        findings=findings[:shown],
        left_out=len(findings) - shown,
        open_findings=OPEN_FINDINGS,
        more_findings=how_many_more(findings[OPEN_FINDINGS:shown]),
        chapters=chapters,
        **inlined_parts(charts, snippets=snippets[:shown]),
        **_functions(card),
    )


@cache
def report_template() -> Template:
    """Return the template of a report, compiled with those that it imports."""
    templates = environment()
    templates.get_template("parts.html.j2")
    return templates.get_template("report.html.j2")


def write_report(card: Card, path: str | Path) -> Path:
    """Write the report to a file, whole or not at all, and return its path."""
    path = Path(path)
    write_text(path, render_html(card, path.parent), errors="replace")
    return path


def _audit_beside(card: Card, folder: str | Path | None) -> tuple[Card | None, str]:
    """Return the audit of the data of a card beside a folder, and the way from there to its report, if it has one."""
    if folder is None and not card.read_from:
        return None, ""
    folder = Path(card.read_from).parent if folder is None else Path(folder)
    audit = audit_beside(card, folder)
    if audit is None:
        return None, ""
    report = Path(audit.read_from).with_name(REPORT_FILE)
    way = os.path.relpath(report, folder.absolute()) if report.is_file() else ""
    return audit, quote(Path(way).as_posix()) if way else ""


def split_sizes(dataset: DatasetInfo) -> list[str]:
    """Return how many examples every split has; a dataset of one split just has examples.

    >>> split_sizes(DatasetInfo(name="x", task="text", labels=[], fingerprint="", splits={
    ...     "train": SplitInfo(examples=1200, instances=1200, labels={})}))
    ['1,200 examples']
    """
    several = len(dataset.splits) > 1
    return [
        " ".join(
            [
                wording.count(split.examples),
                *([wording.SPLIT_NAMES.get(name, name)] if several else []),
                "examples",
            ]
        )
        for name, split in dataset.splits.items()
    ]


def _functions(card: Card) -> dict[str, Any]:
    """Return what the templates call to put numbers and texts into words."""
    positions = {label: i % len(LIGHT.labels) for i, label in enumerate(card.dataset.labels)}

    def marked(finding: Finding, field: str, text: str, words: Sequence[str]) -> list[Piece]:
        return highlight(text, words if looked_at(card, finding, field) else ())

    return {
        "numbers": wording,
        "show": display_text,
        "say": sentence,
        "marked": marked,
        "texts_called": _texts_called(card.dataset.task),
        "label_colour": lambda label: positions.get(label),
        "meter": meter,
        "other_ways": other_ways,
        "facts": facts,
        "settings": settings,
        "token_maps": lambda maps: Markup(saliency_html(maps.table, full=maps.full, partial=maps.partial)),
    }


#: What the two texts of an example are called.
_TEXTS = {
    "pair": ("Premise", "Hypothesis"),
    "choice": ("Question", "Choice"),
    "preference": ("Prompt", "Response"),
    "open": ("Question", "Answer"),
}


def _texts_called(task: str) -> tuple[Markup, Markup]:
    """Return what stands before the texts of an example; nothing before a single text."""
    first, second = _TEXTS.get(task, ("", ""))
    return Markup(f"<small>{first}</small>" if first else ""), Markup(
        f"<small>{second}</small>" if second else ""
    )


def settings(section: Section) -> str:
    """Return the parameters of a section in a line, or why it has none."""
    if section.status != "done":
        return section.reason
    return ", ".join(
        f"{name} {', '.join(map(str, value)) if isinstance(value, (list, tuple)) else value}"
        for name, value in section.parameters.items()
        if value not in (None, "", [], ())
    )


MOST_FINDINGS = 6


@of_readable_card
def notebook_html(card: Card) -> str:
    """Return the headline, the key figures and the first findings as an HTML fragment."""
    template = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    findings = ordered_findings(card)
    return template.from_string(resource("notebook.html.j2")).render(
        card=card,
        verdict=verdict(card),
        figures=key_figures(card),
        findings=findings[:MOST_FINDINGS],
        more=how_many_more(findings[MOST_FINDINGS:]),
        tones=LIGHT.severity,
        facts=facts,
        show=display_text,
    )
