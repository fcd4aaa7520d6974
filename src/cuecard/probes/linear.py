"""Predictions of the project's linear learner, trained on the train split."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from cuecard.audits.guessing import Examples
from cuecard.audits.input_conditions import conditions
from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models import LinearModel
from cuecard.probes.examples import Floats, check_test
from cuecard.probes.predictions import Predictions
from cuecard.registry import unknown_name
from cuecard.text import encode

#: Name → the names of the input that the learner may look at, by task.
LINEAR_MODELS = {
    "linear": ("full",),
    "linear-hypothesis": ("hypothesis_only", "choices_only"),
    "linear-premise": ("premise_only",),
}


def linear_predictions(
    data: Instances, name: str, *, strength: float = 1.0, tokens: str | None = None, seed: int = 0
) -> Predictions:
    """Return what a linear model on word n-grams, trained on train, predicts for test.

    Args:
        data: what `cuecard.load` returned, with a test split.
        name: "linear" (full input), "linear-hypothesis" (choices only, for multiple choice) or "linear-premise".
        strength: inverse of the penalty.
        tokens: tokenisation; what suits the language by default.
        seed: order in which the learner visits examples.
    """
    if name not in LINEAR_MODELS:
        raise unknown_name("model", name, list(LINEAR_MODELS))
    asked = check_test(data)
    both = data if set(data.splits) <= {"train", "test"} else _train_and_test(data)
    examples = Examples(both)
    found = {c.name: c.matrix for c in conditions(encode(both, tokens=tokens), examples)}
    matrix = next((found[part] for part in LINEAR_MODELS[name] if part in found), None)
    if matrix is None:
        raise UsageError(f"{data.task} data has no such part of the input as the model {name!r} looks at.")
    learn, guess = (np.flatnonzero(examples.in_split(split)) for split in ("train", "test"))
    model = LinearModel(strength=strength, seed=seed)
    if not both.grouped:
        model.fit(matrix[learn], examples.gold[learn])
        known = model.predict_proba(matrix[guess])
        probabilities = np.pad(known, ((0, 0), (0, len(both.labels) - known.shape[1])))
        return Predictions(name, np.argmax(probabilities, axis=1), probabilities, "trained on train")
    rows = examples.rows(learn)
    right = (both.label_codes[rows] == 0).astype(np.int64)
    model.fit(matrix[rows], right, groups=np.repeat(np.arange(len(learn)), examples.options[learn]))
    sizes = asked.sizes
    chances = model.predict_proba(
        matrix[examples.rows(guess)], groups=np.repeat(np.arange(len(guess)), sizes)
    )
    probabilities = _padded(chances, sizes)
    return Predictions(name, np.argmax(probabilities, axis=1), probabilities, "trained on train")


def _padded(chances: Floats, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """Return one row per example, 0 for choices it does not have."""
    matrix = np.zeros((len(sizes), int(sizes.max())))
    matrix[np.arange(matrix.shape[1])[None, :] < sizes[:, None]] = chances
    return matrix


def _train_and_test(data: Instances) -> Instances:
    kept = data.table.filter(pl.col("split").cast(pl.String).is_in(["train", "test"]))
    return replace(data, table=kept)
