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
from cuecard.cli.help import Verb, Verbs
from cuecard.cli.streams import prepare, set_examples, standard_streams
from cuecard.cli.verbs.ask import ASK_EXAMPLES, ask
from cuecard.cli.verbs.audit import (
    AUDIT_EXAMPLES,
    EXPLAIN_EXAMPLES,
    OVERLAP_EXAMPLES,
    audit,
    explain,
    overlap,
)
from cuecard.cli.verbs.cards import (
    BOARD_EXAMPLES,
    COMPARE_EXAMPLES,
    EXPORT_EXAMPLES,
    REPORT_EXAMPLES,
    board,
    compare,
    export,
    report,
)
from cuecard.cli.verbs.check import CHECK_EXAMPLES, check
from cuecard.cli.verbs.correct import CORRECT_EXAMPLES, correct
from cuecard.cli.verbs.debias import DEBIAS_EXAMPLES, debias
from cuecard.cli.verbs.demo import DEMO_EXAMPLES, demo
from cuecard.cli.verbs.plan import PLAN_EXAMPLES, STRESS_EXAMPLES, plan, stress
from cuecard.cli.verbs.probe import PROBE_EXAMPLES, probe
from cuecard.cli.verbs.servers import MCP_EXAMPLES, SERVE_EXAMPLES, mcp, serve
from cuecard.cli.verbs.tools import app as tools
from cuecard.cli.verbs.train import TRAIN_EXAMPLES, train
from cuecard.errors import CueCardError, FailedError, printable
from cuecard.registry import Registry

FAILED = 1
USAGE_OR_INPUT = 2
INTERRUPTED = 130
#: Errors of the operating system that a user can mend: no space, no right, no handles. Every other one is a bug.
_OS_ERRORS = {
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


for _verb, _examples, _panel in (
    (demo, DEMO_EXAMPLES, "Examine data"),
    (audit, AUDIT_EXAMPLES, "Examine data"),
    (explain, EXPLAIN_EXAMPLES, "Examine data"),
    (overlap, OVERLAP_EXAMPLES, "Examine data"),
    (probe, PROBE_EXAMPLES, "Examine models"),
    (ask, ASK_EXAMPLES, "Examine models"),
    (debias, DEBIAS_EXAMPLES, "Remedies and training"),
    (correct, CORRECT_EXAMPLES, "Remedies and training"),
    (plan, PLAN_EXAMPLES, "Remedies and training"),
    (stress, STRESS_EXAMPLES, "Remedies and training"),
    (train, TRAIN_EXAMPLES, "Remedies and training"),
    (report, REPORT_EXAMPLES, "Read cards"),
    (compare, COMPARE_EXAMPLES, "Read cards"),
    (board, BOARD_EXAMPLES, "Read cards"),
    (check, CHECK_EXAMPLES, "Read cards"),
    (serve, SERVE_EXAMPLES, "Read cards"),
    (export, EXPORT_EXAMPLES, "Read cards"),
    (mcp, MCP_EXAMPLES, "Read cards"),
):
    app.command(_verb.__name__, epilog=_examples, cls=Verb, rich_help_panel=_panel)(_verb)
app.add_typer(tools, name="tools", rich_help_panel="More commands")
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
        _end(_interrupt_message(end), INTERRUPTED)  # typer ends the process without a word
    except MemoryError:
        _end("out of memory: give the command more memory, or fewer rows.", USAGE_OR_INPUT)
    except OSError as error:
        if error.errno not in _OS_ERRORS:
            raise
        place = f"{error.filename}: " if error.filename else ""
        _end(f"{place}{error.strerror}.", USAGE_OR_INPUT)
    finally:
        set_examples(0)  # of this command: another one may follow in the same process


def _interrupt_message(end: BaseException) -> str:
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
