"""Datasets that are read as if they did not fit in memory."""

from __future__ import annotations

from typing import Any

from cuecard.data import DatasetSpec, Instances, ReadOptions
from cuecard.data.space import temporary_space


def mapped(train: Any, *, rows: int = 100, test: Any = None, **options: Any) -> Instances:
    """Return a dataset that is mapped from disk, with chunks of some rows."""
    return DatasetSpec(train, test, options=ReadOptions(**options))(temporary_space(rows))
