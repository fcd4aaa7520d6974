"""The card in the terminal in about a screen: verdict, findings, what the user named, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from cuecard import wording
from cuecard.analysis import Finding
from cuecard.audits.cues.view import cue_table
from cuecard.card.card import Card
from cuecard.probes.judge.view import judge_tests
from cuecard.report.findings import how_many_more, ordered_findings
from cuecard.report.headline.verdict import key_figures, verdict
from cuecard.report.sections import outcome_of, table_view
from cuecard.report.terminal.card import (
    INDENT,
    TONES,
    figures_line,
    print_section,
    prose,
    table_of,
    what_was_read,
)
from cuecard.wording import display_text

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
