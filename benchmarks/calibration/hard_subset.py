"""Which share of the examples is hard where nothing gives the label away: all of them should be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.calibration.units import random_words
from cuecard.audits import PartialInput
from cuecard.data import Task
from cuecard.remedies import stress_set


@dataclass(frozen=True)
class HardShare:
    """Share of hard examples by whether a solver's confidence was right on other examples, and by its answers."""

    cross_fitted: float
    by_answers: float


def hard_share(task: Task, seed: int, *, n: int = 300) -> HardShare:
    """Return the share of hard examples among random words with random labels."""
    data = random_words(task, n, seed=seed)
    solver = "hypothesis_only" if task == "pair" else "choices_only"
    result = PartialInput().run(data)
    examples = result.examples
    assert examples is not None
    parts = stress_set(data, examples, solvers=[solver]).examples["part"]
    solved = examples[f"solved_{solver}"].drop_nulls().cast(float).to_numpy()
    return HardShare(float(np.mean((parts == "hard").to_numpy())), float(np.mean(solved < 1)))
