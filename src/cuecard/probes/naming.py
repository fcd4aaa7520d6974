"""How probes speak of cues and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cuecard.stats import log_q_values

LN10 = float(np.log(10.0))


def cue_phrase(feature: str) -> str:
    """Return a cue as a sentence names it: “sleeping”, “only words of the premise”."""
    return f"“{feature}”"


def q_of(log10_p: Any) -> Any:
    """Return the q-values of base-10 logs of p-values tested together; nan where there was no test."""
    return np.exp(log_q_values(np.asarray(log10_p, dtype=np.float64) * LN10))


def for_model(names: pl.DataFrame, model: str) -> pl.DataFrame:
    """Return the cues' names beside the name of a model."""
    return names.select(pl.lit(model).alias("model"), pl.all())
