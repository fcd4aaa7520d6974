"""How a dataset is to be read: declared once, whoever asks and however large it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from cuecard.data.instances import Task
from cuecard.data.layout.columns import ColumnsArgument, parse_labels
from cuecard.data.layout.label_lists import Membership, parse_membership
from cuecard.data.layout.labels import Threshold, parse_threshold
from cuecard.data.layout.preferences import (
    ranked_responses,
    with_gathered_negatives,
)
from cuecard.data.presets import Preset
from cuecard.data.reading.files import OnError
from cuecard.data.reading.raw import RawTable
from cuecard.errors import UsageError
from cuecard.limits import check_seed

#: Share of a split's rows that may be skipped; more of them are a misread file, not a few bad rows.
MAX_SKIPPED = 0.05


@dataclass(frozen=True)
class ReadOptions:
    """How to read the rows of a dataset; `cuecard.load` says what each option means."""

    task: Task | None = None
    columns: ColumnsArgument | None = None
    labels: Mapping[str, str | None] | Threshold | Membership | str | None = None
    label_file: str | Path | Sequence[str | Path] | None = None
    header: str | None = None
    keep_unlabelled: bool = False
    holdout: float | None = None
    seed: int = 0
    on_error: OnError = "stop"
    max_skipped: float = MAX_SKIPPED
    name: str | None = None
    limit: int | None = None
    cluster: str | None = None
    preset: Preset | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before any data is read."""
        check_seed(self.seed)
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit must be at least 1 row, not {self.limit}.")
        if self.on_error not in get_args(OnError):
            raise UsageError(f"on_error is 'stop' or 'skip', not {self.on_error!r}.")
        if self.labels is None and self.preset is not None and self.preset.condition:
            object.__setattr__(self, "labels", self.preset.condition)
        if isinstance(self.labels, str):
            cut = parse_threshold(self.labels) or parse_membership(self.labels)
            object.__setattr__(self, "labels", cut or parse_labels(self.labels))
        if isinstance(self.labels, Threshold | Membership):
            if self.columns and self.columns.get("label", self.labels.label) != self.labels.label:
                raise UsageError(
                    f"--labels {self.labels.label} and --columns label=… both define the labels: leave one of them out."
                )
            object.__setattr__(self, "columns", {**(self.columns or {}), "label": self.labels.label})

    @property
    def threshold(self) -> Threshold | Membership | None:
        """Where a column of numbers is cut into two classes, or which of several labels is compared with the rest."""
        return self.labels if isinstance(self.labels, Threshold | Membership) else None

    @property
    def label_names(self) -> Mapping[str, str | None] | None:
        """Names for the values of the label column."""
        return self.labels if isinstance(self.labels, Mapping) else None

    def cut(self, raw: RawTable) -> RawTable:
        """Return a table with the labels that a threshold makes, and scored responses as chosen and rejected."""
        if self.threshold is not None:
            return self.threshold.applied(raw)
        raw = with_gathered_negatives(raw)
        return ranked_responses(raw) if self._may_rank else raw

    @property
    def _may_rank(self) -> bool:
        free = self.task in (None, "preference") and self.preset is None and self.labels is None
        return free and not set(self.columns or ()) - {"id"}
