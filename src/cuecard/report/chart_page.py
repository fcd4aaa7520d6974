"""A chart as a file of its own: a page that opens offline, or a picture."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from cuecard.errors import InputError, UsageError
from cuecard.report.charts.drawing import themed

SUFFIXES = (".html", ".png", ".svg")


def check_chart_path(path: str | Path) -> Path:
    """Return the path, or raise if its name does not tell a format that charts are written in."""
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: charts are written as .html, .png or .svg.")
    return path


def write_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart with its colours, whole or not at all, and return its path."""
    path = check_chart_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, staged = tempfile.mkstemp(suffix=path.suffix, dir=path.parent)
        os.close(handle)
        try:
            themed(chart).save(staged, **({"inline": True} if path.suffix == ".html" else {}))
            os.chmod(staged, 0o644)
            os.replace(staged, path)
        finally:
            Path(staged).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot write there ({error.strerror}).") from None
    return path
