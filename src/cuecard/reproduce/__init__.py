"""The papers' experiments as one command each, on any dataset."""

from cuecard.reproduce.frontier import FrontierExperiment
from cuecard.reproduce.selection import SelectionExperiment
from cuecard.reproduce.stubborn import StubbornExperiment

__all__ = ["FrontierExperiment", "SelectionExperiment", "StubbornExperiment"]
