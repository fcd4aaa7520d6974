"""Training dynamics: how sure a model was of every example's gold label after each epoch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats


@dataclass(frozen=True)
class Epoch:
    """How an epoch went; the validation figures are None where nothing was held out."""

    number: int
    loss: float
    seconds: float
    validation_accuracy: float | None = None
    validation_loss: float | None = None
    learning_rate: float | None = None


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

    probability: npt.NDArray[np.float32]
    correct: npt.NDArray[np.bool_]
    held_out: npt.NDArray[np.bool_]

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
