"""Train a model of a dataset; write its predictions, metrics and training dynamics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.analysis import Summary
from cuecard.audits.partial_input.judging import measured
from cuecard.audits.partial_input.learner_pair import guesses_from
from cuecard.data import Examples, Instances, ReadOptions, Source
from cuecard.data.splits import train_subset
from cuecard.data.weights import instance_weights, weights_from_file
from cuecard.errors import InputError, UsageError
from cuecard.limits import check_seed
from cuecard.models import TextModel
from cuecard.models.debiasing import Debias
from cuecard.models.examples import Dynamics, training_examples
from cuecard.models.fitted import answer_probabilities, check_labels_seen, prediction_table, weights_digest
from cuecard.models.recipe import Recipe, all_parameters, parameter_names
from cuecard.models.text_model import Condition, Watch, Weighting, check_condition
from cuecard.run.finishing import check_labels, versions
from cuecard.run.run_folder import RunFolder, run_key
from cuecard.run.running import Data, ensure_loaded
from cuecard.stats import wilson
from cuecard.stats.arrays import Floats
from cuecard.stats.weighted import effective_sample_size

#: Bins of confidence over which calibration is measured.
CALIBRATION_BINS = 10
#: Probabilities below this are raised to it, so that one sure mistake does not make the log loss infinite.
SMALLEST = 1e-12


def scores(part: Instances, probabilities: Floats) -> Summary:
    """Return accuracy with interval beside chance, log loss, calibration, and how each answer does."""
    examples = Examples(part)
    gold = examples.gold
    line = measured("model", "full", guesses_from(part, probabilities), gold, grouped=part.grouped)
    of_gold = np.maximum(probabilities[np.arange(len(gold)), gold], SMALLEST)
    answers = probabilities.argmax(axis=1)
    return {
        "examples": line.n,
        "accuracy": line.accuracy,
        "low": line.low,
        "high": line.high,
        "chance": line.chance,
        "log10_p": line.log10_p,
        "log_loss": float(-np.log(of_gold).mean()),
        "calibration_error": calibration_error(probabilities, gold),
        "labels": {
            name: _label(answers, gold, code) for code, name in enumerate(examples.answer_names)
        },
    }  # fmt: skip


def calibration_error(probabilities: Floats, gold: npt.NDArray[np.int64]) -> float:
    """Return the expected calibration error: how far confidence is from accuracy, over ten bins of confidence.

    >>> certain = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> calibration_error(certain, np.array([0, 1]))
    0.5
    """
    confidence = probabilities.max(axis=1)
    right = probabilities.argmax(axis=1) == gold
    bins = np.minimum((confidence * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
    sizes = np.bincount(bins, minlength=CALIBRATION_BINS)
    gaps = np.bincount(bins, weights=confidence, minlength=CALIBRATION_BINS) - np.bincount(
        bins, weights=right.astype(np.float64), minlength=CALIBRATION_BINS
    )
    return float(np.abs(gaps).sum() / max(sizes.sum(), 1))


def _label(answers: npt.NDArray[np.int64], gold: npt.NDArray[np.int64], code: int) -> Summary:
    """Return how often an answer is right, how often it is given, and how often it is found (with interval)."""
    mine, named = gold == code, answers == code
    hits, n = int((mine & named).sum()), int(mine.sum())
    low, high = (float(end) for end in wilson(hits, n)) if n else (None, None)
    return {
        "examples": n,
        "predicted": int(named.sum()),
        "recall": hits / n if n else None,
        "recall_low": low,
        "recall_high": high,
        "precision": hits / int(named.sum()) if named.any() else None,
    }


def dynamics_table(model: TextModel, train: Instances, dev: Instances | None = None) -> pl.DataFrame:
    """Return how every example was learned: confidence, variability, correctness, and its chance per epoch.

    Examples of the validation split follow those of the training set, where it was given to `fit`.

    Confidence is the mean over epochs of the gold label's probability, variability its standard deviation, and
    correctness the share of epochs in which it was the likeliest. `held_out` marks examples that training stopped
    early on, from which nothing was learned.
    """
    recorded: Dynamics | None = getattr(model, "dynamics_", None)
    if recorded is None:
        raise UsageError(
            f"The model {model.name!r} does not learn in epochs, so it has no training dynamics."
        )
    parts = {"train": Examples(train)}
    if dev is not None and recorded.probability.shape[1] > len(parts["train"]):
        parts["dev"] = Examples(dev)
    table = pl.DataFrame(
        {
            "example_id": [identity for part in parts.values() for identity in part.ids],
            "split": [name for name, part in parts.items() for _ in range(len(part))],
            "confidence": recorded.confidence,
            "variability": recorded.variability,
            "correctness": recorded.correctness,
            "held_out": recorded.held_out,
        }
    )
    return table.with_columns(
        pl.Series(f"epoch_{i + 1}", row, dtype=pl.Float32) for i, row in enumerate(recorded.probability)
    )


@dataclass(frozen=True)
class WeightFile:
    """A file of weighted rows, the column of weights, and how to read it, as `cuecard.load` takes it."""

    path: Path
    column: str = "weight"
    reading: ReadOptions = field(default_factory=ReadOptions)


#: A weight per train example or row, the name of a column of the data, or a file that `cuecard debias` wrote.
Weights = npt.ArrayLike | str | Path | WeightFile | None


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained model and what it does.

    Attributes:
        model: the model itself: `predict_proba`, `embed`, `save`.
        predictions: per split a frame of example_id, split, gold, prediction and p_<answer>.
        metrics: what `metrics.json` holds: per split accuracy with interval, chance, log loss, calibration.
        dynamics: confidence, variability and correctness of every train example, where they were recorded.
        folder: where everything was written, if it was.
        resumed: whether a run that was finished before was read again instead of trained.
    """

    model: TextModel
    predictions: Mapping[str, pl.DataFrame]
    metrics: Summary
    dynamics: pl.DataFrame | None = None
    folder: Path | None = None
    resumed: bool = False


