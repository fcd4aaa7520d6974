"""The last layer of a trained model, fitted again: on balanced groups, or without the directions of cues."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from cuecard.data import Examples, Instances
from cuecard.errors import UsageError
from cuecard.models.text_model import TextModel
from cuecard.stats.arrays import Floats, Ints
from cuecard.stats.erasure import Eraser, leace


def refit_last_layer(model: TextModel, data: Instances, groups: Ints, *, strength: float = 1.0) -> None:
    """Fit the last layer on examples in which every group counts the same (Kirichenko et al. 2023).

    The model keeps its features; `strength` is scikit-learn's C.
    """
    sizes = np.bincount(groups)
    weights = len(groups) / (np.count_nonzero(sizes) * np.maximum(sizes, 1)[groups])
    set_last_layer(model, *_fitted(model, model.embed(data), data, weights, strength))


def erase_cues(model: TextModel, train: Instances, expert: Floats, *, strength: float = 1.0) -> None:
    """Take out of the features which answer the cues point to, and fit the last layer on what is left.

    The eraser is affine, so it is folded into the last layer: predictions are those of erased features.
    """
    features = model.embed(train)
    _check_labels(train)
    eraser = leace(features, np.eye(expert.shape[1])[expert.argmax(axis=1)])
    eraser = Eraser(strength * eraser.projection, eraser.mean)
    weights, intercept = _fitted(model, eraser(features), train, np.ones(len(features)), 1.0)
    set_last_layer(model, *eraser.folded(weights, intercept))


def _fitted(
    model: TextModel, features: Floats, data: Instances, weights: Floats, strength: float
) -> tuple[Floats, Floats]:
    """Return weights (labels × dimensions) and intercept of a weighted multinomial regression on features."""
    _check_labels(data)
    gold = Examples(data, known_labels=tuple(model.labels_)).gold
    known = gold >= 0
    if len(np.unique(gold[known])) < len(model.labels_):
        raise UsageError(
            "Fitting the last layer again needs held-out examples of every label: give more with --dev."
        )
    centre, spread = features.mean(axis=0), features.std(axis=0) + 1e-12
    learner = LogisticRegression(C=strength, max_iter=1000)
    learner.fit((features[known] - centre) / spread, gold[known], sample_weight=weights[known])
    coefficients, intercept = learner.coef_, learner.intercept_
    if len(model.labels_) == 2:  # one margin, of the second label
        coefficients, intercept = (
            np.vstack([-coefficients, coefficients]) / 2,
            np.array([-1, 1]) * intercept / 2,
        )
    return np.ascontiguousarray(coefficients / spread), np.asarray(
        intercept - (coefficients / spread) @ centre
    )


def set_last_layer(model: Any, weights: Floats, intercept: Floats) -> None:
    """Give a model another last layer: weights are labels × dimensions."""
    if getattr(model, "module_", None) is not None:
        import torch

        last = model.module_.last
        with torch.no_grad():
            last.weight.copy_(torch.from_numpy(weights))
            last.bias.copy_(torch.from_numpy(intercept))
    elif hasattr(model, "output_"):
        model.output_, model.bias_ = weights.astype(np.float32), intercept.astype(np.float32)
    else:
        raise UsageError(
            f"The model {model.name!r} has no last layer that can be fitted again: choose fasttext, bilstm, "
            "siamese-lstm, esim or transformer."
        )


def _check_labels(data: Instances) -> None:
    if data.grouped:
        raise UsageError(
            f"Fitting the last layer again only applies to pairs and single texts; this dataset holds {data.task} data."
        )
