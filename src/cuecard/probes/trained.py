"""Predictions of a model that is trained on the train split, or was trained before and lies in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cuecard.data import Instances
from cuecard.errors import InputError
from cuecard.models import MODELS
from cuecard.models.fitted import answer_probabilities, fitted_probabilities
from cuecard.models.recipe import Recipe, recipes
from cuecard.models.saved import DESCRIPTION, load_model
from cuecard.models.text_model import CONDITIONS, Condition, Watch
from cuecard.probes.examples import check_test
from cuecard.probes.linear import LINEAR_MODELS, linear_predictions
from cuecard.probes.predictions import Predictions
from cuecard.registry import unknown_name
from cuecard.stats.arrays import Floats


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
    [probabilities] = fitted_probabilities(recipe, data.train, [test], watch=watch, cache=cache)
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
