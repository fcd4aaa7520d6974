"""The examples a model is trained or judged on: where their rows are, which answer is right, how much each counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import InputError, UsageError
from cuecard.models.linear import first_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples of a model's task. Of pair and text data every row is one; of grouped data, a run of rows.

    Attributes:
        labels: the labels a model of these examples knows.
        starts: the first row of every example, and the number of rows at the end.
        gold: of every example the column of its label, or of grouped data the place of its right row; -1 where
            the label is not among `labels`, so that no prediction of the example counts as right.
        weights: how much every example counts, 1 on average.
        grouped: whether an example's rows compete with each other.
    """

    labels: tuple[str, ...]
    starts: Ints
    gold: Ints
    weights: Floats
    grouped: bool

    def __len__(self) -> int:
        return len(self.gold)

    def rows(self, examples: Ints) -> Ints:
        """Return the rows of some examples, in their order."""
        if not self.grouped:
            return examples
        sizes = self.starts[examples + 1] - self.starts[examples]
        first = np.repeat(self.starts[examples] - np.cumsum(sizes) + sizes, sizes)
        return np.asarray(first + np.arange(sizes.sum()))


def training_examples(data: Instances, weights: npt.ArrayLike | None = None) -> Examples:
    """Return the examples to learn from, or raise if there is nothing to learn in them."""
    if len(data) == 0:
        raise InputError("There are no rows to train on: give a file that has some with a label.")
    present = set(data.table["label"].cast(pl.String).unique().to_list())
    labels = tuple(label for label in data.labels if label in present)
    if len(labels) < 2:
        raise InputError(
            f"Every training row has the label {labels[0]!r}: a model needs examples of at least two labels."
        )
    return examples_of(data, labels, checked_weights(data, weights))


def examples_of(data: Instances, labels: tuple[str, ...], weights: Floats | None = None) -> Examples:
    """Return examples as a model that knows some labels sees them; an unknown label is no answer it can give."""
    starts = first_rows(data.example_codes)
    weight = np.ones(len(data)) if weights is None else weights
    if not data.grouped:
        known = {label: i for i, label in enumerate(labels)}
        columns = np.array([known.get(label, -1) for label in data.labels], dtype=np.int64)
        return Examples(labels, starts, columns[data.label_codes], _mean_one(weight), grouped=False)
    right = np.flatnonzero(data.label_codes == data.labels.index(right_label(data)))
    if not np.array_equal(data.example_codes[right], np.arange(len(starts) - 1)):
        raise InputError(f"Every example of {data.task} data needs exactly one {right_label(data)!r} row.")
    return Examples(labels, starts, right - starts[:-1], _mean_one(weight[right]), grouped=True)


def right_label(data: Instances) -> str:
    """Return the label of the row to pick in an example of grouped data: `right` or `chosen`."""
    return data.labels[0]


def checked_weights(data: Instances, weights: npt.ArrayLike | None) -> Floats | None:
    """Return weights of rows as numbers, or raise if they cannot be weights of these rows."""
    if weights is None:
        return None
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (len(data),):
        raise UsageError(f"There are {given.size:,} weights for {len(data):,} rows; give one per row.")
    if not np.isfinite(given).all() or (given < 0).any():
        raise UsageError("Weights must be numbers of at least 0; some are negative, infinite or missing.")
    if not (given > 0).any():
        raise UsageError("All weights are 0, so that no row counts: give at least one that is positive.")
    return given


def _mean_one(weights: Floats) -> Floats:
    total = weights.sum()
    if len(weights) and total == 0:
        raise UsageError("The weights of all right rows are 0, so that no example counts.")
    return np.asarray(weights * (len(weights) / total)) if len(weights) else weights


def accuracy(probabilities: Floats, examples: Examples) -> float:
    """Return the weighted share of examples whose likeliest answer is right; of equal ones the first is given."""
    if not len(examples):
        return float("nan")
    return float(np.average(answers(probabilities, examples) == examples.gold, weights=examples.weights))


def answers(probabilities: Floats, examples: Examples) -> Ints:
    """Return the likeliest column of every example, or the place of its likeliest row."""
    if not examples.grouped:
        return np.asarray(probabilities.argmax(axis=1))
    best = np.repeat(np.maximum.reduceat(probabilities, examples.starts[:-1]), np.diff(examples.starts))
    highest = np.flatnonzero(probabilities == best)
    owner = np.searchsorted(examples.starts, highest, side="right") - 1
    first = np.unique(owner, return_index=True)[1]
    return np.asarray(highest[first] - examples.starts[:-1])


def gold_probabilities(probabilities: Floats, examples: Examples) -> Floats:
    """Return the probability of every example's right answer; 0 where the model does not know its label."""
    if examples.grouped:
        return np.asarray(probabilities[examples.starts[:-1] + examples.gold])
    gold = probabilities[np.arange(len(examples)), np.maximum(examples.gold, 0)]
    return np.where(examples.gold >= 0, gold, 0.0)
