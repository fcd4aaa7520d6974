"""The `cuecard` command: verbs, and the exit codes that scripts rely on.

0 fine, 1 policy violated or an analysis failed, 2 bad usage or input (one clear sentence, no traceback), 130
interrupted.
"""

from __future__ import annotations

import errno
import sys
from contextlib import suppress
from typing import Annotated, NoReturn

import typer

from cuecard._version import __version__
from cuecard.cli import timings
from cuecard.cli.help import Verb, Verbs
from cuecard.cli.streams import standard_streams
from cuecard.cli.terminals import prepare
from cuecard.cli.verbs import (
    ask,
    audit,
    board,
    check,
    compare,
    correct,
    debias,
    demo,
    explain,
    export,
    overlap,
    plan,
    probe,
    report,
    serve,
    stress,
    tools,
    train,
)
from cuecard.errors import CueCardError, FailedError, printable
from cuecard.registry import Registry

FAILED = 1
USAGE_OR_INPUT = 2
INTERRUPTED = 130
#: What the system refuses anywhere: no space, no right, no handles. Any other error of the system is a bug.
_OF_THE_SYSTEM = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
}

app = typer.Typer(
    name="cuecard",
    cls=Verbs,
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
    ("overlap", overlap, "Examine data"),
    ("probe", probe, "Examine models"),
    ("ask", ask, "Examine models"),
    ("debias", debias, "Remedies and training"),
    ("correct", correct, "Remedies and training"),
    ("plan", plan, "Remedies and training"),
    ("stress", stress, "Remedies and training"),
    ("train", train, "Remedies and training"),
    ("report", report, "Read cards"),
    ("compare", compare, "Read cards"),
    ("board", board, "Read cards"),
    ("check", check, "Read cards"),
    ("serve", serve, "Read cards"),
    ("export", export, "Read cards"),
):
    app.command(_verb, epilog=_module.EXAMPLES, cls=Verb, rich_help_panel=_panel)(getattr(_module, _verb))
app.add_typer(tools.app, name="tools", rich_help_panel="More commands")
#: Groups of commands that other packages add, such as `cuecard papers`.
COMMANDS: Registry[typer.Typer] = Registry("command", group="cuecard.commands")
for _name in COMMANDS.names():
    app.add_typer(COMMANDS.get(_name), name=_name, rich_help_panel="More commands")


def main() -> None:
    """Run the command line and end the process with its exit code."""
    prepare()
    quiet = any(argument in ("-q", "--quiet") for argument in sys.argv[1:])
    try:
        with standard_streams(quiet=quiet):
            app(prog_name="cuecard")
    except CueCardError as error:
        _end(str(error), FAILED if isinstance(error, FailedError) else USAGE_OR_INPUT)
    except KeyboardInterrupt as stopped:
        _end(str(stopped) or "interrupted", INTERRUPTED)
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        _end(_said(end), INTERRUPTED)  # typer ends the process without a word
    except MemoryError:
        _end("the memory is full: give the command more of it, or fewer rows.", USAGE_OR_INPUT)
    except OSError as error:
        if error.errno not in _OF_THE_SYSTEM:
            raise
        place = f"{error.filename}: " if error.filename else ""
        _end(f"{place}{error.strerror}.", USAGE_OR_INPUT)
    finally:
        timings.examples = 0  # of this command: another one may follow in the same process


def _said(end: BaseException) -> str:
    """Return what was said where the user interrupted the command."""
    cause: BaseException | None = end
    while cause is not None and not isinstance(cause, KeyboardInterrupt):
        cause = cause.__cause__ or cause.__context__
    return str(cause or "") or "interrupted"


def _end(sentence: str, code: int) -> NoReturn:
    """Print one sentence and end with an exit code, also where the sentence cannot be printed."""
    with suppress(OSError, ValueError):
        print(f"cuecard: {printable(sentence)}", file=sys.stderr, flush=True)
    sys.exit(code)
