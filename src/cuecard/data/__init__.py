"""Anything on disk becomes `Instances`."""

from cuecard.data.examples import Examples
from cuecard.data.ingest import ReadOptions
from cuecard.data.instances import COLUMNS, GROUPED_TASKS, LABELLED_TASKS, TASKS, Instances, LoadReport, Task
from cuecard.data.layout.columns import parse_columns, parse_labels
from cuecard.data.loading import DatasetSpec, load, loaded
from cuecard.data.presets import Preset, get_preset, list_presets
from cuecard.data.reading.sources import Source

__all__ = [
    "COLUMNS",
    "GROUPED_TASKS",
    "LABELLED_TASKS",
    "TASKS",
    "DatasetSpec",
    "Examples",
    "Instances",
    "LoadReport",
    "Preset",
    "ReadOptions",
    "Source",
    "Task",
    "get_preset",
    "list_presets",
    "load",
    "loaded",
    "parse_columns",
    "parse_labels",
]
