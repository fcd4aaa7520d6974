"""Standard streams: what they can show, what is running and how long it still takes; closed and full ones too."""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import stat
import sys
import time
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, TextIO

from cuecard._cache_folder import cache_folder
from cuecard.errors import InputError
from cuecard.wording import RESUMES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import ProgressColumn

    from cuecard.models import Step
    from cuecard.models.text_model import Watch
    from cuecard.run import Progress


_STANDARD = (0, 1, 2)
_OUT = 1
#: Less than this on the disk of a file that standard output goes to is no room for a result.
_ROOM = 4096


@contextmanager
def standard_streams(*, quiet: bool) -> Iterator[None]:
    """Run the body with a standard output that ends in one sentence where it cannot be written.

    Raises before the body where it is clear at once that nothing can be printed. A reader that goes away
    (`cuecard … | head`) is no error: the rest is printed nowhere, and the exit code is that of the command.

    Args:
        quiet: whether nothing will be printed.
    """
    closed = sys.stdout is None
    _fill_closed()
    before = sys.stdout
    if not quiet:
        _check_room(closed)
    if before is not None and before is sys.__stdout__ and isinstance(before, io.TextIOWrapper):
        sys.stdout = _Guarded(
            before.buffer,
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=before.line_buffering,
        )
    try:
        yield
    finally:
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        finally:
            if isinstance(sys.stdout, _Guarded):
                sys.stdout.detach()
                sys.stdout = before


class _Guarded(io.TextIOWrapper):
    """Standard output whose errors are sentences, and which nobody need read to the end."""

    def write(self, text: str, /) -> int:
        """Write a text; what cannot be written is an `InputError`, a reader that is gone is none."""
        with _one_sentence():
            return super().write(text)
        return len(text)

    def isatty(self) -> bool:
        """Return whether this is a terminal; libraries ask when the process ends, and it is closed then."""
        try:
            return super().isatty()
        except ValueError:
            return False

    def flush(self) -> None:
        """Write what is left."""
        with _one_sentence():
            super().flush()


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # What is still to be written would fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _OUT)
        if error.errno != errno.EPIPE:
            raise _unwritable(error.strerror or str(error)) from None


def _unwritable(reason: str) -> InputError:
    return InputError(f"Standard output cannot be written ({reason}): redirect it elsewhere, or add --quiet.")


def _fill_closed() -> None:
    """Open nothing in the place of closed streams, so that no file of ours gets their numbers."""
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = _nowhere()
    if sys.stdout is None:
        sys.stdout = _nowhere()


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _check_room(closed: bool) -> None:
    """Raise if standard output is closed or on a full disk."""
    if closed:
        raise _unwritable("it is closed")
    if sys.stdout is not sys.__stdout__:
        return
    try:
        os.write(_OUT, b"")  # a device that is always full refuses even that
        if stat.S_ISREG(os.fstat(_OUT).st_mode):
            disk = os.fstatvfs(_OUT)
            if disk.f_bavail * disk.f_frsize < _ROOM:
                raise _unwritable(os.strerror(errno.ENOSPC))
    except OSError as error:
        raise _unwritable(error.strerror or str(error)) from None


#: The name under which the error handler is registered.
READABLE = "cuecard.readable"
#: Narrower than this, no line of ours can be laid out.
NARROWEST = 20
_LOOKS_LIKE = {
    "…": "...", "–": "-", "—": "-", "−": "-", "·": "-", "•": "*", "→": "->", "←": "<-", "↑": "^", "↓": "v", "×": "x",
    "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "±": "+-", "✓": "ok",
    "✗": "x", "Δ": "Delta ", "ρ": "rho", "κ": "kappa", "χ": "chi", "α": "alpha", "█": "#", "▇": "#", "■": "#",
}  # fmt: skip


def prepare() -> None:
    """Have standard output and error print what their encoding has no character for, and ignore impossible widths.

    JSON keeps its texts: it is printed with the escapes of JSON. What a library says of shared memory that cannot be
    written to is not printed: it works in one process then, as we have it do in any case.
    """
    warnings.filterwarnings("ignore", ".*joblib will operate in serial mode", UserWarning)
    columns = os.environ.get("COLUMNS")
    if columns is not None and not (columns.isdecimal() and int(columns) >= NARROWEST):
        del os.environ["COLUMNS"]
    codecs.register_error(READABLE, _escaped if "--json" in sys.argv[1:] else _readable)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.errors != READABLE:
            stream.reconfigure(errors=READABLE)


