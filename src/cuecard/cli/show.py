"""What every verb does with a finished card: write it, print it, say where it is."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cuecard.card import Card, staged_card
from cuecard.card.files import REPORT_FILE

if TYPE_CHECKING:
    from rich.console import Console


def print_card(card: Card, *, out: Path | None, json: bool, quiet: bool) -> None:
    """Print a card as text, as JSON or not at all, and where its report is."""
    if json:
        typer.echo(card.model_dump_json(indent=2))
    elif not quiet:
        from rich.console import Console

        from cuecard.report import render_terminal

        console = Console()
        render_terminal(card, console)
        if out is not None:
            print_place(out / REPORT_FILE, console)


def exit_if_failed(card: Card, kind: str) -> None:
    """End with exit code 1 if an analysis of the card failed, and say which; those left out are no failure."""
    failed = [name for name, section in card.sections.items() if section.status == "failed"]
    for name in failed:
        typer.echo(f"cuecard: the {kind} {name} failed: {card[name].reason}", err=True)
    if failed:
        raise typer.Exit(1)


def print_place(report: Path, console: Console) -> None:
    """Print where the report is, in one line that can be copied."""
    from rich.text import Text

    # Text and no markup: a path may have brackets; and bytes that are no UTF-8 cannot be printed.
    shown = str(report).encode("utf-8", "replace").decode("utf-8")
    console.print(Text.assemble("\nReport: ", (shown, "bold")), soft_wrap=True, highlight=False)


def staged_with_report(card: Card, folder: Path) -> AbstractContextManager[None]:
    """Have a card, its tables and its report written; they take their places after the body, unless it raises."""
    return staged_card(card, folder, rendered(card))


def rendered(card: Card) -> str:
    """Return the report of a card; where it has to do without charts, say so."""
    from cuecard.report import render_html
    from cuecard.report.html.chart_library import WITHOUT

    page = render_html(card)
    if WITHOUT in page:
        typer.echo(f"cuecard: {WITHOUT}", err=True)
    return page
