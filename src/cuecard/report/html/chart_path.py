"""Where a chart can be written to: known before anything is drawn."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cuecard.errors import UsageError
from cuecard.targets import check_file

SUFFIXES = (".html", ".png", ".svg")


def check_chart_path(path: str | Path) -> Path:
    """Return the path, or raise if its name does not tell a format that charts are written in."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: charts are written as .html, .png or .svg.")
    return path


def check_chart(path: Path, *, inputs: Iterable[object] = ()) -> None:
    """Raise if no chart can be written to a path, or if it is one of the inputs."""
    check_file(check_chart_path(path), inputs=inputs, option="--chart")
