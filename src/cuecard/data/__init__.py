"""Anything on disk becomes `Instances`."""

from cuecard.data.examples import Examples
from cuecard.data.files.sources import Source
from cuecard.data.instances import COLUMNS, GROUPED_TASKS, TASKS, Instances, LoadReport, Task
from cuecard.data.layout.columns import parse_columns, parse_labels
from cuecard.data.loading import load, loaded
from cuecard.data.presets import Preset, get_preset, list_presets
from cuecard.data.scanning import Scan, scan

__all__ = [
    "COLUMNS",
    "GROUPED_TASKS",
    "TASKS",
    "Examples",
    "Instances",
    "LoadReport",
    "Preset",
    "Scan",
    "Source",
    "Task",
    "get_preset",
    "list_presets",
    "load",
    "loaded",
    "parse_columns",
    "parse_labels",
    "scan",
]
