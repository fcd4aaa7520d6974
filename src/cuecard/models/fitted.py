"""What a model trained on some examples says about others: probabilities per answer, kept by content."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard._version import __version__
from cuecard.cache import cache_folder, cached_arrays, content_key
from cuecard.data import Examples, Instances
from cuecard.errors import InputError
from cuecard.models.examples import by_example
from cuecard.models.recipe import Recipe
from cuecard.models.saliency import SaliencyMaps, TokenTexts, saliency, token_texts
from cuecard.models.saved import load_model
from cuecard.models.text_model import MODELS, TextModel, Watch, check_condition
from cuecard.stats.arrays import Floats
from cuecard.writing import write_json

#: Counted up when models come to read texts otherwise within a version: what was kept before is then of no use.
_READING = 2
#: Written last into the folder of a cached model.
_WHOLE = "whole.json"


@dataclass(frozen=True, eq=False)
class Fitted:
    """What a trained model said: probabilities of every part, and saliency maps where they were asked for.

    `tokens` are those that the maps are about, of premise and hypothesis.
    """

    probabilities: list[Floats]
    maps: SaliencyMaps | None = None
    tokens: TokenTexts | None = None


def fitted(
    recipe: Recipe,
    train: Instances,
    scored: Sequence[Instances],
    *,
    weights: npt.ArrayLike | None = None,
    watch: Watch | None = None,
    maps_of: Instances | None = None,
    cache: bool = True,
) -> Fitted:
    """Return for every part of `scored` a row per example and a column per answer, as `answer_probabilities`.

    The same model, parameters, examples and weights are trained once: what came out is kept in the cache folder
    (see `cache_folder`), and an interrupted run resumes from its last checkpoint.

    Args:
        recipe: what to train.
        train: the examples to learn from.
        scored: the parts to predict.
        weights: how much each train row counts.
        watch: called with the progress.
        maps_of: instances of which the saliency maps are returned too, if the model can give them.
        cache: whether to look into the cache folder and to keep anything there.
    """
    check_condition(train, recipe.condition)
    check_labels_seen(train, scored)
    mapped = maps_of if maps_of is not None and hasattr(MODELS.get(recipe.model), "saliency") else None
    read = scored if mapped is None else [*scored, mapped]
    key = fit_key(recipe.contents, train, weights, read)

    def make() -> list[Floats]:
        # Not named by the key: a run that was stopped continues with a smaller batch too.
        name = f"{fit_key(recipe.lasting_contents, train, weights, read)}.checkpoint"
        checkpoint = _usable(cache_folder() / "fitted" / name) if cache else None
        model = recipe.fit(train, weights=weights, checkpoint=checkpoint, watch=watch)
        arrays = [answer_probabilities(model, part) for part in scored]
        if mapped is not None:
            maps = saliency(model, mapped)
            lengths = (maps.premise_lengths, maps.hypothesis_lengths)
            arrays += [maps.premise, maps.hypothesis, *(length.astype(np.float64) for length in lengths)]
            arrays += [_as_numbers(texts) for texts in token_texts(model, mapped)]
        if checkpoint is not None:
            shutil.rmtree(checkpoint, ignore_errors=True)
        return arrays

    sizes = [part.n_examples for part in scored] + ([] if mapped is None else [len(mapped)] * 6)
    arrays = cached_arrays("fitted", key, sizes, make) if cache else make()
    if mapped is None:
        return Fitted(arrays)
    premise, hypothesis, *rest = arrays[len(scored) :]
    ends = (end.astype(np.int64) for end in rest[:2])
    tokens = _as_texts(rest[2]), _as_texts(rest[3])
    return Fitted(arrays[: len(scored)], SaliencyMaps(premise, hypothesis, *ends), tokens)


def fitted_model(
    recipe: Recipe,
    train: Instances,
    *,
    weights: npt.ArrayLike | None = None,
    watch: Watch | None = None,
    cache: bool = True,
) -> TextModel:
    """Return the recipe's model, trained once: it is kept in the cache folder and read from there the next time.

    An interrupted run resumes from its last checkpoint. Without `cache` nothing is kept or read.
    """
    check_condition(train, recipe.condition)
    if not cache:
        return recipe.fit(train, weights=weights, watch=watch)
    place = cache_folder() / "models" / fit_key(recipe.lasting_contents, train, weights, [])
    if (place / _WHOLE).is_file():
        return load_model(place)
    checkpoint = _usable(place.with_suffix(".checkpoint"))
    model = recipe.fit(train, weights=weights, checkpoint=checkpoint, watch=watch)
    if checkpoint is not None:
        place.mkdir(parents=True, exist_ok=True)
        model.save(place)
        write_json(place / _WHOLE, {"model": recipe.model})
        shutil.rmtree(checkpoint, ignore_errors=True)
    return model


def fit_key(
    contents: Mapping[str, Any], train: Instances, weights: npt.ArrayLike | None, scored: Sequence[Instances]
) -> str:
    """Return a hash of everything that predictions depend on; `contents` are those of a recipe."""
    return content_key(
        {
            **contents,
            "train": train.fingerprint,
            "labels": list(train.labels),
            "weights": weights_digest(weights),
            "scored": [part.fingerprint for part in scored],
            "version": __version__,
            "reading": _READING,
        }
    )


def weights_digest(weights: npt.ArrayLike | None) -> str:
    """Return a hash of weights, empty where all count the same."""
    if weights is None:
        return ""
    values = np.ascontiguousarray(np.asarray(weights, dtype="<f8"))
    return hashlib.blake2b(values.data, digest_size=8).hexdigest()


def check_labels_seen(train: Instances, scored: Sequence[Instances]) -> None:
    """Raise if examples to be scored have a label that no training example has: no model could ever name it."""
    if train.grouped:
        return
    seen = train.table["label"].cast(pl.String).unique()
    for part in scored:
        counts = part.table.filter(~pl.col("label").cast(pl.String).is_in(seen.implode()))["label"]
        if len(counts):
            label = counts.cast(pl.String).value_counts(sort=True)
            name, n = label.row(0)
            split = ", ".join(part.splits)
            alike = [other for other in seen if other.casefold() == name.casefold()]
            if alike:
                raise InputError(
                    f"{n:,} of {len(part):,} {split} examples have the label {name!r}, which the training set spells "
                    f"{alike[0]!r}: rename it with --labels {name}={alike[0]} (and name all other labels, "
                    "separated by commas)."
                )
            raise InputError(
                f"{n:,} of {len(part):,} {split} examples have the label {name!r}, which no training example has: drop "
                f"it with --labels {name}= (and name all other labels), or give training examples with this label."
            )


def answer_probabilities(model: TextModel, part: Instances) -> Floats:
    """Return a row per example and a column per answer: labels in the data's order, or positions of choices.

    A label that the model was not trained on has probability 0, as has a choice that a question does not have.
    """
    probabilities = np.asarray(model.predict_proba(part), dtype=np.float64)
    if part.grouped:
        if probabilities.shape != (len(part),):
            raise InputError(_shape_error(model, probabilities, f"{len(part):,} numbers, one per choice"))
        return by_example(probabilities, part, empty=0.0)
    if probabilities.shape != (len(part), len(model.labels_)):
        raise InputError(_shape_error(model, probabilities, f"{len(part):,} × {len(model.labels_)}"))
    columns = {label: i for i, label in enumerate(model.labels_)}
    matrix = np.zeros((len(part), len(part.labels)))
    for i, label in enumerate(part.labels):
        if label in columns:
            matrix[:, i] = probabilities[:, columns[label]]
    return matrix


def prediction_table(part: Instances, probabilities: Floats) -> pl.DataFrame:
    """Return one row per example: example_id, split, gold, prediction, p_<answer>, as `cuecard probe` reads them."""
    examples = Examples(part)
    names = pl.Series(examples.answer_names, dtype=pl.String)
    table = pl.DataFrame(
        {
            "example_id": examples.ids,
            "split": examples.splits,
            "gold": names.gather(examples.gold),
            "prediction": names.gather(probabilities.argmax(axis=1)),
        }
    )
    return table.with_columns(
        pl.Series(f"p_{name}", probabilities[:, i]) for i, name in enumerate(examples.answer_names)
    )


def _shape_error(model: TextModel, probabilities: Floats, expected: str) -> str:
    return (
        f"predict_proba of the model {model.name!r} returned an array of shape {probabilities.shape}; "
        f"expected {expected}."
    )


def _as_numbers(texts: list[list[str]]) -> Floats:
    """Return the tokens of every row as the bytes of their JSON, zeros at the end: the cache holds numbers only."""
    rows = [np.frombuffer(json.dumps(tokens).encode(), np.uint8) for tokens in texts]
    table = np.zeros((len(rows), max((len(row) for row in rows), default=0)))
    for i, row in enumerate(rows):
        table[i, : len(row)] = row
    return table


def _as_texts(table: Floats) -> list[list[str]]:
    """Return the tokens that `_as_numbers` took."""
    rows = (row[row > 0].astype(np.uint8).tobytes() for row in table)
    return [[str(token) for token in json.loads(row)] for row in rows]


def _usable(folder: Path) -> Path | None:
    """Return the folder if it can be written to: a cache that cannot be used is not an error."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder
