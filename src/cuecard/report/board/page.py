"""The board as a page: HTML that opens offline, or Markdown for the documentation of a project."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from urllib.parse import quote

from cuecard import wording
from cuecard.card.board import Board, BoardRow
from cuecard.card.files import REPORT_FILE
from cuecard.errors import UsageError
from cuecard.report.board.cells import (
    HOW_TO_READ,
    TASKS,
    chance_text,
    interval_text,
    lead_text,
    number_text,
    shortcut_text,
    source_text,
    worst_dataset,
    worst_text,
)
from cuecard.report.exports.badge import severity_badge
from cuecard.report.html.page import environment, inlined_parts, sentence
from cuecard.report.markdown import escape
from cuecard.wording import display_text
from cuecard.writing import write_text

SUFFIXES = (".html", ".md")


def check_board_path(path: Path) -> Path:
    """Return the path of a page to write, or raise if its ending is none of ours."""
    if path.suffix not in SUFFIXES:
        raise UsageError(f"{path}: the board is written as .html or .md, such as board.html.")
    return path


def write_board(board: Board, path: str | Path) -> Path:
    """Write the page to a file that ends in .html or .md, whole or not at all, and return its path.

    Every row opens the report beside its card, where there is one.
    """
    path = check_board_path(Path(path))
    links = [_link(row, path) for row in board.rows]
    text = board_markdown(board, links) if path.suffix == ".md" else board_html(board, links)
    write_text(path, text, errors="replace")
    return path


def write_badges(board: Board, folder: str | Path) -> list[Path]:
    """Write a badge per dataset to a folder, as SVG files named like the datasets, and return their paths.

    Further datasets whose names make the same file name have a number behind it.
    """
    paths: list[Path] = []
    used: set[str] = set()
    for row in board.rows:
        name = re.sub(r"[^\w.-]+", "-", row.name).strip("-.")[:100] or "dataset"
        numbered = (f"{name}-{i}" if i > 1 else name for i in count(1))
        free = next(one for one in numbered if one.lower() not in used)  # some disks do not tell cases apart
        used.add(free.lower())
        paths.append(Path(folder) / f"{free}.svg")
        write_text(paths[-1], severity_badge(row.severities, row.tested))
    return paths


def board_html(board: Board, links: Sequence[str]) -> str:
    """Return the board as one HTML file; a row opens its report where it has a link."""
    return (
        environment()
        .get_template("board.html.j2")
        .render(
            title="Board of datasets",
            board=board,
            rows=list(zip(board.rows, links, strict=True)),
            lead=lead_text(board),
            worst=worst_dataset(board),
            how_to_read=HOW_TO_READ,
            tasks=TASKS,
            number_text=number_text,
            interval_text=interval_text,
            source_text=source_text,
            shortcut_text=shortcut_text,
            chance_text=chance_text,
            worst_text=worst_text,
            numbers=wording,
            show=display_text,
            say=sentence,
            **inlined_parts({}),
        )
    )


def board_markdown(board: Board, links: Sequence[str]) -> str:
    """Return the board as Markdown: one table, numbers only."""
    titles = [
        "Dataset",
        "Task",
        "Examples",
        "Given away",
        "Best shortcut",
        *(c.title for c in board.columns),
        "Findings",
    ]
    lines = [f"{lead_text(board)} {worst_dataset(board)}".strip(), "", "| " + " | ".join(titles) + " |"]
    lines.append("|---|---|" + "---:|" * 2 + "---|" + "---:|" * len(board.columns) + "---|")
    for row, link in zip(board.rows, links, strict=True):
        name = escape(display_text(row.name, 60))
        cells = []
        for column in board.columns:
            cell = row.cells[column.name]
            parts = [
                number_text(cell),
                interval_text(cell) and f"({interval_text(cell)})",
                source_text(column, cell),
            ]
            cells.append(escape(" ".join(part for part in parts if part)))
        fields = [
            f"[{name}]({link})" if link else name,
            TASKS[row.task],
            wording.count(row.examples),
            wording.percent(row.given_away),
            escape(shortcut_text(row)),
            *cells,
            worst_text(row)[1],
        ]
        lines.append("| " + " | ".join(fields) + " |")
    return "\n".join([*lines, "", HOW_TO_READ, ""])


def _link(row: BoardRow, page: Path) -> str:
    """Return the address of the report of a row, relative to the page, or nothing where there is no report."""
    report = Path(row.card).parent / REPORT_FILE
    if not row.card or not report.is_file():
        return ""
    return quote(Path(os.path.relpath(report, page.parent)).as_posix())
