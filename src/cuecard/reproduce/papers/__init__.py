"""The papers' tables and figures, regenerated from a folder of data and set beside the printed numbers."""

from cuecard.reproduce.papers.judging import Outcome, Reading, Reproduction
from cuecard.reproduce.papers.page import reproduction_markdown, write_reproductions
from cuecard.reproduce.papers.running import reproduce_paper
from cuecard.reproduce.papers.specification import PAPERS, Item, Paper, read_paper

__all__ = [
    "PAPERS",
    "Item",
    "Outcome",
    "Paper",
    "Reading",
    "Reproduction",
    "read_paper",
    "reproduce_paper",
    "reproduction_markdown",
    "write_reproductions",
]
