"""The board of datasets: in the terminal, as a page that opens offline, and as Markdown."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from urllib.parse import quote

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.card.board import Board, BoardColumn, BoardRow, Cell
from cuecard.card.by_what import CARRIES_MOST, GIVES_AWAY
from cuecard.card.files import REPORT_FILE
from cuecard.errors import UsageError
from cuecard.report.exports import severity_badge
from cuecard.report.html.page import environment, inlined_parts, sentence
from cuecard.report.markdown import escape
from cuecard.wording import display_text
from cuecard.writing import write_text

#: The lists of features as columns of the board, and how many of each are shown.
LISTS = {CARRIES_MOST: "Carries most", GIVES_AWAY: "Gives away most"}
FEATURES_SHOWN = 3
#: What each task is called on the board.
TASKS = {
    "pair": "pairs",
    "choice": "multiple choice",
    "preference": "preferences",
    "text": "texts",
    "open": "open answers",
}


def number_text(cell: Cell | None) -> str:
    """Return the number of a cell as people read its unit."""
    return wording.MISSING if cell is None else wording.in_unit(cell.value, cell.unit)


def interval_text(cell: Cell | None) -> str:
    """Return the confidence interval of a cell, empty where there is none."""
    return "" if cell is None else wording.interval_in_unit(cell.low, cell.high, cell.unit)


def source_text(column: BoardColumn, cell: Cell | None) -> str:
    """Return which measure a cell shows, where its column chooses from several."""
    several = any("*" in pattern for pattern in column.measures)
    if cell is None or not several:
        return ""
    return display_text(cell.label.partition(" above chance")[0].removesuffix(" accuracy"), 80)


def shortcut_text(row: BoardRow) -> str:
    """Return the best shortcut of a dataset, its accuracy and what chance has."""
    if row.shortcut is None:
        return "not tested" if row.given_away is None else "none beyond noise"
    label = display_text(row.shortcut.label.removesuffix(" accuracy"), 40)
    return f"{label} {number_text(row.shortcut)} (chance {chance_text(row)})"


def chance_text(row: BoardRow) -> str:
    """Return the chance level of a dataset's best shortcut, in its unit."""
    return wording.MISSING if row.shortcut is None else wording.in_unit(row.chance, row.shortcut.unit)


def features_text(row: BoardRow, question: str) -> str:
    """Return the first features of one of a dataset's lists (see `by_what`)."""
    return display_text(", ".join(row.by_what.get(question, ())[:FEATURES_SHOWN]), 160) or wording.MISSING


def worst_text(row: BoardRow) -> tuple[str, str]:
    """Return the worst severity of the findings of a dataset, and how many have it."""
    for severity in ("high", "medium", "low"):
        if n := row.severities.get(severity, 0):
            return severity, f"{wording.count(n)} {severity}"
    return "none", "none"


def lead_text(board: Board) -> str:
    """Return what the board says in one sentence."""
    tested = [row.given_away for row in board.rows if row.given_away is not None]
    untested = len(board.rows) - len(tested)
    rest = f" {wording.plural(untested, 'dataset was', 'datasets were')} not tested." if untested else ""
    if not tested:
        return "No dataset was tested for shortcuts: add partial input to the audits."
    leaking = sum(share > 0 for share in tested)
    if not leaking:
        return f"No shortcut beats chance beyond noise on these datasets.{rest}"
    datasets = wording.plural(len(tested), "dataset")
    kinds = {row.task == "open" for row in board.rows}
    what = "labels" if kinds == {False} else "answers" if kinds == {True} else "labels or answers"
    return f"The {what} of {leaking} of {datasets} can be predicted from part of the input.{rest}"


def worst_dataset(board: Board) -> str:
    """Return which dataset gives most away, and by what; empty where none does."""
    worst = max(board.rows, key=lambda row: row.given_away or 0.0)
    if not worst.given_away:
        return ""
    return f"{display_text(worst.name, 60)} gives most away: {shortcut_text(worst)}."


HOW_TO_READ = (
    "Given away: how much of the distance from chance to 100 % the best shortcut covers, at the lower end of its 95 % "
    "CI. For an AUC, shown where it is more serious than any accuracy, it is the distance from chance to 1. Partial "
    "input, blind rules, slices and the pair graph are in points above chance. What a learned shortcut reaches is a "
    "lower bound: a stronger model may find more."
)


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
            lists={} if not any(row.by_what for row in board.rows) else LISTS,
            features_text=features_text,
            numbers=wording,
            show=display_text,
            say=sentence,
            **inlined_parts({}),
        )
    )


def board_markdown(board: Board, links: Sequence[str]) -> str:
    """Return the board as Markdown: one table, numbers only."""
    listing = any(row.by_what for row in board.rows)
    titles = [
        "Dataset",
        "Task",
        "Examples",
        "Given away",
        "Best shortcut",
        *(LISTS.values() if listing else ()),
        *(c.title for c in board.columns),
        "Findings",
    ]
    lines = [f"{lead_text(board)} {worst_dataset(board)}".strip(), "", "| " + " | ".join(titles) + " |"]
    lines.append(
        "|---|---|"
        + "---:|" * 2
        + "---|" * (1 + len(LISTS) * listing)
        + "---:|" * len(board.columns)
        + "---|"
    )
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
            *(escape(features_text(row, question)) for question in LISTS if listing),
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


def render_board(board: Board, console: Console) -> None:
    """Print the ranking: what each dataset gives away, by what, and the other columns where there is room."""
    console.print(Text(lead_text(board), style="bold"))
    if worst := worst_dataset(board):
        console.print(Text(worst))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("Dataset", "Given away", "Best shortcut"):
        table.add_column(title, justify="right" if title == "Given away" else "left", overflow="fold")
    columns = board.columns if console.width >= 120 else ()
    lists = LISTS if columns and any(row.by_what for row in board.rows) else {}
    for title in lists.values():
        table.add_column(title, overflow="fold")
    for column in columns:
        table.add_column(column.title, justify="right")
    for row in board.rows:
        table.add_row(
            Text(display_text(row.name, 40)),
            wording.percent(row.given_away),
            Text(shortcut_text(row)),
            *(Text(features_text(row, question)) for question in lists),
            *(number_text(row.cells[column.name]) for column in columns),
        )
    console.print(table)
