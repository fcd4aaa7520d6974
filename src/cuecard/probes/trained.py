"""Predictions of models that are trained on the training set, or saved in a folder."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from inspect import getsource
from pathlib import Path

import numpy as np

from cuecard._version import __version__
from cuecard.audits.partial_input.rules import conditions, rows_of
from cuecard.cache import cached_arrays
from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import InputError, UsageError
from cuecard.models import MODELS, LinearModel
from cuecard.models.fitted import answer_probabilities, fitted
from cuecard.models.linear.ngram_features import hash_rows
from cuecard.models.recipe import Recipe, recipes
from cuecard.models.saved import DESCRIPTION, load_model
from cuecard.models.text_model import CONDITIONS, Condition, Watch
from cuecard.probes.examples import check_test
from cuecard.probes.predictions import Predictions
from cuecard.registry import unknown_name
from cuecard.stats import _native
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
        for part in (LinearModel, hash_rows, conditions):
            digest.update(getsource(sys.modules[part.__module__]).encode())
    digest.update(Path(_native.__file__).read_bytes())
    return digest.hexdigest()


def _padded(chances: Floats, sizes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    """Return one row per example, 0 for choices it does not have."""
    matrix = np.zeros((len(sizes), int(sizes.max())))
    matrix[np.arange(matrix.shape[1])[None, :] < sizes[:, None]] = chances
    return matrix


def trained_predictions(
    data: Instances,
    model: str | Recipe,
    *,
    tokens: str | None = None,
    seed: int = 0,
    watch: Watch | None = None,
    cache: bool = True,
) -> Predictions:
    """Return what a model predicts for test.

    Args:
        data: what `cuecard.load` returned, with a test split.
        model: a registered model ("fasttext"), one that reads less ("fasttext-hypothesis", "-premise", "-choices"),
            or a recipe of `asked_recipes`, which is trained on train; or a folder that `cuecard train` wrote.
        tokens: tokenisation, where the model has a parameter of that name and the recipe does not set it.
        seed: of the model, likewise.
        watch: called with the progress while it trains.
        cache: whether what was trained before may come from the user's cache folder, and this go there.
    """
    if isinstance(model, str) and is_saved_model(model):
        return saved_predictions(data, Path(model))
    recipe = asked_recipes([model])[0] if isinstance(model, str) else model
    recipe = recipe.with_defaults(tokens=tokens, seed=seed)
    if recipe.name in LINEAR_MODELS and recipe.options.keys() <= {"strength", "tokens", "seed"}:
        return linear_predictions(data, recipe.name, **recipe.options, cache=cache)
    test = check_test(data).instances
    [probabilities] = fitted(recipe, data.train, [test], watch=watch, cache=cache).probabilities
    restricted = "" if recipe.condition == "full" else recipe.condition
    return _predictions(recipe.name, probabilities, "trained on the training set", restricted)


def is_saved_model(name: str) -> bool:
    """Return whether this is a folder that a model was saved to."""
    return (Path(name) / DESCRIPTION).is_file()


def saved_predictions(data: Instances, folder: Path) -> Predictions:
    """Return what a model in a folder predicts for test; its labels must be those of the data."""
    test = check_test(data).instances
    model = load_model(folder)
    unknown = [label for label in test.labels if label not in model.labels_]
    if unknown and not test.grouped:
        raise InputError(
            f"The model in {folder} knows the labels {', '.join(model.labels_)}, and the data has {unknown[0]!r}: "
            "use the same names with --labels."
        )
    return _predictions(folder.name, answer_probabilities(model, test), str(folder))


def asked_recipes(names: Sequence[str], settings: Sequence[str] = ()) -> list[Recipe]:
    """Return the recipes of names such as "bilstm" or "bilstm-hypothesis": a registered name, and what it may read.

    A setting such as "epochs=3" goes to every model that has the parameter, "bilstm.epochs=3" to all of that model.
    """
    pairs = [_model_and_condition(name) for name in names]
    made = {recipe.model: recipe for recipe in recipes([model for model, _ in pairs], settings)}
    return [replace(made[model], condition=condition) for model, condition in pairs]


def _model_and_condition(name: str) -> tuple[str, Condition]:
    if name in MODELS.names():
        return name, "full"
    for condition in CONDITIONS[1:]:
        model = name.removesuffix(f"-{condition}")
        if model != name and model in MODELS.names():
            return model, condition
    suffixed = [f"{model}-{part}" for model in MODELS.names() for part in CONDITIONS[1:]]
    names_of_models = dict.fromkeys([*MODELS.names(), *LINEAR_MODELS, *suffixed])
    near = unknown_name("model", name, list(names_of_models))
    raise type(near)(f"{near} A folder written by `cuecard train` is also a model.")


def _predictions(name: str, probabilities: Floats, source: str, restricted: str = "") -> Predictions:
    answers = np.argmax(probabilities, axis=1)
    return Predictions(name, answers, probabilities, source, partial_input=restricted)
