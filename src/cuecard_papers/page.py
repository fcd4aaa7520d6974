"""The papers beside ours, table by table: an HTML page, Markdown for the documentation, and the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from json import dumps
from pathlib import Path

from rich.console import Console
from rich.text import Text

from cuecard.card.files import CARD_FILE, load_card
from cuecard.report.changes_page import ComparisonChapter, PagePart, chapters_html
from cuecard.report.markdown import escape
from cuecard.report.sections import SectionView, TableView, section_view
from cuecard.view import Chart, Column, KeyFigure
from cuecard.wording import display_text, plural
from cuecard.writing import write_text
from cuecard_papers.judging import KINDS, Reading, Reproduction, Result, summarised
from cuecard_papers.plotted import plotted
from cuecard_papers.printed_tables import (
    commands_html,
    legend_html,
    legend_markdown,
    ours_and_interval,
    printed_tables,
    table_html,
    table_markdown,
)

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
        chapters = [_chapter(one, path) for one in reproductions]
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
    return "\n".join([*lines, *item_rows(reproduction.results), ""])


def item_rows(results: Sequence[Result]) -> list[str]:
    """Return items as the rows of a Markdown table."""
    lines = ["| where | what | outcome | printed → ours | why |", "|---|---|---|---|---|"]
    for result in results:
        numbers = "; ".join(map(_numbers, result.readings))
        fields = [result.where, result.what, result.outcome, numbers, result.reason]
        lines.append("| " + " | ".join(escape(display_text(text, 600)) for text in fields) + " |")
    return lines


def printed_markdown(reproduction: Reproduction) -> str:
    """Return a paper as Markdown with its tables as they are printed, then all other items, and the commands."""
    lines = [escape(reproduction.reference), "", escape(summarised(reproduction)), "", legend_markdown(), ""]
    placed: set[str] = set()
    for table in printed_tables(reproduction):
        lines += [f"## {escape(table.title)}", "", table_markdown(table)]
        placed |= {result.what for result in table.results if any(one.row for one in result.readings)}
    others = [result for result in reproduction.results if result.what not in placed]
    lines += ["## All other items", "", *item_rows(others), ""]
    lines += ["## Commands", "", "Each writes a card, from which the numbers above are read.", ""]
    seconds = {timing.run: timing.cpu_seconds for timing in reproduction.timings}
    commands = {result.run: result.command for result in reproduction.results if result.run}
    for run, command in commands.items():
        took = seconds.get(run)
        lines.append(f"- `{command}`" + ("" if took is None else f" ({took:.0f} CPU seconds)"))
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


def _chapter(reproduction: Reproduction, page: Path) -> ComparisonChapter:
    name = reproduction.paper
    parts = [PagePart(f"{name}-legend", "How to read", SectionView(), legend_html())]
    parts += [
        PagePart(f"{name}-{i}", table.title, SectionView(), table_html(table, name))
        for i, table in enumerate(printed_tables(reproduction))
    ]
    parts += [
        PagePart(
            f"{name}-figure-{i}", title, SectionView([f"{result.what}: {result.outcome}."], charts=charts)
        )
        for i, (title, result, charts) in enumerate(_figures(reproduction))
    ]
    parts.append(PagePart(f"{name}-items", "All items", SectionView(tables=[_items(reproduction)])))
    parts.append(PagePart(f"{name}-commands", "Commands", SectionView(), commands_html(reproduction, page)))
    counts = reproduction.counts["result"]
    agree = counts["reproduced"] + counts["within CI"]
    figures = [KeyFigure(outcome, str(n), "results of methods") for outcome, n in counts.items() if n]
    return ComparisonChapter(
        name,
        reproduction.title,
        "medium" if counts["different"] else "none",
        f"{reproduction.title}: {agree} of {plural(sum(counts.values()), *KINDS['result'])} agree, "
        f"{counts['different']} differ",
        [reproduction.reference, summarised(reproduction)],
        figures,
        parts,
    )


def _items(reproduction: Reproduction) -> TableView:
    titles = ("Where", "What", "Kind", "Outcome", "Printed → ours", "Counts as the same", "Why")
    rows = [
        [r.where, r.what, r.kind, r.outcome, "; ".join(map(_numbers, r.readings)), r.criterion, r.reason]
        for r in reproduction.results
    ]
    return TableView("Items", [Column(title) for title in titles], rows, len(rows), searchable=True)


def _figures(reproduction: Reproduction) -> Iterator[tuple[str, Result, list[Chart]]]:
    """Return every figure with our charts for it, each chart once."""
    drawn: set[tuple[str, str]] = set()
    for result in reproduction.results:
        if (figure := plotted(reproduction, result)) is not None:
            yield result.where, result, [figure]
            continue
        folder = Path(reproduction.folder, result.run)
        if not result.chart or (result.run, result.chart) in drawn or not (folder / CARD_FILE).exists():
            continue
        drawn.add((result.run, result.chart))
        section, _, name = result.chart.partition(".")
        view = section_view(load_card(folder), section)
        charts = [chart for chart in view.charts if name in ("", chart.name)]
        if charts:
            yield result.where, result, charts


def _numbers(reading: Reading) -> str:
    ours, interval = ours_and_interval(reading, always=False)
    return f"{reading.key} {reading.printed} → {ours}" + (f" ({interval})" if interval else "")
