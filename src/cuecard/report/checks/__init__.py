"""A check as people and other tools read it: terminal, JSON, JUnit, SARIF, GitHub and Markdown."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from cuecard.card.judging import Check
from cuecard.errors import InputError
from cuecard.report.checks.github import github_annotations
from cuecard.report.checks.junit import junit_xml
from cuecard.report.checks.markdown import check_markdown
from cuecard.report.checks.sarif import sarif_log
from cuecard.writing import write_text


def check_json(check: Check) -> str:
    """Return a check as JSON."""
    return json.dumps(check.as_dict(), indent=2, ensure_ascii=False) + "\n"


#: What writes a check in each format that other tools read.
WRITERS: dict[str, Callable[[Check], str]] = {
    "json": check_json,
    "junit": junit_xml,
    "sarif": sarif_log,
    "github": github_annotations,
    "markdown": check_markdown,
}


def show_check(check: Check, format: str = "text", *, out: Path | None = None, quiet: bool = False) -> None:
    """Print a check in a format, or write it to a file; for GitHub also write the summary of the step."""
    if format == "text":
        from rich.console import Console

        from cuecard.report.checks.terminal import render_check

        if out is not None:
            page = StringIO()
            render_check(check, Console(file=page, width=100, no_color=True))
            write_text(out, page.getvalue())
        elif not quiet:
            render_check(check, Console())
        return
    text = WRITERS[format](check)
    if out is not None:
        write_text(out, text)
    elif not quiet:
        print(text, end="")
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if format == "github" and summary:
        _append(Path(summary), check_markdown(check))


def _append(file: Path, text: str) -> None:
    try:
        with file.open("a", encoding="utf-8") as summary:
            summary.write(text)
    except OSError as error:
        raise InputError(f"{file}, the summary of the step, cannot be written ({error.strerror}).") from None


__all__ = [
    "WRITERS",
    "check_json",
    "check_markdown",
    "github_annotations",
    "junit_xml",
    "sarif_log",
    "show_check",
]
