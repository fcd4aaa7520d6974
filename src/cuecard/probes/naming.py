"""How probes speak of cues and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cuecard.data import Task
from cuecard.stats import log_q_values

LN10 = float(np.log(10.0))


def whose_choice(task: Task, label: str) -> str:
    """Return what it means for the choices with a cue to have a label: “right choice has the cue”."""
    key = "chosen answer" if task == "preference" else "right choice"
    return f"{key} has the cue" if label in ("right", "chosen") else f"{key} does not have the cue"


def q_of(log10_p: Any) -> Any:
    """Return the q-values of base-10 logs of p-values tested together; nan where there was no test."""
    return np.exp(log_q_values(np.asarray(log10_p, dtype=np.float64) * LN10))


def for_model(names: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return the cues' names beside the name of a model."""
    return names.select(pl.lit(model).alias("model"), pl.all())
