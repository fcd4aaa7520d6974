"""The words of a board: numbers with their confidence intervals, and the sentence above them."""

from __future__ import annotations

from cuecard import wording
from cuecard.card.board import Board, BoardColumn, BoardRow, Cell
from cuecard.wording import display_text

#: What each task is called on the board.
TASKS = {"pair": "pairs", "choice": "multiple choice", "preference": "preferences", "text": "texts"}


def number_text(cell: Cell | None) -> str:
    """Return the number of a cell as people read its unit."""
    return wording.MISSING if cell is None else wording.in_unit(cell.value, cell.unit)


def interval_text(cell: Cell | None) -> str:
    """Return the confidence interval of a cell, empty where there is none."""
    if cell is None or cell.low is None or cell.high is None:
        return ""
    return f"{wording.in_unit(cell.low, cell.unit)} to {wording.in_unit(cell.high, cell.unit)}"


def source_text(column: BoardColumn, cell: Cell | None) -> str:
    """Return which measure a cell shows, where its column chooses from several."""
    several = any("*" in pattern for pattern in column.measures)
    if cell is None or not several:
        return ""
    return display_text(cell.label.partition(" above chance")[0].removesuffix(" accuracy"), 80)


def shortcut_text(row: BoardRow) -> str:
    """Return the best shortcut of a dataset, its accuracy and what chance has."""
    if row.shortcut is None:
        return "none beyond noise"
    label = display_text(row.shortcut.label.removesuffix(" accuracy"), 40)
    return f"{label} {number_text(row.shortcut)} (chance {chance_text(row)})"


def chance_text(row: BoardRow) -> str:
    """Return the chance level of a dataset's best shortcut, in its unit."""
    return wording.MISSING if row.shortcut is None else wording.in_unit(row.chance, row.shortcut.unit)


def worst_text(row: BoardRow) -> tuple[str, str]:
    """Return the worst severity of the findings of a dataset, and how many have it."""
    for severity in ("high", "medium", "low"):
        if n := row.severities.get(severity, 0):
            return severity, f"{wording.count(n)} {severity}"
    return "none", "none"


def lead_text(board: Board) -> str:
    """Return what the board says in one sentence."""
    leaking = sum(row.given_away > 0 for row in board.rows)
    if not leaking:
        return "No shortcut beats chance beyond noise on these datasets."
    datasets = wording.plural(len(board.rows), "dataset")
    return f"The labels of {leaking} of {datasets} can be predicted from part of the input."


def worst_dataset(board: Board) -> str:
    """Return which dataset gives most away, and by what; empty where none does."""
    worst = max(board.rows, key=lambda row: row.given_away)
    if worst.given_away <= 0:
        return ""
    return f"{display_text(worst.name, 60)} gives most away: {shortcut_text(worst)}."


HOW_TO_READ = (
    "Given away: how much of the distance from chance to 100 % the best shortcut covers, at the lower end of its 95 % "
    "CI. For an AUC, shown where it is more serious than any accuracy, it is the distance from chance to 1. Partial "
    "input, blind rules, slices and the pair graph are in points above chance. What a learned shortcut reaches is a "
    "lower bound: a stronger model may find more."
)
