"""Predictions of a Python function, or of a Hugging Face text classifier saved in a folder."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cuecard.data.examples import Examples
from cuecard.errors import InputError, MissingExtraError, UsageError
from cuecard.models.huggingface import FROM_DISK, loading
from cuecard.probes.formats.matching import RawPredictions
from cuecard.wording import only_applies_to


def called_predictions(function: Callable[..., Any], examples: Examples) -> RawPredictions:
    """Return what a function answers for the test examples, all given to it at once.

    It is called with lists of texts: `(premises, hypotheses)` for pairs, `(questions, choices)` for multiple
    choice and preferences (choices are lists of texts), `(texts)` for single texts. It returns one answer per
    example, or a matrix of probabilities with a column per possible answer.
    """
    name = getattr(function, "__name__", type(function).__name__)
    task = examples.instances.task
    hypotheses = examples.instances.table["hypothesis"].to_list()
    if task == "text":
        returned = function(hypotheses)
    elif task == "pair":
        returned = function(examples.premises, hypotheses)
    else:
        returned = function(examples.premises, examples.choices.to_list())
    source = f"the function {name}"
    try:
        matrix = np.asarray(returned)
    except ValueError:
        raise InputError(
            f"{source} returned rows of different lengths; for probabilities give every example "
            f"{len(examples.answer_names)} numbers, 0 for an answer that it does not have."
        ) from None
    if not isinstance(returned, Iterable):
        raise InputError(
            f"{source} returned {type(returned).__name__}; return a list with one answer per example."
        )
    if matrix.ndim == 2:
        wanted = (len(examples), len(examples.answer_names))
        if matrix.shape != wanted:
            raise InputError(
                f"{source} returned an array of shape {matrix.shape}; for probabilities it must be {wanted}."
            )
        return RawPredictions(name, source, None, probabilities=matrix.astype(np.float64))
    answers = [None if answer is None or answer != answer else str(answer) for answer in returned]
    return RawPredictions(name, source, pl.Series(answers, dtype=pl.String))


BATCH = 32


def pipeline_predictions(folder: Path, examples: Examples) -> RawPredictions:
    """Return the labels that the classifier in a folder gives to pairs or texts, by the names in its config.

    Only safetensors weights are loaded, and nothing is downloaded.
    """
    if examples.instances.grouped:
        raise UsageError(
            f"{folder} is a text classifier, which {only_applies_to(('pair', 'text'), examples.instances.task)}: write "
            "its answers to a file and give that."
        )
    if not (folder / "config.json").exists():
        raise InputError(f"{folder} is a folder without config.json, so no model can be loaded from it.")
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ImportError:
        raise MissingExtraError("transformers", "models", "Running a saved model") from None
    try:
        with loading(folder):
            tokenizer = AutoTokenizer.from_pretrained(folder, **FROM_DISK)
            model = AutoModelForSequenceClassification.from_pretrained(
                folder, use_safetensors=True, **FROM_DISK
            )
    except (OSError, ValueError) as error:
        raise InputError(
            f"{folder}: the model cannot be loaded ({str(error).splitlines()[0]}); "
            "save it with save_pretrained(…, safe_serialization=True)."
        ) from None
    model.eval()
    names = [str(model.config.id2label[i]) for i in range(model.config.num_labels)]
    hypotheses = examples.instances.table["hypothesis"].to_list()
    answers: list[str] = []
    with torch.inference_mode():
        for start in range(0, len(hypotheses), BATCH):
            part = slice(start, start + BATCH)
            texts = (examples.premises[part], hypotheses[part])
            inputs = tokenizer(
                *(texts if examples.instances.task == "pair" else texts[1:]),
                padding=True,
                truncation=True,
                return_tensors="pt",
            )
            picked = np.asarray(model(**inputs).logits.argmax(dim=1))
            answers += [names[i] for i in picked]
    return RawPredictions(folder.resolve().name, str(folder), pl.Series(answers))
