"""What is running and for how long, on standard error, where somebody is looking."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING

from cuecard.run import Progress
from cuecard.wording import RESUMES

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bars

    from cuecard.models import Step
    from cuecard.models.text_model import Watch


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
    """Show a moving bar with the elapsed time while the body runs; nothing if silent or not a terminal.

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
    if silent or not console.is_terminal:
        yield
        return
    from cuecard.cli.timings import timed

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

    from cuecard.cli.timings import time_left

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
