"""The examples a model is trained or judged on, and what is recorded of them after every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.data.examples import Examples
from cuecard.errors import InputError, UsageError
from cuecard.stats.arrays import Bools, Floats, Ints, Singles


def by_example(values: Floats, part: Instances, *, empty: float) -> Floats:
    """Return one value per row as examples × choices; `empty` for a choice that an example does not have."""
    sizes = np.diff(part.first_rows)
    matrix = np.full((len(sizes), int(sizes.max(initial=0))), empty)
    matrix[np.arange(matrix.shape[1])[None, :] < sizes[:, None]] = values
    return matrix


def training_examples(data: Instances, weights: npt.ArrayLike | None = None) -> Examples:
    """Return the examples to learn from, or raise if there is nothing to learn in them."""
    if len(data) == 0:
        raise InputError("The training set has no labelled rows: give a file with labelled rows.")
    present = set(data.table["label"].cast(pl.String).unique().to_list())
    labels = tuple(label for label in data.labels if label in present)
    if len(labels) < 2:
        raise InputError(
            f"Every training example has the label {labels[0]!r}: give examples of at least two labels."
        )
    return examples_of(data, labels, checked_weights(data, weights))


def examples_of(data: Instances, labels: tuple[str, ...], weights: Floats | None = None) -> Examples:
    """Return examples as a model that knows some labels sees them, their weights 1 on average."""
    examples = replace(Examples.of_rows(data, weights), known_labels=labels)
    return replace(examples, weights=_mean_one(examples.example_weights))


def checked_weights(data: Instances, weights: npt.ArrayLike | None) -> Floats | None:
    """Return weights of rows as numbers, or raise if they cannot be weights of these rows."""
    if weights is None:
        return None
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (len(data),):
        raise UsageError(f"There are {values.size:,} weights for {len(data):,} rows: give one per row.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise UsageError("Weights must be finite and at least 0: some are negative, infinite or missing.")
    if not (values > 0).any():
        raise UsageError("All weights are 0: give at least one positive weight.")
    return values


def _mean_one(weights: Floats) -> Floats:
    total = weights.sum()
    if len(weights) and total == 0:
        raise UsageError("The weights of all right choices are 0: give at least one positive weight.")
    return np.asarray(weights * (len(weights) / total)) if len(weights) else weights


def accuracy(probabilities: Floats, examples: Examples) -> float:
    """Return the weighted share of examples whose most likely answer is right; of equal ones the first is given."""
    if not len(examples):
        return float("nan")
    return float(
        np.average(answers(probabilities, examples) == examples.gold, weights=examples.example_weights)
    )


def validation_figures(probabilities: Floats, examples: Examples) -> tuple[float, float]:
    """Return accuracy and mean loss; an example whose label the model does not know is wrong and has no loss."""
    gold = np.maximum(gold_probabilities(probabilities, examples), 1e-30)
    weights = np.where(examples.gold >= 0, examples.example_weights, 0)
    loss = float(-(weights * np.log(gold)).sum() / max(weights.sum(), 1e-300))
    return accuracy(probabilities, examples), loss


def answers(probabilities: Floats, examples: Examples) -> Ints:
    """Return the most likely column of every example, or the place of its most likely row."""
    if not examples.grouped:
        return np.asarray(probabilities.argmax(axis=1))
    best = np.repeat(
        np.maximum.reduceat(probabilities, examples.first_rows[:-1]), np.diff(examples.first_rows)
    )
    highest = np.flatnonzero(probabilities == best)
    owner = np.searchsorted(examples.first_rows, highest, side="right") - 1
    first = np.unique(owner, return_index=True)[1]
    return np.asarray(highest[first] - examples.first_rows[:-1])


def gold_probabilities(probabilities: Floats, examples: Examples) -> Floats:
    """Return the probability of every example's right answer; 0 where the model does not know its label."""
    if examples.grouped:
        return np.asarray(probabilities[examples.first_rows[:-1] + examples.gold])
    gold = probabilities[np.arange(len(examples)), np.maximum(examples.gold, 0)]
    return np.where(examples.gold >= 0, gold, 0.0)


@dataclass(frozen=True)
class Epoch:
    """How an epoch went; the validation figures are None where nothing was held out."""

    number: int
    loss: float
    seconds: float
    validation_accuracy: float | None = None
    validation_loss: float | None = None
    learning_rate: float | None = None


def best_epoch(history: Sequence[Epoch]) -> int:
    """Return the number of the epoch of the highest validation accuracy, of the lowest loss among equals."""
    return min(
        history, key=lambda e: (-(e.validation_accuracy or 0), e.validation_loss or 0, e.number)
    ).number


def no_longer_better(history: Sequence[Epoch], patience: int) -> bool:
    """Return whether enough epochs in a row were not better on held-out examples to stop training."""
    if not history or history[-1].validation_accuracy is None:
        return False
    return len(history) - best_epoch(history) >= patience


@dataclass(frozen=True, eq=False)
class Dynamics:
    """What was recorded after every epoch, for all examples given to `fit`, in their order.

    Those of a validation set, where one was given, follow those of the training set.

    Attributes:
        probability: epochs × examples, of the gold label.
        correct: epochs × examples, whether the gold label was the most likely.
        held_out: of every example whether it was held out for validation, so that nothing was learned from it; true
            for a validation set.
    """

    probability: Singles
    correct: Bools
    held_out: Bools

    @property
    def confidence(self) -> Floats:
        """Mean probability of every example's gold label over the epochs."""
        return np.asarray(self.probability.mean(axis=0, dtype=np.float64))

    @property
    def variability(self) -> Floats:
        """Standard deviation of that probability over the epochs."""
        return np.asarray(self.probability.std(axis=0, dtype=np.float64))

    @property
    def correctness(self) -> Floats:
        """Share of the epochs after which the example was answered correctly."""
        return np.asarray(self.correct.mean(axis=0, dtype=np.float64))
