"""Anything on disk becomes `Instances`."""

from cuecard.data.instances import COLUMNS, GROUPED_TASKS, TASKS, Instances, LoadReport, Task

__all__ = ["COLUMNS", "GROUPED_TASKS", "TASKS", "Instances", "LoadReport", "Task"]