def _readable(error: UnicodeError) -> tuple[str, int]:
    """Return what looks like the characters that cannot be encoded, or their codes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown = []
    for char in error.object[error.start : error.end]:
        plain = (
            _LOOKS_LIKE.get(char) or unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
        )
        shown.append(plain or char.encode("unicode_escape").decode())
    return "".join(shown), error.end


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Return the characters that cannot be encoded as JSON writes them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from json import dumps

    return dumps(error.object[error.start : error.end])[1:-1], error.end


#: Examples of the dataset that was read last.
_examples = 0
#: A step that takes fewer seconds ends before anybody asks.
LONG = 10.0


def set_examples(n: int) -> None:
    """Say how many examples the dataset has whose steps are timed; 0 where none is read."""
    global _examples
    _examples = n


def expected_seconds(title: str) -> float | None:
    """Return how long a step should take by its last run, in proportion to the examples; None if it never ran."""
    rate = _rates().get(_step(title))
    return rate * _examples if rate is not None and _examples else None


@contextmanager
def timed(title: str) -> Iterator[None]:
    """Remember how long the body takes, unless it fails."""
    started = time.monotonic()
    yield
    if _examples:
        rates = _rates() | {_step(title): (time.monotonic() - started) / _examples}
        from cuecard.cache import keep_file

        keep_file(_file(), lambda staged: staged.write_text(json.dumps(rates), encoding="utf-8"))


def time_left() -> ProgressColumn:
    """Return a column for progress bars: the time left, empty where the step is short or has never run."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Left(ProgressColumn):
        def render(self, task: Task) -> Text:
            expected = expected_seconds(task.description)
            if expected is None or expected < LONG or task.elapsed is None:
                return Text("")
            left = expected - task.elapsed
            return Text(f"about {_minutes(left)} left" if left >= 1 else "longer than last time")

    return Left()


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _step(title: str) -> str:
    """Return the title of a step without its number."""
    return title.partition(": ")[2] if title.startswith("Step ") else title


def _file() -> Path:
    return cache_folder() / "timings.json"


def _rates() -> dict[str, float]:
    """Return seconds per example of every step that ran; a file that cannot be read counts as none."""
    try:
        kept = json.loads(_file().read_text(encoding="utf-8"))
        pairs = kept.items() if isinstance(kept, dict) else ()
        return {str(step): float(rate) for step, rate in pairs if isinstance(rate, int | float)}
    except (OSError, ValueError, RecursionError, OverflowError):
        return {}


#: The display of the stages that are running, a bar each; none while nothing runs.
_stages: list[Bars] = []
_changing = Lock()


def _tell_program(title: str) -> None:
    """Add the stage to the file that a program watches, if one does."""
    if file := os.environ.get("CUECARD_PROGRESS"):
        with suppress(OSError), open(file, "a", encoding="utf-8") as log:
            log.write(json.dumps({"stage": title, "at": time.time()}) + "\n")


@contextmanager
def stage(title: str, *, silent: bool) -> Iterator[None]:
    """Show a moving bar with the elapsed time while the body runs; nothing if silent.

    Where there is no terminal, such as in a log, a line is printed about a step that takes longer than two seconds.
    That an interrupted run continues is said in a line that stays, in a log as well.

    Stages that run at the same time, or one within another, have their bars below each other.
    A step that took long the last time also shows the time left. A program that runs the command reads the stages from
    the file that CUECARD_PROGRESS names, a JSON line each.
    """
    _tell_program(title)
    from rich.console import Console

    console = Console(stderr=True)
    if RESUMES in title and not silent:  # a bar goes away, and a log has none
        print(title, file=sys.stderr)
    if silent:
        yield
        return
    if not console.is_terminal:
        from cuecard.run.running import line_of_long_step

        with line_of_long_step(title):
            yield
        return
    with _changing:
        if not _stages:
            _stages.append(_started(console))
        bars = _stages[0]
        task = bars.add_task(title, total=None)
    try:
        with timed(title):
            yield
    finally:
        with _changing:
            bars.remove_task(task)
            if not bars.tasks:
                bars.stop()
                _stages.clear()


def _started(console: Console) -> Bars:
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
        time_left(),
    )
    bars = Bars(*columns, console=console, transient=True)
    bars.start()
    return bars


def progress(*, silent: bool) -> Progress:
    """Return what `cuecard.audit` calls before each audit."""

    def show(title: str) -> AbstractContextManager[object]:
        return stage(title, silent=silent)

    return show


@contextmanager
def training_bar(title: str, *, silent: bool) -> Iterator[Watch]:
    """Give what a model calls while it trains: a bar with epoch, loss, held-out accuracy and time left.

    Nothing is shown if silent or not in a terminal.
    """
    from rich.console import Console

    console = Console(stderr=True)
    if silent or not console.is_terminal:
        yield _unseen
        return
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=10),
        TextColumn("{task.fields[status]}"),
        TextColumn("·"),
        TimeRemainingColumn(compact=True),
        TextColumn("left"),
    )
    with _stages_paused(), Bars(*columns, console=console, transient=True) as bars:
        task = bars.add_task(title, total=None, status="")

        def show(step: Step) -> None:
            status = f"{step.epoch}/{step.epochs} · loss {step.loss:.3f}"
            if step.validation_accuracy is not None:
                status += f" · validation accuracy {100 * step.validation_accuracy:.1f} %"
            # A run that stops early never fills the bar: the time left is the most it can be.
            bars.update(task, completed=step.done, total=step.total, status=status)

        yield show


@contextmanager
def _stages_paused() -> Iterator[None]:
    """Take down the bars of the stages around a training run: a terminal shows one at a time."""
    for bars in _stages:
        bars.stop()
    try:
        yield
    finally:
        for bars in _stages:
            bars.start()


def _unseen(step: Step) -> None:
    """Show nothing."""
