"""Correct a model's predictions for cues: as a table, and as a file that `cuecard probe` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from cuecard.audits import Cues
from cuecard.data import Instances, Source
from cuecard.data.output.rows import check_not_read, check_writable, write_rows
from cuecard.errors import InputError, UsageError
from cuecard.limits import check_seed
from cuecard.probes import Predictions, PredictionSource, read_predictions
from cuecard.probes.predictions import as_split
from cuecard.remedies.correction import Corrected, Correction
from cuecard.run.finishing import check_labels
from cuecard.run.running import Data, ensure_loaded


def correct(
    data: Data,
    predictions: PredictionSource | Predictions,
    *,
    test: Source | None = None,
    model: str | None = None,
    dev_predictions: PredictionSource | Predictions | None = None,
    audit: Cues | None = None,
    prediction_columns: Mapping[str, str] | None = None,
    labels: Mapping[str, str | None] | None = None,
    **options: Any,
) -> Corrected:
    """Return a model's test predictions without what cues alone predict, and what the correction cost.

    The strength is tuned on the dev split where there are predictions of it; otherwise every fifth of the test split is
    corrected with a strength that was tuned on the others. Of a benchmark of one file, every fifth is corrected for the
    cues of the others.

    Args:
        data: what `cuecard.load` returned; or what it takes, such as ``"train.csv"``; or a function that returns the
            dataset. Without a test split, it is a benchmark of one file.
        predictions: the model's probabilities for the test split or the one file: a file, a frame or `Predictions`.
        test: the test split, where `data` is a file or a table.
        model: what to call the model; the file's own name by default.
        dev_predictions: the model's probabilities for the dev split, which `data` must then have.
        audit: the cue audit whose tokens and scope say which examples have a cue, such as ``cc.Cues(scope="both")``.
        prediction_columns: which column of the predictions is what: id, prediction, gold.
        labels: names of raw label values in the predictions, such as ``{"0": "entailment"}``.
        options: parameters of `Correction`, such as ``method="expert"``, ``aim="worst-group"`` or ``strength=1.0``.
    """
    correction = Correction(**options)
    check_seed(correction.seed)
    data = ensure_loaded(data, test)
    check_labels(data)
    if "test" not in data.splits and dev_predictions is None:
        data = as_split(data.train, "test")
    read = {"model": model, "columns": prediction_columns, "labels": labels}
    dev = None
    if dev_predictions is not None:
        dev_data = dev_as_test(data)
        dev = dev_data, _one_model(dev_predictions, dev_data, read)
    return correction.run(data, _one_model(predictions, data, read), dev, audit=audit)


def correct_file(data: Data, predictions: PredictionSource, out: Path, **options: Any) -> Corrected:
    """Write the corrected predictions of `correct`, which takes the options, to a file, and return them."""
    kind = check_writable(out)
    Correction(**{k: v for k, v in options.items() if k in Correction.__dataclass_fields__})

    def checked() -> Instances:
        instances = ensure_loaded(data)
        check_not_read(out, instances)
        return instances

    done = correct(checked, predictions, **options)
    write_rows(done.predictions, out, kind)
    return done


def dev_as_test(data: Instances) -> Instances:
    """Return the training set with the dev split as its test split."""
    if "dev" not in data.splits:
        raise UsageError("There are dev predictions but no dev split: give it with --dev.")
    split = data.table["split"]
    kept = data.table.filter(split.cast(pl.String) != "test")
    renamed = kept["split"].cast(pl.String).replace({"dev": "test"}).cast(split.dtype)
    return replace(data, table=kept.with_columns(renamed))


def _one_model(
    source: PredictionSource | Predictions, data: Instances, read: Mapping[str, Any]
) -> Predictions:
    if isinstance(source, Predictions):
        return source
    models = read_predictions(source, data, **read)
    if len(models) > 1:
        names = ", ".join(one.model for one in models)
        raise InputError(
            f"{models[0].source} has predictions of several models ({names}): give one file per model."
        )
    return models[0]
