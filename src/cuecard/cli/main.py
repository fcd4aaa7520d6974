"""The `cuecard` command: verbs, and the exit codes that scripts rely on.

0 fine, 1 policy violated or an audit failed, 2 bad usage or input (one clear sentence, no traceback), 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from cuecard._version import __version__
from cuecard.cli.help import Verb
from cuecard.cli.verbs import (
    ask,
    audit,
    check,
    compare,
    datasets,
    debias,
    demo,
    explain,
    peco,
    probe,
    report,
    reproduce,
    stress,
    train,
)
from cuecard.errors import CueCardError

USAGE_OR_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="cuecard",
    help="Find what gives the answer away in a labelled text dataset.",
    epilog="Start with `cuecard demo`, then `cuecard audit YOUR_FILE --out report`.",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cuecard {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop."),
    ] = False,
) -> None:
    """Find what gives the answer away in a labelled text dataset."""


for _verb, _module, _panel in (
    ("demo", demo, "Examine data"),
    ("audit", audit, "Examine data"),
    ("explain", explain, "Examine data"),
    ("peco", peco, "Examine data"),
    ("datasets", datasets, "Examine data"),
    ("probe", probe, "Examine models"),
    ("ask", ask, "Examine models"),
    ("debias", debias, "Remedies and training"),
    ("stress", stress, "Remedies and training"),
    ("train", train, "Remedies and training"),
    ("report", report, "Read cards"),
    ("compare", compare, "Read cards"),
    ("check", check, "Read cards"),
):
    app.command(_verb, epilog=_module.EXAMPLES, cls=Verb, rich_help_panel=_panel)(getattr(_module, _verb))
app.add_typer(reproduce.app, name="reproduce", rich_help_panel="Remedies and training")


def main() -> None:
    """Run the command line and end the process with its exit code."""
    try:
        app(prog_name="cuecard")
    except CueCardError as error:
        print(f"cuecard: {error}", file=sys.stderr)
        sys.exit(USAGE_OR_INPUT)
    except KeyboardInterrupt:
        print("cuecard: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # the reader of our output went away (`cuecard … | head`)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
