"""The card in the terminal: the whole of it, or what fits about a screen."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.columns import Columns
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.analysis import Evidence, Finding, Severity
from cuecard.audits.cues.view import cue_table
from cuecard.card.by_what import by_what
from cuecard.card.card import Card
from cuecard.card.files import of_readable_card
from cuecard.report.findings import highlight, how_many_more, looked_at, ordered_findings, other_ways
from cuecard.report.sections import TableView, outcome_of, section_view, table_view
from cuecard.report.verdict import key_figures, verdict
from cuecard.text import reading_advice
from cuecard.view import KeyFigure
from cuecard.wording import display_text

#: Colour and sign of a severity; the sign says it where there is no colour.
TONES: dict[Severity, tuple[str, str]] = {
    "high": ("bold red", "▲"),
    "medium": ("yellow", "◆"),
    "low": ("blue", "●"),
    "info": ("dim", "○"),
}
INDENT = (0, 0, 0, 2)
#: Holds two words together until lines are broken.
_GLUE = "\N{NO-BREAK SPACE}"
#: Texts are cut to these many characters, one after the other, before a column is left out.
_TEXT_WIDTHS = (18, 14, 12, 10)
#: Columns stand this far apart.
_GAP = 2


@of_readable_card
def render_terminal(card: Card, console: Console, *, top: int = 10) -> None:
    """Print the card; at most `top` findings and `top` rows per table."""
    judged = verdict(card)
    console.print()
    console.print(prose(display_text(judged.headline), console.width, "bold"))
    console.print(prose(display_text(judged.detail), console.width, "dim"))
    for line in what_was_read(card):
        console.print(Text(display_text(line, 1000), style="dim"))
    console.print()
    console.print(figures_line(key_figures(card)))
    findings = ordered_findings(card)
    for finding in findings[:top]:
        console.print()
        console.print(_finding(card, finding, console.width))
    if len(findings) > top:
        console.print(Text(f"\n… and {how_many_more(findings[top:])} in the report.", style="dim"))
    _features(card, console)
    for name in card.sections:
        console.print()
        print_section(card, name, console, top)
    console.print()
    console.print(Text(f"Data fingerprint {card.dataset.fingerprint}", style="dim"))


def prose(text: str, width: int, style: str = "") -> Text:
    """Return a text broken into lines, a number and its percent sign on the same one."""
    glued = re.sub(r"(?<=\d) (?=%)", _GLUE, text)
    if cell_len(glued) != len(glued):  # characters two columns wide are counted by the console itself
        return Text(text, style=style)
    return Text("\n".join(wrap(glued, width, break_on_hyphens=False)).replace(_GLUE, " "), style=style)


def what_was_read(card: Card) -> list[str]:
    """Return how the data was understood, every row that was left out, and whether it was read in chunks."""
    data = card.dataset
    columns = ", ".join(f"{role} = {column}" for role, column in data.columns.items())
    tokens = f". Tokens: {', '.join(card.tokenisers)}" if card.tokenisers else ""
    lines = [f"Task: {data.task}{tokens}{f'. Columns: {columns}' if columns else ''}."]
    lines += [
        advice for name, language in card.tokenisers.items() if (advice := reading_advice(language, name))
    ]
    lines += [f"Left out: {wording.left_out(reason, n)}." for reason, n in data.dropped.items() if n]
    where, in_chunks, chunks = card.provenance.engine.partition(", in ")
    if in_chunks:
        lines.append(f"Read in {chunks}{' on a Ray cluster' if where == 'ray' else ''}{_about_all(card)}.")
    return [*lines, *data.notes]


def _about_all(card: Card) -> str:
    """Return that all sections about the data see all examples; where one does not, a note says so."""
    sections = [section for section in card.sections.values() if section.about == "data"]
    if not sections or any(section.sampled for section in sections):
        return ""
    others = any(card.dataset.dropped.values())
    return f"; all sections are about all {'other ' if others else ''}examples"


def figures_line(figures: Sequence[KeyFigure]) -> RenderableType:
    """Return key figures beside each other, as many as fit on a line."""
    cells = []
    for figure in figures:
        label = f"{figure.label}, {figure.detail}" if figure.detail else figure.label
        cells.append(Text.assemble((display_text(figure.value), "bold"), " ", (display_text(label), "dim")))
    return Columns(cells, padding=(0, 3))


def _finding(card: Card, finding: Finding, width: int) -> RenderableType:
    tone, sign = TONES[finding.severity]
    title = Text.assemble((f"{sign} {finding.severity}  ", tone), (display_text(finding.title), "bold"))
    lines: list[RenderableType] = [prose(display_text(finding.text, 2000), width - INDENT[3])]
    if parts := other_ways(finding):
        lines.append(prose(parts, width - INDENT[3]))
    lines += [_example(card, finding, example) for example in finding.evidence[:1]]
    return Group(title, Padding(Group(*lines), INDENT))


def _example(card: Card, finding: Finding, example: Evidence) -> Text:
    text = Text("“", style="italic")
    words = example.highlight if looked_at(card, finding, "hypothesis") else []
    for piece in highlight(example.hypothesis, words, limit=160):
        text.append(piece.text, style="bold not italic underline" if piece.marked else "")
    text.append("” ")
    return text.append(f"({display_text(example.label, 40)})", style="dim not italic")


def print_section(card: Card, name: str, console: Console, top: int) -> None:
    """Print a section: its sentences, the first rows of its tables and its notes, or why it did not run."""
    section = card[name]
    console.rule(Text(display_text(section.title), style="bold"), align="left", style="dim")
    if section.status != "done":
        style = "red" if section.status == "failed" else "dim"
        console.print(Text.assemble((f"{section.status}: ", style), display_text(section.reason, 1000)))
        return
    view = section_view(card, name)
    for sentence in view.lead:
        console.print(prose(display_text(sentence, 1000), console.width))
    if view.figures and not view.lead:
        console.print(figures_line(view.figures))
    for table in [*view.tables[:1], *(table for table in view.tables[1:] if table.everywhere)]:
        console.print(table_of(table, top, console.width))
    for note in view.notes:
        console.print(prose(display_text(note, 1000), console.width, "dim"))


def headed(*headings: str, left: int = 1, **options: Any) -> Table:
    """Return a table with these headings; the first columns hold names, the others numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", **options)
    for i, heading in enumerate(headings):
        table.add_column(heading, justify="left" if i < left else "right", overflow="fold")
    return table


