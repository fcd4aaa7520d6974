"""What a trained model says about the examples of a split, and how good that is."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.audits.partial_input.baselines.judging import measured
from cuecard.audits.partial_input.learned.learner_pair import guesses_from
from cuecard.data import Examples, Instances
from cuecard.errors import UsageError
from cuecard.models import TextModel
from cuecard.models.examples import Dynamics
from cuecard.stats import wilson
from cuecard.stats.arrays import Floats

#: Bins of confidence over which calibration is measured.
CALIBRATION_BINS = 10
#: Probabilities below this are raised to it, so that one sure mistake does not make the log loss infinite.
SMALLEST = 1e-12


def scores(part: Instances, probabilities: Floats) -> dict[str, Any]:
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


def _label(answers: npt.NDArray[np.int64], gold: npt.NDArray[np.int64], code: int) -> dict[str, Any]:
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
