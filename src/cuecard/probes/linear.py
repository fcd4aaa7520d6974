"""Predictions of the project's linear learner, trained on the train split."""

from __future__ import annotations

import numpy as np

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models import Condition, LinearText
from cuecard.models.text_model import check_condition
from cuecard.probes.examples import Floats, check_test
from cuecard.probes.predictions import Predictions
from cuecard.registry import unknown_name

#: Name → the names of the input that the learner may look at, by task.
LINEAR_MODELS: dict[str, tuple[Condition, ...]] = {
    "linear": ("full",),
    "linear-hypothesis": ("hypothesis", "choices"),
    "linear-premise": ("premise",),
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
    condition = next((c for c in LINEAR_MODELS[name] if _applies(data, c)), None)
    if condition is None:
        raise UsageError(f"{data.task} data has no such part of the input as the model {name!r} looks at.")
    model = LinearText(strength=strength, tokens=tokens, seed=seed).fit(data.train, condition=condition)
    chances = model.predict_proba(asked.instances)
    if data.grouped:
        probabilities = _padded(chances, asked.sizes)
    else:
        probabilities = np.zeros((len(chances), len(data.labels)))
        probabilities[:, [data.labels.index(label) for label in model.labels_]] = chances
    return Predictions(name, np.argmax(probabilities, axis=1), probabilities, "trained on train")


def _applies(data: Instances, condition: Condition) -> bool:
    try:
        check_condition(data, condition)
    except UsageError:
        return False
    return True


def _padded(chances: Floats, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """Return one row per example, 0 for choices it does not have."""
    matrix = np.zeros((len(sizes), int(sizes.max())))
    matrix[np.arange(matrix.shape[1])[None, :] < sizes[:, None]] = chances
    return matrix
