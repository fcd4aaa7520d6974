"""How every verb that takes a dataset reads it: the options as typed become the arguments of `load`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from cuecard.data import Instances, Task


def load_from_options(
    train: str,
    *,
    test: str | None = None,
    task: Task | None = None,
    columns: str | None = None,
    labels: str | None = None,
    holdout: float | None = None,
    keep_unlabelled: bool = False,
    on_error: Literal["stop", "skip"] = "stop",
    seed: int = 0,
) -> Instances:
    """Return the instances that the options of the command line describe."""
    from cuecard.data import load, parse_columns, parse_labels

    return load(
        train,
        test=test,
        task=task,
        columns=parse_columns(columns) if columns else None,
        labels=parse_labels(labels) if labels else None,
        holdout=holdout,
        keep_unlabelled=keep_unlabelled,
        on_error=on_error,
        seed=seed,
    )