def train(
    data: Data,
    model: str = "linear",
    *,
    test: Source | None = None,
    condition: Condition = "full",
    weights: Weights = None,
    weighting: Weighting | None = None,
    debias: str | Debias | None = None,
    subset: int | None = None,
    dynamics: bool = False,
    out: str | Path | None = None,
    seed: int = 0,
    watch: Watch | None = None,
    **options: object,
) -> Trained:
    """Return a model trained on the train split, with its predictions for every split and how good they are.

    Args:
        data: what `cuecard.load` returned, or what it takes, such as ``"train.csv"``; or a function that
            returns the dataset. A dev split is what training stops early on.
        model: name of a registered model: linear, fasttext, bilstm, siamese-lstm, esim, transformer …
        test: the test split, where `data` is a file or a table.
        condition: what the model may read: "full", "hypothesis", "premise" or "choices".
        weights: a weight per train example or row, the name of a column of the data, or a file that
            `cuecard debias` wrote.
        weighting: whether weights are factors of the loss or chances to be drawn ("sampler").
        debias: how the model is kept from using cues: the name of a method, such as "product-of-experts", or
            `cuecard.models.Debias` with an expert and a strength.
        subset: number of examples to train on, drawn by the seed.
        dynamics: record the probability of every train example's label after each epoch.
        out: folder for the model, predictions, metrics and dynamics; a run that was stopped continues there.
        seed: of the subset, and of the model where it has a parameter of that name.
        watch: called with the progress while it trains.
        options: parameters of the model, such as ``epochs=3``.
    """
    method = Debias(debias) if isinstance(debias, str) else debias
    recipe = training_recipe(Recipe(model, condition, options, method), weighting=weighting, seed=seed)
    return train_recipe(
        ensure_loaded(data, test),
        recipe,
        weights=weights,
        subset=subset,
        dynamics=dynamics,
        out=out,
        seed=seed,
        watch=watch,
    )


def training_recipe(recipe: Recipe, *, weighting: Weighting | None, seed: int) -> Recipe:
    """Return the recipe with weighting and seed where it names none itself."""
    if weighting is not None and "weighting" not in parameter_names(recipe.model):
        raise UsageError(
            f"The model {recipe.model!r} has no parameter 'weighting': its weights are those of the loss."
        )
    return recipe.with_defaults(seed=seed, weighting=weighting)


def train_recipe(
    data: Instances,
    recipe: Recipe,
    *,
    weights: Weights = None,
    subset: int | None = None,
    dynamics: bool = False,
    out: str | Path | None = None,
    seed: int = 0,
    watch: Watch | None = None,
) -> Trained:
    """Return the same as `train` for a model whose parameters are settled; `seed` is that of the subset."""
    check_seed(seed)
    check_labels(data)
    check_condition(data.train, recipe.condition)
    row_weights = _row_weights(data, weights)
    data, row_weights = _subset(data, row_weights, subset, seed)
    parts = {name: data.split(name) for name in data.splits}
    check_labels_seen(data.train, list(parts.values()))
    key = run_key(recipe, data, weights_digest(row_weights), dynamics=dynamics)
    if out is None:
        return _trained(recipe, data, row_weights, dynamics=dynamics, watch=watch, key=key)
    with RunFolder(Path(out), key, recipe) as folder:
        if folder.finished:
            return folder.read()
        done = _trained(
            recipe, data, row_weights, dynamics=dynamics, watch=watch, key=key, checkpoint=folder.checkpoint
        )
        folder.write(done.model, done.predictions, done.metrics, done.dynamics)
    return replace(done, folder=Path(out))