def table_of(view: TableView, top: int, width: int) -> RenderableType:
    """Return the first rows of a table, as wide as the terminal, and how many rows it has."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", padding=(0, 1, 0, 0))
    rows = [
        [column.write(value) for column, value in zip(view.columns, row, strict=True)]
        for row in view.rows[:top]
    ]
    widths = _widths(view, rows, width)
    for i, most in widths.items():
        column = view.columns[i]
        justify: JustifyMethod = "right" if column.numeric else "left"
        title = Text("\n".join(wrap(display_text(column.title), most)))
        table.add_column(
            title, justify=justify, no_wrap=True, overflow="ellipsis", max_width=most, vertical="bottom"
        )
    for row in rows:
        table.add_row(*(Text(row[i]) for i in widths))
    if view.total <= len(rows):
        return table
    source = f"; all in {view.source}" if view.source else ""
    return Group(table, Text(f"{len(rows):,} of {view.total:,} rows{source}", style="dim"))


def _widths(view: TableView, rows: Sequence[Sequence[str]], width: int) -> dict[int, int]:
    """Return the columns that fit beside each other and their widths: texts are cut, numbers never.

    Headings are broken between words. If all columns do not fit with the shortest texts, the last ones are left out.
    """
    brief = [i for i, column in enumerate(view.columns) if column.brief]
    titles = {i: max(map(len, view.columns[i].title.split()), default=0) for i in brief}
    natural = {i: max([titles[i], *(len(row[i]) for row in rows)]) for i in brief}
    texts = [i for i in brief if not view.columns[i].numeric]
    least: dict[int, int] = {}
    for most in _TEXT_WIDTHS:
        least = {i: min(natural[i], max(most, titles[i])) if i in texts else natural[i] for i in brief}
        if _across(least) <= width:
            break
    while len(least) > 1 and _across(least) > width:
        least.popitem()
    spare = width - _across(least)
    for i in texts:
        if i in least:
            more = max(0, min(natural[i] - least[i], spare))
            least[i] += more
            spare -= more
    return least


def _across(widths: Mapping[int, int]) -> int:
    return sum(widths.values()) + _GAP * len(widths)


#: Findings that are printed with their text; those after them have one line each.
WITH_TEXT = 3
ONE_LINE = 7
#: Rows of features of a family that the user named.
NAMED_ROWS = 5
#: What a card of weights or of an experiment says is in its sections, so they are always printed.
_SECTIONS_ARE_THE_RESULT = ("weights", "experiment")


def render_brief(card: Card, console: Console, *, sections: Sequence[str] = ()) -> None:
    """Print the verdict, the first findings and what the user named; `sections` are printed whole."""
    judged = verdict(card)
    console.print()
    console.print(prose(display_text(judged.headline), console.width, "bold"))
    console.print(prose(display_text(judged.detail), console.width, "dim"))
    for line in what_was_read(card):
        console.print(prose(display_text(line, 1000), console.width, "dim"))
    first = next(iter(card.sections.values()), None)
    if first is not None and first.about != "data" and (figures := key_figures(card)):
        console.print()
        console.print(figures_line(figures))
    _findings(ordered_findings(card), console)
    _features(card, console)
    _named(card, console)
    if "judge" not in sections:
        _judges(card, console)
    for name, section in card.sections.items():
        if name in sections or section.about in _SECTIONS_ARE_THE_RESULT:
            console.print()
            print_section(card, name, console, 10)


def _findings(findings: Sequence[Finding], console: Console) -> None:
    serious = sum(finding.severity in ("high", "medium") for finding in findings)
    with_text = min(WITH_TEXT, max(serious, 1))
    shown = findings[: with_text + ONE_LINE]
    for i, finding in enumerate(shown):
        if i <= with_text:
            console.print()
        # What reads a pipe or a file has no width to fit into.
        width = console.width if console.is_terminal else None
        console.print(_title(finding, numbers_too=i >= with_text, width=width), soft_wrap=width is None)
        if i < with_text:
            text = prose(display_text(finding.text, 2000), console.width - INDENT[3])
            console.print(Padding(text, INDENT))
    if len(findings) > len(shown):
        console.print(Text(f"… and {how_many_more(findings[len(shown) :])}.", style="dim"))


def _features(card: Card, console: Console) -> None:
    """Print the features that carry the score of partial input, and those that give most away."""
    for features in by_what(card):
        console.print()
        console.print(Text(features.question, style="bold"))
        text = prose(display_text(features.sentence(), 1000), console.width - INDENT[3])
        console.print(Padding(text, INDENT))


def _title(finding: Finding, *, numbers_too: bool, width: int | None) -> Text:
    tone, sign = TONES[finding.severity]
    head = f"{sign} {finding.severity}".ljust(8) + "  "
    tail = _numbers(finding) if numbers_too else ""
    room = len(finding.title)
    if width is not None:
        if len(head) + room + len(tail) > width:  # the title says what it is about: it comes first
            tail = ""
        room = max(20, width - len(head) - len(tail))
    style = "" if numbers_too else "bold"
    return Text.assemble((head, tone), (display_text(finding.title, room), style), (tail, "dim"))


def _numbers(finding: Finding) -> str:
    """Return the measured share or AUC beside its chance level; the share that a flaw concerns has none."""
    if finding.role == "flaw" and finding.value and finding.unit == "share" and not finding.chance:
        return f"  {wording.percent(finding.value)}"
    if finding.value is None or finding.chance is None or finding.unit not in ("share", "score"):
        return ""
    value, chance = (wording.in_unit(number, finding.unit) for number in (finding.value, finding.chance))
    return f"  {value}, chance {chance}"


def _judges(card: Card, console: Console) -> None:
    """Print what was tested of every judge, and what could not be."""
    section = card.sections.get("judge")
    if section is not None and section.status == "done":
        from cuecard.probes.judge.view import judge_tests  # cards without judges need no probes

        table = table_view(judge_tests(section.summary), card.tables)
        console.print()
        console.print(table_of(table, table.total, console.width))


def _named(card: Card, console: Console) -> None:
    """Print the features of the families and regular expressions that the user typed."""
    section = card.sections.get("cues")
    if section is None or section.status != "done" or "cues" not in card.tables:
        return
    patterns = [name for name, _ in section.parameters.get("regex") or ()]
    families = [f for f in section.parameters.get("features") or () if f != "regex"]
    frame = card.tables["cues"]
    rows = [frame.filter((pl.col("family") == "regex") & pl.col("feature").is_in(patterns))]
    rows += [frame.filter(pl.col("family") == family).head(NAMED_ROWS) for family in families]
    table = pl.concat(rows)
    if table.height:
        shown = table_view(cue_table(outcome_of(card, section), table), card.tables)
        console.print()
        console.print(table_of(shown, table.height, console.width))
    present = {*table["feature"].to_list(), *table["family"].to_list()}
    missing = [name for name in (*patterns, *families) if name not in present]
    for name in [name for name in missing if name in families]:
        if reason := (section.summary.get("families", {}).get(name) or {}).get("skipped"):
            missing.remove(name)
            console.print(prose(f"Not tested: {name} ({reason.rstrip('.')}).", console.width))
    if missing:
        console.print()
        fewest = int(section.summary.get("min_count", 1))
        words = ", ".join(display_text(name, 40) for name in missing)
        console.print(
            prose(
                f"Not tested: {words} ({'occurs' if len(missing) == 1 else 'occur'} in fewer than "
                f"{wording.plural(fewest, 'training instance')}; --min-count 1 tests every feature).",
                console.width,
            )
        )
