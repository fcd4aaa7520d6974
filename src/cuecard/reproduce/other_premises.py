"""What a model answers with the premises of other examples: its own bias of the hypothesis, without a list of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.stats.arrays import Floats

#: Premises that every hypothesis is read with; with two, the mean is noisier, and corrections cost more.
DRAWS = 4


def with_other_premises(part: Instances, seed: int) -> Instances:
    """Return the examples, each with the premise of another one drawn at random; of questions, with another question.

    Every premise is used once.
    """
    if part.task == "text":
        raise UsageError("Other premises only apply to pairs and questions; this dataset holds single texts.")
    premises = part.table["premise"].gather(part.first_rows[:-1])
    circle = np.random.default_rng(seed).permutation(len(premises))
    source = np.empty(len(premises), np.int64)
    source[circle] = np.roll(circle, 1)  # the next one in a random circle: nobody keeps its own
    table = part.table.with_columns(premise=premises.gather(source[part.example_codes]))
    return replace(part, table=table)


def drawn_parts(parts: Sequence[Instances]) -> list[Instances]:
    """Return all parts with the premises of every draw, draw after draw."""
    return [with_other_premises(part, seed) for seed in range(DRAWS) for part in parts]


def own_bias(outputs: Sequence[Floats], parts: int) -> list[Floats]:
    """Return per part the log of the mean probabilities over the draws, less its mean over the first part (dev).

    `outputs` are those of `drawn_parts`. The mean of dev is taken out, so that dividing by it favours no answer as
    such: with another premise, entailment is rare.
    """
    logs = [np.log(np.maximum(np.mean(outputs[at::parts], axis=0), 1e-12)) for at in range(parts)]
    possible = np.isfinite(logs[0])
    level = np.where(possible, logs[0], 0.0).sum(axis=0) / np.maximum(possible.sum(axis=0), 1)
    return [values - level[: values.shape[1]] for values in logs]
