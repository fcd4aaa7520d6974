"""The papers beside ours, table by table: an HTML page, Markdown for the documentation, and the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from json import dumps
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cuecard.report.changes_page import ComparisonChapter, PagePart, chapters_html
from cuecard.report.markdown import escape
from cuecard.report.sections import SectionView, TableView
from cuecard.view import Column, KeyFigure
from cuecard.wording import display_text
from cuecard.writing import write_text
from cuecard_papers.judging import Reading, Reproduction, summarised

#: A difference is what a reader looks for first.
_TONES = {"different": "yellow", "reproduced": "green", "within CI": "cyan"}


def write_reproductions(reproductions: Sequence[Reproduction], path: str | Path) -> Path:
    """Write the page to a file that ends in .html, .md or .json, whole or not at all, and return its path."""
    path = Path(path)
    if path.suffix == ".json":
        text = reproductions_json(reproductions)
    elif path.suffix == ".md":
        text = "\n".join(reproduction_markdown(one) for one in reproductions)
    else:
        chapters = [_chapter(one) for one in reproductions]
        text = chapters_html(chapters, "The papers and CueCard", "cuecard papers reproduce --json")
    write_text(path, text, errors="replace")
    return path


def reproductions_json(reproductions: Sequence[Reproduction]) -> str:
    """Return every number of every item, with its command, as JSON."""
    return dumps([one.as_dict() for one in reproductions], indent=2, ensure_ascii=False) + "\n"


def reproduction_markdown(reproduction: Reproduction) -> str:
    """Return a paper as Markdown: one row per item, printed numbers beside ours."""
    lines = [f"## {escape(reproduction.title)}", "", f"{escape(reproduction.reference)}", ""]
    lines += [f"{escape(summarised(reproduction))}", ""]
    lines += ["| where | what | outcome | printed → ours | why |", "|---|---|---|---|---|"]
    for result in reproduction.results:
        numbers = "; ".join(map(_numbers, result.readings))
        fields = [result.where, result.what, result.outcome, numbers, result.reason]
        lines.append("| " + " | ".join(escape(display_text(text, 600)) for text in fields) + " |")
    return "\n".join([*lines, ""])


def render_reproduction(reproduction: Reproduction, console: Console) -> None:
    """Print the outcome of every item, and the numbers that differ."""
    console.print(Text(summarised(reproduction), style="bold"))
    for result in reproduction.results:
        line = Text.assemble(
            (f"{result.outcome:<13}", _TONES.get(result.outcome, "dim")), f"{result.where}, {result.what}"
        )
        console.print(line)
        if result.outcome in ("within CI", "different", "partial"):
            console.print(Text("   " + "; ".join(map(_numbers, result.readings)), style="dim"))
        if result.reason and result.outcome != "reproduced":
            console.print(Text(f"   {display_text(result.reason, 300)}", style="dim"))


def _chapter(reproduction: Reproduction) -> ComparisonChapter:
    figures = [KeyFigure(outcome, str(n)) for outcome, n in reproduction.counts.items() if n]
    columns = [
        Column("Where"),
        Column("What"),
        Column("Outcome"),
        Column("Printed → ours"),
        Column("Counts as the same"),
        Column("Why"),
        Column("Command"),
    ]
    rows = [
        [r.where, r.what, r.outcome, "; ".join(map(_numbers, r.readings)), r.criterion, r.reason, r.command]
        for r in reproduction.results
    ]
    table = TableView("Items", columns, rows, len(rows), searchable=True)
    part = PagePart(f"{reproduction.paper}-items", "Items", SectionView((), tables=[table]))
    severity = "medium" if reproduction.counts["different"] else "none"
    return ComparisonChapter(
        reproduction.paper,
        reproduction.title,
        severity,
        summarised(reproduction),
        [reproduction.reference],
        figures,
        [part],
    )


def _numbers(reading: Reading) -> str:
    decimals = len(reading.printed.partition(".")[2])
    how = ".3g" if reading.printed[0] in "<>" else ".2e" if "e" in reading.printed else f".{decimals}f"
    ours = "–" if reading.ours is None else f"{reading.ours:{how}}"
    if how == f".{decimals}f" and ours != reading.printed and reading.agrees(interval=False):
        ours = f"{reading.ours:.{decimals + 1}f}"  # halfway between two printed numbers
    if reading.low is not None and reading.high is not None and not reading.agrees(interval=False):
        ours += f" ({reading.low:{how}} to {reading.high:{how}})"
    return f"{reading.key} {reading.printed} → {ours}"
