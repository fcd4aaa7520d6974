"""The papers' experiments on any dataset, and their tables and figures set beside the printed numbers."""

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names

if TYPE_CHECKING:
    from cuecard_papers.experiment import experiment
    from cuecard_papers.frontier import FrontierExperiment
    from cuecard_papers.judging import Outcome, Reading, Reproduction
    from cuecard_papers.page import reproduction_markdown, write_reproductions
    from cuecard_papers.running import reproduce_paper
    from cuecard_papers.selection import SelectionExperiment
    from cuecard_papers.specification import PAPERS, Item, Paper, read_paper
    from cuecard_papers.stubborn import StubbornExperiment

__all__ = [
    "PAPERS",
    "FrontierExperiment",
    "Item",
    "Outcome",
    "Paper",
    "Reading",
    "Reproduction",
    "SelectionExperiment",
    "StubbornExperiment",
    "experiment",
    "read_paper",
    "reproduce_paper",
    "reproduction_markdown",
    "write_reproductions",
]

__getattr__ = lazy_names(__name__)