def _trained(
    recipe: Recipe,
    data: Instances,
    weights: Floats | None,
    *,
    dynamics: bool,
    watch: Watch | None,
    key: str,
    checkpoint: Path | None = None,
) -> Trained:
    started = time.perf_counter()
    dev = data.split("dev") if "dev" in data.splits else None
    fitted = recipe.fit(
        data.train,
        weights=weights,
        validation=dev,
        dynamics=dynamics,
        checkpoint=checkpoint,
        watch=watch,
    )
    trained_for = time.perf_counter() - started
    parts = {name: data.split(name) for name in data.splits}
    probabilities = {name: answer_probabilities(fitted, part) for name, part in parts.items()}
    metrics = {
        "model": recipe.model,
        "condition": recipe.condition,
        "parameters": all_parameters(fitted),
        "debias": None if recipe.debias is None else recipe.debias.contents,
        "data": {"name": data.name, "fingerprint": data.fingerprint, "task": data.task},
        "train_examples": data.train.n_examples,
        "weights": None if weights is None else _about_weights(data.train, weights),
        "epochs": _epochs(fitted),
        "splits": {name: scores(parts[name], probabilities[name]) for name in parts},
        "gap": _gap(recipe, data, probabilities.get("test")),
        "seconds": {
            "training": round(trained_for, 3),
            "all": round(time.perf_counter() - started, 3),
        },
        "versions": versions(),
        "key": key,
    }
    return Trained(
        fitted,
        {name: prediction_table(parts[name], probabilities[name]) for name in parts},
        metrics,
        dynamics_table(fitted, data.train, dev) if dynamics else None,
    )


def _gap(recipe: Recipe, data: Instances, probabilities: Floats | None) -> dict[str, float] | None:
    """Return how much better a debiased model does on test examples whose cues have their usual label, as `correct`."""
    if recipe.debias is None or probabilities is None:
        return None
    from cuecard.probes import Predictions
    from cuecard.remedies.correction import gap_of

    return gap_of(data, Predictions(recipe.model, probabilities.argmax(axis=1), probabilities))


def _epochs(model: TextModel) -> list[Summary]:
    """Return how every epoch went; empty for a model that keeps no record of them."""
    return [
        {k: v for k, v in asdict(epoch).items() if k != "seconds"} for epoch in getattr(model, "history_", ())
    ]


def _row_weights(data: Instances, weights: Weights) -> Floats | None:
    """Return a weight per train row, mean one."""
    if weights is None:
        return None
    train = data.train
    if isinstance(weights, WeightFile):
        return weights_from_file(weights.path, data, column=weights.column, reading=weights.reading)
    if isinstance(weights, Path) or (isinstance(weights, str) and weights not in data.table.columns):
        if isinstance(weights, str) and not Path(weights).exists():
            raise UsageError(
                f"{weights!r} is neither a file of weights nor a column of the data, which has "
                f"{', '.join(data.table.columns)}."
            )
        return weights_from_file(weights, data)
    if isinstance(weights, str):
        return instance_weights(train, weights)
    values = np.asarray(weights, dtype=np.float64)
    if values.shape == (train.n_examples,):
        values = values[train.example_codes]
    if values.shape != (len(train),):
        raise InputError(
            f"There are {values.size:,} weights for {train.n_examples:,} training examples; expected one weight for "
            "each."
        )
    if not (np.isfinite(values).all() and (values >= 0).all() and values.sum() > 0):
        raise InputError("Weights must be numbers of at least 0, and not all zero.")
    return np.asarray(values / values.mean())


def _subset(
    data: Instances, weights: Floats | None, size: int | None, seed: int
) -> tuple[Instances, Floats | None]:
    smaller, kept = train_subset(data, size, seed)
    if weights is None or smaller is data:
        return smaller, weights
    return smaller, weights[kept] / max(weights[kept].mean(), 1e-300)


def _about_weights(train: Instances, weights: Floats) -> dict[str, float]:
    mine = training_examples(train, weights).example_weights
    return {
        "effective_share": effective_sample_size(mine) / len(mine),
        "smallest": float(mine.min()),
        "largest": float(mine.max()),
    }
