"""What every verb does with a finished card: write it, print it, say where it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import typer

from cuecard.card import Card, staged_card
from cuecard.errors import printable

if TYPE_CHECKING:
    from rich.console import Console

    from cuecard.writing import Staged


#: What takes longest to import of what draws a report. None of it is ours: two threads that import our modules at once
#: can meet one of which only half is there.
_OF_REPORT = ("altair", "jinja2")


def print_card(card: Card, report: Path | None, *, verbose: bool, sections: Sequence[str] = ()) -> None:
    """Print a card, where its report is if it was written, and what to type next; `sections` are printed whole."""
    from rich.console import Console

    from cuecard.report import render_brief, render_terminal

    console = Console()
    if verbose:
        render_terminal(card, console)
    else:
        render_brief(card, console, sections=sections)
    if report is not None:
        print_place(report, console)
    print_next(card, console, written=report is not None, verbose=verbose)


def print_next(card: Card, console: Console, *, written: bool, verbose: bool) -> None:
    """Print what to type next, each command in one line that can be copied."""
    from rich.text import Text

    from cuecard.run.next_commands import next_commands

    steps = next_commands(card, written)
    if not written:
        console.print()
    if not verbose and card.provenance.command:
        steps.append(("--verbose", "also print the tables of every section"))
    for i, (command, purpose) in enumerate(steps):
        start = ("Next:   " if i == 0 else "        ") if command.startswith("cuecard") else "Option: "
        line = Text.assemble(start, (display(command), "bold"), (f"  ({purpose})", "dim"))
        console.print(line, soft_wrap=True, highlight=False)


def exit_if_failed(card: Card, kind: str) -> None:
    """End with exit code 1 if an analysis of the card failed, and say which; those left out are no failure."""
    failed = [name for name, section in card.sections.items() if section.status == "failed"]
    for name in failed:
        typer.echo(printable(f"cuecard: the {kind} {name} failed: {card[name].reason}"), err=True)
    if failed:
        raise typer.Exit(1)


def print_place(report: Path, console: Console) -> None:
    """Print where the report is, in one line that can be copied."""
    from rich.text import Text

    # Text and no markup: a path may have brackets.
    console.print(
        Text.assemble("\nReport: ", (display(str(report)), "bold")), soft_wrap=True, highlight=False
    )


def display(path: str) -> str:
    """Return a path or a command as it can be printed: nothing in it steers the terminal."""
    return printable(path.encode("utf-8", "replace").decode("utf-8"), limit=4_000)


def staged_with_report(card: Card, folder: Path, last: Staged | None = None) -> AbstractContextManager[None]:
    """Have a card, its tables and its report written; they take their places after the body, unless it raises.

    `last` is a file elsewhere that takes its place with them.
    """
    from cuecard.data.parallel import started
    from cuecard.report import render_html

    # The tables are compressed beside the drawing.
    return staged_card(card, folder, started(lambda: render_html(card, folder)), last=last)


def import_report_early() -> None:
    """Begin to import the libraries that draw a report, beside the work that comes before it."""

    def import_all() -> None:
        with suppress(Exception):  # raised again where the report is drawn
            for name in _OF_REPORT:
                import_module(name)

    Thread(target=import_all, daemon=True).start()
