"""Anything on disk becomes `Instances`."""

from cuecard.data.columns import parse_columns, parse_labels
from cuecard.data.instances import COLUMNS, GROUPED_TASKS, TASKS, Instances, LoadReport, Task
from cuecard.data.loading import load

__all__ = [
    "COLUMNS",
    "GROUPED_TASKS",
    "TASKS",
    "Instances",
    "LoadReport",
    "Task",
    "load",
    "parse_columns",
    "parse_labels",
]
