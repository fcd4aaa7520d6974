"""What changed between cards, as one HTML file that opens anywhere, offline, with interactive charts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cuecard import wording
from cuecard.card.diff import Comparison
from cuecard.report.comparison.view import ComparisonChapter, comparison_chapter
from cuecard.report.html.page import environment, inlined_parts, sentence
from cuecard.wording import display_text
from cuecard.writing import write_text


def comparison_html(comparisons: Sequence[Comparison]) -> str:
    """Return the page of one or more comparisons: each with its verdict first, then what changed."""
    chapters = [comparison_chapter(one, i) for i, one in enumerate(comparisons, start=1)]
    names = [comparisons[0].before, *(one.after for one in comparisons)]
    return chapters_html(chapters, " → ".join(names), "cuecard compare --json")


def chapters_html(chapters: Sequence[ComparisonChapter], title: str, exact: str) -> str:
    """Return a page of chapters, each with its verdict first; `exact` is the command that prints the exact numbers."""
    parts = [part for chapter in chapters for part in chapter.parts]
    charts = {f"{part.name}-{i}": chart for part in parts for i, chart in enumerate(part.view.charts)}
    return (
        environment()
        .get_template("comparison.html.j2")
        .render(
            title=display_text(title, 160),
            chapters=chapters,
            exact=exact,
            numbers=wording,
            show=display_text,
            say=sentence,
            **inlined_parts(charts),
        )
    )


def write_comparison(comparisons: Sequence[Comparison], path: str | Path) -> Path:
    """Write the page to a file, whole or not at all, and return its path."""
    path = Path(path)
    write_text(path, comparison_html(comparisons), errors="replace")
    return path
