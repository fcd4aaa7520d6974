"""What a row becomes before it has a label: a premise, and one text or several that compete."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from cuecard.data.texts import Problem


@dataclass(frozen=True, eq=False)
class Parts:
    """Premise and hypothesis (a text, or a list of texts) of every row, and the right one of a list.

    `beside` are columns about each text of a list, such as the model that wrote it: lists as long as those.
    """

    premise: pl.Series
    hypothesis: pl.Series
    right: np.ndarray[tuple[int], np.dtype[np.int64]] | None = None
    problems: tuple[Problem, ...] = ()
    beside: Mapping[str, pl.Series] = field(default_factory=dict)
