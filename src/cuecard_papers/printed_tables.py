"""A paper's tables as they are printed: every printed number above ours, with its interval and how it came out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from os.path import relpath
from pathlib import Path

from markupsafe import Markup, escape

from cuecard.card.files import CARD_FILE
from cuecard.report.markdown import escape as escape_markdown
from cuecard_papers.judging import OUTCOMES, Outcome, Reading, Reproduction, Result

#: A mark beside the colour, for readers who do not see it.
MARKS: dict[Outcome, str] = {
    "reproduced": "=",
    "within CI": "≈",
    "different": "≠",
    "partial": "◐",
    "not possible": "∅",
    "not run": "…",
}


@dataclass(frozen=True)
class PrintedTable:
    """A table of a paper: its rows and columns, and what is in a cell."""

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[Reading, Result]]
    results: tuple[Result, ...]


def printed_tables(reproduction: Reproduction) -> Iterator[PrintedTable]:
    """Return the tables that have places for their numbers, in the order of the items."""
    wheres = list(dict.fromkeys(result.where for result in reproduction.results))
    for where in wheres:
        results = tuple(result for result in reproduction.results if result.where == where)
        cells = {
            (reading.row, reading.column): (reading, result)
            for result in results
            for reading in result.readings
            if reading.row
        }
        if not cells:
            continue
        printed = reproduction.order.get(where, ())
        found = list(dict.fromkeys(row for row, _ in cells))
        rows = [row for row in printed if row in found] + [row for row in found if row not in printed]
        yield PrintedTable(
            where, tuple(rows), tuple(dict.fromkeys(column for _, column in cells)), cells, results
        )


def table_html(table: PrintedTable, paper: str) -> Markup:
    """Return a table as HTML; every number of ours leads to its command."""
    head = Markup("").join(Markup('<th scope="col">{}</th>').format(column) for column in table.columns)
    body = Markup("").join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            row, Markup("").join(_cell(table.cells.get((row, column)), paper) for column in table.columns)
        )
        for row in table.rows
    )
    return Markup(
        '<div class="scroll" tabindex="0"><table class="printed"><thead><tr><td></td>{}</tr></thead>'
        "<tbody>{}</tbody></table></div>{}"
    ).format(head, body, _reasons(table))


def table_markdown(table: PrintedTable) -> str:
    """Return a table as Markdown: every cell has the printed number, how it came out, and ours with its interval."""
    lines = ["| | " + " | ".join(escape_markdown(column) for column in table.columns) + " |"]
    lines.append("|---|" + "---:|" * len(table.columns))
    for row in table.rows:
        cells = [_cell_markdown(table.cells.get((row, column))) for column in table.columns]
        lines.append(f"| {escape_markdown(row)} | " + " | ".join(cells) + " |")
    reasons = [
        f"- {MARKS[outcome]} {outcome}: {escape_markdown(reason)} ({escape_markdown('; '.join(whats))})"
        for (outcome, reason), whats in _by_reason(table)
    ]
    return "\n".join([*lines, "", *reasons, ""] if reasons else [*lines, ""])


def _cell_markdown(cell: tuple[Reading, Result] | None) -> str:
    if cell is None:
        return ""
    reading, result = cell
    ours, interval = ours_and_interval(reading)
    first = f"{escape_markdown(reading.printed)} {MARKS[result.outcome_of(reading)]}"
    return "<br>".join([first, f"**{ours}**", *([f"<small>{interval}</small>"] if interval else [])])


def _cell(cell: tuple[Reading, Result] | None, paper: str) -> Markup:
    if cell is None:
        return Markup("<td></td>")
    reading, result = cell
    outcome = result.outcome_of(reading)
    ours, interval = ours_and_interval(reading)
    shown = Markup("<b>{}</b>").format(ours)
    if result.run:
        shown = Markup('<a href="#{}" title="{}">{}</a>').format(
            anchor(paper, result.run), f"{result.what}: {outcome}", shown
        )
    parts = [Markup("{}").format(reading.printed), shown]
    if interval:
        parts.append(Markup("<small>{}</small>").format(interval))
    return Markup('<td class="{}">{}</td>').format(
        f"is-{outcome.replace(' ', '-').lower()}",
        Markup("{} <i>{}</i> {}").format(parts[0], MARKS[outcome], Markup(" ").join(parts[1:])),
    )


def ours_and_interval(reading: Reading, *, always: bool = True) -> tuple[str, str]:
    """Return our number to the printed digits, and its interval; only where it differs unless `always`."""
    decimals = len(reading.printed.partition(".")[2])
    how = ".3g" if reading.printed[0] in "<>" else ".2e" if "e" in reading.printed else f".{decimals}f"
    ours = "–" if reading.ours is None else f"{reading.ours:{how}}"
    agrees = reading.agrees(interval=False)
    if how == f".{decimals}f" and ours != reading.printed and agrees:
        ours = f"{reading.ours:.{decimals + 1}f}"  # halfway between two printed numbers
    if reading.low is None or reading.high is None or (agrees and not always):
        return ours, ""
    return ours, f"{reading.low:{how}} to {reading.high:{how}}"


def _reasons(table: PrintedTable) -> Markup:
    """Return why numbers differ or are missing, each reason once."""
    lines = [
        Markup("<li><i>{}</i> {}: {} <small>({})</small></li>").format(
            MARKS[outcome], outcome, with_code(reason), "; ".join(whats)
        )
        for (outcome, reason), whats in _by_reason(table)
    ]
    return Markup('<ul class="reasons">{}</ul>').format(Markup("").join(lines)) if lines else Markup("")


def _by_reason(table: PrintedTable) -> list[tuple[tuple[Outcome, str], list[str]]]:
    """Return the items of a table by their outcome and its reason."""
    reasons: dict[tuple[Outcome, str], list[str]] = {}
    for result in table.results:
        if result.reason:
            reasons.setdefault((result.outcome, result.reason), []).append(result.what)
    return sorted(reasons.items(), key=lambda one: OUTCOMES.index(one[0][0]))


def commands_html(reproduction: Reproduction, page: Path | None = None) -> Markup:
    """Return every command with its card, as the cells lead to it; `page` is where the links start from."""
    seconds = {timing.run: timing.cpu_seconds for timing in reproduction.timings}
    lines = []
    of_runs = sorted((result for result in reproduction.results if result.run), key=lambda result: result.run)
    for run, results in groupby(of_runs, key=lambda result: result.run):
        report = Path(reproduction.folder, run, "report.html")
        link = Markup("")
        if page is not None and (report.parent / CARD_FILE).exists() and report.exists():
            link = Markup(' <a href="{}">card</a>').format(relpath(report, page.parent))
        took = seconds.get(run)
        lines.append(
            Markup('<li id="{}"><b>{}</b>{}{}<br><code>{}</code></li>').format(
                anchor(reproduction.paper, run),
                run,
                link,
                "" if took is None else f", {took:.0f} CPU seconds",
                next(results).command,
            )
        )
    return Markup('<ul class="commands">{}</ul>').format(Markup("").join(lines))


def legend_html() -> Markup:
    """Return what the marks and colours mean."""
    parts = [
        Markup('<span class="{}"><i>{}</i> {}</span>').format(
            f"is-{outcome.replace(' ', '-').lower()}", mark, outcome
        )
        for outcome, mark in MARKS.items()
    ]
    text = Markup("Printed number, then <b>ours</b> with its 95 % CI; it leads to the command. ")
    return Markup('<p class="legend">{}{}</p>').format(text, Markup(" ").join(parts))


def legend_markdown() -> str:
    """Return what the marks mean."""
    marks = ", ".join(f"{mark} {outcome}" for outcome, mark in MARKS.items())
    return f"In a cell: the printed number and how it came out, **ours**, and its 95 % CI. {marks}."


def with_code(text: str) -> Markup:
    """Return a sentence as HTML, with what stands between backticks as code."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def anchor(paper: str, run: str) -> str:
    """Return where the page has the command of a run."""
    return str(escape(f"run-{paper}-{run}"))
