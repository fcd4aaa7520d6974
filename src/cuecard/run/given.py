"""What a caller of Python gives as data: a dataset, a table with its columns named, or texts and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.data import ReadOptions, Source, Task
from cuecard.data.layout.columns import ColumnsArgument
from cuecard.data.loading import DatasetSpec
from cuecard.errors import UsageError
from cuecard.run.running import Data

#: One text or label per example.
Values = Sequence[Any]


def dataset_of(
    data: Data | None,
    labels: Values | Mapping[str, str | None] | str | None = None,
    *,
    test: Source | None = None,
    columns: ColumnsArgument | None = None,
    task: Task | None = None,
    premises: Values | None = None,
    hypotheses: Values | None = None,
) -> tuple[Data, Source | None]:
    """Return the data, and the test split that is to be read with it; texts and labels become a table.

    Args:
        data: what `cuecard.audit` takes, or a sequence of texts; None where `premises` and `hypotheses` are given.
        labels: one label per text; or what `cuecard.load` takes, where `data` is a file or a table.
        test: the test split.
        columns: which column plays which role, as `cuecard.load` takes it.
        task: what the rows are.
        premises: the first texts of pairs.
        hypotheses: their second texts.
    """
    pairs = {"premises": premises, "hypotheses": hypotheses}
    given = [name for name, values in pairs.items() if values is not None]
    if given:
        if len(given) < 2 or data is not None or not _is_values(labels):
            raise UsageError("Pairs are given as premises, hypotheses and labels, without data.")
        data = _table(
            premise=("premises", premises), hypothesis=("hypotheses", hypotheses), label=("labels", labels)
        )
    elif data is None:
        raise UsageError(
            "There is no data: give a file, a table, texts with labels, or premises, hypotheses and labels."
        )
    elif _is_values(labels):
        texts: Any = data
        if not _is_values(texts) or not all(isinstance(text, str) for text in texts[:100]):
            raise UsageError(
                "A sequence of labels needs a sequence of texts; a table needs the name of its column."
            )
        data = _table(text=("data", texts), label=("labels", labels))
    else:
        if columns is None and labels is None and task is None:
            return data, test
        if callable(data) or hasattr(data, "derived"):
            raise UsageError("The dataset is loaded already: give columns, labels and task to cuecard.load.")
        options = ReadOptions(task=task, columns=columns, labels=labels)  # type: ignore[arg-type]
        return DatasetSpec(data, test, options=options), None
    if columns or task:
        raise UsageError("Texts and labels have no columns: leave out columns and task.")
    return DatasetSpec(data, test), None


def _is_values(values: Any) -> bool:
    """Return whether something is a sequence of values: a list, a series or an array of one dimension."""
    if isinstance(values, str | bytes | Path | Mapping) or values is None or hasattr(values, "columns"):
        return False
    if (
        getattr(values, "ndim", 1) != 1
        or not hasattr(values, "__len__")
        or not hasattr(values, "__getitem__")
    ):
        return False
    return not (isinstance(values, list | tuple) and values and isinstance(values[0], Mapping))


def _table(**columns: tuple[str, Any]) -> pl.DataFrame:
    """Return a table of the sequences that arguments hold, or raise if they have not as many values each."""
    sizes = {name: len(values) for name, values in columns.values()}
    if len(set(sizes.values())) > 1:
        counts = ", ".join(f"{name} has {size:,}" for name, size in sizes.items())
        raise UsageError(f"There must be one value per example: {counts}.")
    return pl.DataFrame({role: list(values) for role, (_, values) in columns.items()}, strict=False)
