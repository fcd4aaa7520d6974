"""Prepare a card for its pages, in a process of its own: `python -m cuecard.web.explore.preparing CARD ROOT`.

The server never loads a table or draws a chart: this writes, once per card, what its pages show, its charts, and an
index of the texts from which single examples are read without reading the others.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cuecard import wording
from cuecard.analysis import Finding
from cuecard.card import load_card
from cuecard.card.card import Card
from cuecard.card.files import CARD_FILE
from cuecard.errors import CueCardError
from cuecard.report.findings import facts, looked_at, meter, ordered_findings, other_ways
from cuecard.report.html.card_page import settings as section_settings
from cuecard.report.questions import answers
from cuecard.report.sections import SectionView, TableView, section_view
from cuecard.report.texts import Piece, highlight
from cuecard.report.verdict import key_figures, verdict
from cuecard.view import KeyFigure
from cuecard.web.explore.indexing import TextIndexError, write_index
from cuecard.web.explore.places import CHARTS, EXAMPLES, PAGE, prepared_folder, table_folder
from cuecard.web.explore.stored import LARGE, write_table
from cuecard.wording import display_text


def prepare(folder: Path, root: Path) -> Path:
    """Write what the pages of a card need and return where; what is there already is kept."""
    key = hashlib.sha256((folder / CARD_FILE).read_bytes()).hexdigest()[:24]
    target = prepared_folder(root, key)
    if (target / PAGE).is_file():
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=".preparing-", dir=target.parent))
    try:
        tell("Preparing the pages")
        card = load_card(folder)
        page, charts = _page(card)
        (staging / CHARTS).mkdir()
        for name, specification in charts.items():
            (staging / CHARTS / f"{name}.json").write_text(json.dumps(specification), encoding="utf-8")
        tell("Indexing the tables")
        for name, table in card.tables.items():
            if table.height > LARGE and name != EXAMPLES:
                write_table(table, table_folder(staging, name))
        tell("Indexing the texts")
        try:
            page["index"] = write_index(card, folder.resolve(), staging, root)
        except (TextIndexError, CueCardError) as reason:
            page["index"] = {"texts": False, "reason": str(reason)}
            if EXAMPLES in card.tables:
                write_table(card.tables[EXAMPLES], table_folder(staging, EXAMPLES))
        (staging / PAGE).write_text(json.dumps(page), encoding="utf-8")
        if target.exists():  # another process was quicker, or left half of it behind
            shutil.rmtree(target, ignore_errors=True)
        os.replace(staging, target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target


def tell(title: str) -> None:
    """Say which step begins, where somebody listens."""
    if file := os.environ.get("CUECARD_PROGRESS"):
        with open(file, "a", encoding="utf-8") as log:
            log.write(json.dumps({"stage": title, "at": time.time()}) + "\n")


def _page(card: Card) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the pages of a card say, and its charts by name."""
    from cuecard.report.charts.kinds import chart_specification

    sections, charts = [], {}
    for name, section in card.sections.items():
        view = section_view(card, name)
        for i, chart in enumerate(view.charts):
            charts[f"{name}-{i}"] = chart_specification(chart)
        sections.append(
            {
                "name": name,
                "title": section.title,
                "status": section.status,
                "reason": section.reason,
                "settings": section_settings(section) if section.status == "done" else "",
                "seconds": card.provenance.seconds.get(name),
                "tables": list(section.tables),
                **_view(name, view),
            }
        )
    judged = verdict(card)
    page = {
        "verdict": asdict(judged),
        "figures": [_figure(figure) for figure in key_figures(card)],
        "answers": [asdict(answer) for answer in answers(card)],
        "findings": [_finding(card, finding) for finding in ordered_findings(card)],
        "sections": sections,
        "labels": list(card.dataset.labels),
        "task": card.dataset.task,
        "measures": [asdict(measure) for measure in card.all_measures()],
    }
    return page, charts


def _view(name: str, view: SectionView) -> dict[str, Any]:
    return {
        "lead": [display_text(text, 1000) for text in view.lead],
        "figures": [_figure(figure) for figure in view.figures],
        "charts": [
            {
                "id": f"{name}-{i}",
                "title": chart.title,
                "alt": chart.alt,
                "caption": chart.caption,
                "wide": chart.wide,
            }
            for i, chart in enumerate(view.charts)
        ],
        "samples": [_table(table) for table in view.tables],
        "notes": [display_text(text, 1000) for text in view.notes],
    }


def _figure(figure: KeyFigure) -> dict[str, str]:
    return asdict(figure)


def _table(table: TableView) -> dict[str, Any]:
    return {
        "title": table.title,
        "caption": table.caption,
        "total": table.total,
        "source": Path(table.source).stem if table.source else "",
        "columns": [
            {"title": column.title, "numeric": column.numeric, "kind": column.kind, "hint": column.hint}
            for column in table.columns
        ],
        "rows": [
            [
                {"shown": column.write(value), "sort": value if wording.is_number(value) else None}
                for column, value in zip(table.columns, row, strict=True)
            ]
            for row in table.rows
        ],
    }


def _finding(card: Card, finding: Finding) -> dict[str, Any]:
    line = meter(finding)
    return {
        "id": finding.id,
        "section": finding.section,
        "severity": finding.severity,
        "title": display_text(finding.title),
        "text": display_text(finding.text, 2000),
        "parts": other_ways(finding),
        "meter": asdict(line) if line is not None else None,
        "facts": facts(finding),
        "cue": finding.cue,
        "command": finding.command,
        "examples": [
            {
                "id": one.example_id,
                "split": one.split,
                "label": one.label,
                "premise": _pieces(card, finding, "premise", one.premise, one.highlight),
                "hypothesis": _pieces(card, finding, "hypothesis", one.hypothesis, one.highlight),
            }
            for one in finding.evidence[:3]
        ],
    }


def _pieces(
    card: Card, finding: Finding, field: str, text: str, words: Sequence[str]
) -> list[dict[str, Any]]:
    pieces: list[Piece] = highlight(text, words if looked_at(card, finding, field) else ())
    return [asdict(piece) for piece in pieces]


def main() -> int:
    """Prepare the card that the command line names."""
    folder, root = map(Path, sys.argv[1:3])
    try:
        prepare(folder, root)
    except CueCardError as error:
        print(f"cuecard: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
