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
from cuecard.probes.examples import Floats, check_test
from cuecard.probes.linear import LINEAR_MODELS, linear_predictions
from cuecard.probes.predictions import Predictions
from cuecard.registry import unknown_name


def trained_predictions(
    data: Instances,
    name: str,
    *,
    settings: Sequence[str] = (),
    tokens: str | None = None,
    seed: int = 0,
    watch: Watch | None = None,
    cache: bool = True,
) -> Predictions:
    """Return what a model predicts for test.

    Args:
        data: what `cuecard.load` returned, with a test split.
        name: a registered model ("fasttext"), one that reads less ("fasttext-hypothesis", "-premise", "-choices"),
            which is trained on train; or a folder that `cuecard train` wrote.
        settings: parameters of the model, such as "epochs=3" or "fasttext.epochs=3".
        tokens: tokenisation of the linear model.
        seed: of the model, where it has a parameter of that name.
        watch: called with the progress while it trains.
        cache: whether what was trained before may come from the user's cache folder, and this go there.
    """
    if (Path(name) / DESCRIPTION).is_file():
        return saved_predictions(data, Path(name))
    if name in LINEAR_MODELS and not settings:
        return linear_predictions(data, name, tokens=tokens, seed=seed, cache=cache)
    test = check_test(data).instances
    recipe = asked_recipe(name, settings).with_options(seed=seed)
    [probabilities] = fitted_probabilities(recipe, data.train, [test], watch=watch, cache=cache)
    return _predictions(name, probabilities, "trained on train")


def saved_predictions(data: Instances, folder: Path) -> Predictions:
    """Return what a model in a folder predicts for test; its labels must be those of the data."""
    test = check_test(data).instances
    model = load_model(folder)
    unknown = [label for label in test.labels if label not in model.labels_]
    if unknown and not test.grouped:
        raise InputError(
            f"The model in {folder} knows the labels {', '.join(model.labels_)}, and the data has {unknown[0]!r}: "
            "name them alike with --labels."
        )
    return _predictions(folder.name, answer_probabilities(model, test), str(folder))


def asked_recipe(name: str, settings: Sequence[str] = ()) -> Recipe:
    """Return the recipe of "bilstm" or "bilstm-hypothesis": a registered name, and what it may read."""
    for condition in CONDITIONS[1:]:
        model = name.removesuffix(f"-{condition}")
        if model != name and model in MODELS.names() and name not in MODELS.names():
            return _recipe(model, condition, settings)
    if name not in MODELS.names():
        suffixed = [f"{model}-{part}" for model in MODELS.names() for part in CONDITIONS[1:]]
        known = dict.fromkeys([*MODELS.names(), *LINEAR_MODELS, *suffixed])
        near = unknown_name("model", name, list(known))
        raise type(near)(f"{near} A folder that `cuecard train` wrote is a model, too.")
    return _recipe(name, "full", settings)


def _recipe(model: str, condition: Condition, settings: Sequence[str]) -> Recipe:
    # A setting for another of the models that are probed is not this one's business.
    mine = [text for text in settings if "." not in text.partition("=")[0] or text.startswith(f"{model}.")]
    return replace(recipes([model], mine)[0], condition=condition)


def _predictions(name: str, probabilities: Floats, source: str) -> Predictions:
    return Predictions(name, np.argmax(probabilities, axis=1), probabilities, source)
