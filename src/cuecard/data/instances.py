"""One table for every task: an instance is (premise, hypothesis, label)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.fingerprint import fingerprint
from cuecard.data.units import UNIT_SCOPES, UnitScope, column_units, example_units, text_units
from cuecard.errors import UsageError
from cuecard.registry import unknown_name

Task = Literal["pair", "choice", "preference", "text"]
TASKS: tuple[Task, ...] = get_args(Task)

#: Columns every table of instances has; all others are the user's own (genre, annotator, …).
COLUMNS = ("example_id", "position", "split", "premise", "hypothesis", "label")

#: Tasks whose examples have several instances, of which the model picks one.
GROUPED_TASKS: frozenset[Task] = frozenset({"choice", "preference"})


@dataclass(frozen=True)
class LoadReport:
    """What reading the files decided and left out, for the user to see."""

    files: tuple[str, ...] = ()
    recognised: Mapping[str, str] = field(default_factory=dict)  # role -> the user's column
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> rows left out
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Instances:
    """A labelled dataset as a table of (premise, hypothesis, label), whatever the task was.

    The rows of an example (the choices of a question, the two answers of a preference) stand together, in the
    order of their `position`; train rows stand before test rows. `label` is a polars Enum over `labels`.
    """

    table: pl.DataFrame
    task: Task
    labels: tuple[str, ...]
    name: str = "data"
    report: LoadReport = field(default_factory=LoadReport)
    cluster: str | None = (
        None  # column whose values are the units of independence; copies of texts by default
    )

    def __post_init__(self) -> None:
        missing = [c for c in COLUMNS if c not in self.table.columns]
        if missing:
            raise UsageError(f"A table of instances needs the columns {', '.join(missing)}.")

    def __len__(self) -> int:
        return self.table.height

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {self.split(name).n_examples:,}" for name in self.splits)
        return f"Instances({self.name!r}, task={self.task!r}, labels={list(self.labels)}, examples: {sizes})"

    @property
    def grouped(self) -> bool:
        """Whether an example has several instances, so that chance and folds are per example."""
        return self.task in GROUPED_TASKS

    @cached_property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits that have rows, train first."""
        return tuple(self.table["split"].unique(maintain_order=True).cast(pl.String).to_list())

    def split(self, name: str) -> Instances:
        """Return the instances of one split."""
        if self.splits == (name,):
            return self
        rows = self.table["split"].cast(pl.String) == name
        part = replace(self, table=self.table.filter(rows))
        # Units are found once, over all splits: a part reads those of the whole.
        part.__dict__["_whole"] = (self, rows.arg_true().to_numpy())
        return part

    @cached_property
    def train(self) -> Instances:
        """The instances that cues are counted on."""
        return self.split("train")

    @cached_property
    def test(self) -> Instances | None:
        """The instances that cues are confirmed on, if there are any."""
        return self.split("test") if "test" in self.splits else None

    @cached_property
    def label_codes(self) -> npt.NDArray[np.int32]:
        """Index into `labels` for every row."""
        codes = self.table["label"].to_physical().cast(pl.Int32).to_numpy()
        return np.ascontiguousarray(codes)

    @cached_property
    def example_codes(self) -> npt.NDArray[np.int64]:
        """A number for every row that rows of the same example share, 0, 1, 2, … in order."""
        if not self.grouped:
            return np.arange(len(self), dtype=np.int64)
        if len(self) == 0:
            return np.empty(0, dtype=np.int64)
        starts = self.table.select(
            (
                (pl.col("example_id") != pl.col("example_id").shift(1))
                | (pl.col("split") != pl.col("split").shift(1))
            ).fill_null(True)
        ).to_series()
        codes: npt.NDArray[np.int64] = np.cumsum(starts.to_numpy()).astype(np.int64) - 1
        return codes

    @cached_property
    def first_rows(self) -> npt.NDArray[np.int64]:
        """The first row of every example, and the number of rows at the end."""
        return first_rows(self.example_codes)

    @property
    def n_examples(self) -> int:
        """How many examples (questions, pairs, prompts) there are."""
        return int(self.example_codes[-1]) + 1 if len(self) else 0

    def units(self, scope: UnitScope = "hypothesis") -> npt.NDArray[np.int64]:
        """Return a number for every row that rows share which are one observation, found once and kept.

        The unit of a feature of the hypothesis (or premise) is the copies and near copies of that text; `choices` are
        examples with the same hypotheses, `example` those with the same premise too. Where `cluster` names a column,
        its values are the units of every scope. Numbers of a split are those of the whole dataset, with gaps.
        """
        if scope not in UNIT_SCOPES:
            raise unknown_name("scope of units", scope, list(UNIT_SCOPES))
        kept: dict[str, npt.NDArray[np.int64]] = self.__dict__.setdefault("_units", {})
        if scope not in kept:
            whole = self.__dict__.get("_whole")
            kept[scope] = self._find_units(scope) if whole is None else whole[0].units(scope)[whole[1]]
            kept[scope].flags.writeable = False
        return kept[scope]

    def _find_units(self, scope: UnitScope) -> npt.NDArray[np.int64]:
        if self.cluster is not None:
            return column_units(self.table, self.cluster)
        if scope == "hypothesis" or scope == "premise":
            return text_units(self.table, scope)
        premise = self.units("premise") if scope == "example" else None
        return example_units(self.example_codes, self.units("hypothesis"), premise)

    def clustered_by(self, column: str | None) -> Instances:
        """Return the same instances with a column's values as units of independence."""
        if column is not None:
            column_units(self.table, column)  # raises where it cannot be used
        return replace(self, cluster=column)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of the content: the same texts, labels and splits in the same order give the same one.

        Neither ids nor extra columns are part of it.
        """
        return fingerprint(self.table, task=self.task, examples=self.example_codes)

    def with_columns(self, **columns: Any) -> Instances:
        """Return the same instances with extra columns added or replaced."""
        return replace(self, table=self.table.with_columns(**columns))


def first_rows(codes: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return where each run of rows of one code begins, and the number of rows at the end.

    >>> first_rows([0, 0, 1, 2, 2, 2])
    array([0, 2, 3, 6])
    """
    each = np.asarray(codes)
    changes = np.flatnonzero(each[1:] != each[:-1]) + 1
    return np.unique(np.concatenate([[0], changes, [len(each)]])).astype(np.int64)
