"""The board in the terminal."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cuecard import wording
from cuecard.card.board import Board
from cuecard.report.board.cells import lead_text, number_text, shortcut_text, worst_dataset
from cuecard.wording import display_text


def render_board(board: Board, console: Console) -> None:
    """Print the ranking: what each dataset gives away, by what, and the other columns where there is room."""
    console.print(Text(lead_text(board), style="bold"))
    if worst := worst_dataset(board):
        console.print(Text(worst))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for title in ("Dataset", "Given away", "Best shortcut"):
        table.add_column(title, justify="right" if title == "Given away" else "left", overflow="fold")
    columns = board.columns if console.width >= 120 else ()
    for column in columns:
        table.add_column(column.title, justify="right")
    for row in board.rows:
        table.add_row(
            Text(display_text(row.name, 40)),
            wording.percent(row.given_away),
            Text(shortcut_text(row)),
            *(number_text(row.cells[column.name]) for column in columns),
        )
    console.print(table)
