"""Predictions of the project's linear learner, trained on the train split."""

from __future__ import annotations

import hashlib
import sys
from contextlib import suppress
from inspect import getsource

import numpy as np

from cuecard._version import __version__
from cuecard.audits.partial_input.baselines.conditions import conditions, rows_of
from cuecard.cache import cached_arrays
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import UsageError
from cuecard.models import LinearModel
from cuecard.models.linear import _kernels
from cuecard.models.linear.ngram_features import ngram_features
from cuecard.probes.examples import check_test
from cuecard.probes.predictions import Predictions
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Floats, Singles

#: Name → the names of the input that the learner may look at, by task.
LINEAR_MODELS = {
    "linear": ("full",),
    "linear-hypothesis": ("hypothesis_only", "choices_only"),
    "linear-premise": ("premise_only",),
}


def linear_predictions(
    data: Instances,
    name: str,
    *,
    strength: float = 1.0,
    tokens: str | None = None,
    seed: int = 0,
    cache: bool = True,
) -> Predictions:
    """Return what a linear model on word n-grams, trained on train, predicts for test.

    Args:
        data: what `cuecard.load` returned, with a test split.
        name: "linear" (full input), "linear-hypothesis" (choices only, for multiple choice) or "linear-premise".
        strength: inverse of the penalty.
        tokens: tokenisation; what suits the language by default.
        seed: order in which the learner visits examples.
        cache: whether predictions for the same data and options may come from the user's cache folder, and go there.
    """
    if name not in LINEAR_MODELS:
        raise unknown_name("model", name, list(LINEAR_MODELS))
    test = check_test(data)
    both = data.train_and_test

    def trained() -> Singles:
        # Kept with half the digits; rounded before it is used, too, so that a repeated run gives the same answers.
        return _trained(both, name, LinearModel(strength=strength, seed=seed), tokens).astype(np.float32)

    if cache:
        key = _key(both, name, strength, tokens, seed)
        probabilities = cached_arrays("predictions", key, [len(test)], lambda: [trained()])[0].astype(
            np.float64
        )
    else:
        probabilities = trained().astype(np.float64)
    restricted = name.removeprefix("linear").removeprefix("-")
    answers = np.argmax(probabilities, axis=1)
    return Predictions(name, answers, probabilities, "trained on the training set", partial_input=restricted)


def _trained(data: Instances, name: str, model: LinearModel, tokens: str | None) -> Floats:
    """Return the probabilities of a model trained on train for test, a column per possible answer."""
    examples = Examples(data)
    matrices = {c.name: c.matrix for c in conditions(rows_of(data, tokens=tokens), examples)}
    matrix = next((matrices[part] for part in LINEAR_MODELS[name] if part in matrices), None)
    if matrix is None:
        raise UsageError(f"The model {name!r} needs a part of the input that {data.task} data does not have.")
    learn, guess = (np.flatnonzero(examples.in_split(split)) for split in ("train", "test"))
    if not data.grouped:
        model.fit(matrix[learn], examples.gold[learn])
        probabilities = model.predict_proba(matrix[guess])
        return np.pad(probabilities, ((0, 0), (0, len(data.labels) - probabilities.shape[1])))
    rows = examples.rows(learn)
    right = (data.label_codes[rows] == 0).astype(np.int64)
    model.fit(matrix[rows], right, groups=np.repeat(np.arange(len(learn)), examples.options[learn]))
    sizes = examples.options[guess]
    chances = model.predict_proba(
        matrix[examples.rows(guess)], groups=np.repeat(np.arange(len(guess)), sizes)
    )
    return _padded(chances, sizes)


def _key(data: Instances, name: str, strength: float, tokens: str | None, seed: int) -> str:
    """Return a name for predictions that changes with the data, the options and the code that makes them."""
    digest = hashlib.blake2b(digest_size=16)
    parts = (__version__, data.fingerprint, data.labels, name, strength, tokens, seed)
    digest.update(repr(parts).encode())
    # Without its sources the package is known by its version only.
    with suppress(OSError):
        for part in (LinearModel, ngram_features, conditions):
            digest.update(getsource(sys.modules[part.__module__]).encode())
        digest.update(getsource(_kernels).encode())
    return digest.hexdigest()


def _padded(chances: Floats, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """Return one row per example, 0 for choices it does not have."""
    matrix = np.zeros((len(sizes), int(sizes.max())))
    matrix[np.arange(matrix.shape[1])[None, :] < sizes[:, None]] = chances
    return matrix
