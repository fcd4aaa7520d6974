"""What is running and for how long, on standard error, where somebody is looking."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

from cuecard.card import Progress


@contextmanager
def stage(title: str, *, silent: bool) -> Iterator[None]:
    """Show a moving bar with the elapsed time while the body runs; nothing if silent or not a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if silent or not console.is_terminal:
        yield
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        bars.add_task(title, total=None)
        yield


def progress(*, silent: bool) -> Progress:
    """Return what `cuecard.audit` calls before each audit."""

    def show(title: str) -> AbstractContextManager[object]:
        return stage(title, silent=silent)

    return show
