"""What a trainable model is here: fit on instances, predict, embed, save and load, whatever is inside."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, get_args, runtime_checkable

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances
from cuecard.errors import UsageError
from cuecard.models.examples import Dynamics
from cuecard.registry import Registry, lacking
from cuecard.stats.arrays import Floats, Ints

Kind = Literal["product-of-experts", "learned-mixin", "confidence", "group-robust"]


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss over all training examples, in their order.

    Attributes:
        kind: which loss.
        strength: exponent of the expert, weight of the entropy, or step size of the group weights.
        expert: log-probabilities of a bias expert, examples × answers.
        targets: probabilities to learn instead of labels, examples × answers.
        groups: the group of every example.
    """

    kind: Kind
    strength: float = 1.0
    expert: Floats | None = None
    targets: Floats | None = None
    groups: Ints | None = None

    @property
    def identity(self) -> str:
        """A hash of everything that the loss depends on, so that no run resumes from one of another loss."""
        digest = blake2b(f"{self.kind} {self.strength}".encode(), digest_size=16)
        for array in (self.expert, self.targets, self.groups):
            if array is not None:
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def check_objective(objective: Objective | None, model: str, kinds: tuple[Kind, ...] = ()) -> None:
    """Raise if a model cannot be trained for an objective."""
    if objective is not None and objective.kind not in kinds:
        raise UsageError(
            f"The model {model!r} cannot be trained with --debias {objective.kind}: choose fasttext, bilstm, "
            "siamese-lstm, esim or transformer."
        )


def scaled_confidence(teacher: Floats, bias: Floats) -> Floats:
    """Return the teacher's probabilities, flattened where the expert is sure of the label (Utama et al. 2020).

    p_j^(1 − β) / Σ_k p_k^(1 − β): at β = 0 the teacher itself, at β = 1 equal probabilities of all possible answers.

    >>> scaled_confidence(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([0.0, 1.0]))
    array([[0.8, 0.2],
           [0.5, 0.5]])
    """
    possible = teacher > 0
    raised = np.where(possible, np.where(possible, teacher, 1.0) ** (1 - bias)[:, None], 0.0)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


#: What a model may read: everything (the paired-sentence condition, PSC), or one part of it (SSC).
Condition = Literal["full", "hypothesis", "premise", "choices"]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)

#: How weights enter training: as factors of the loss, or as chances to be drawn into an epoch.
Weighting = Literal["loss", "sampler"]


@dataclass(frozen=True)
class Step:
    """How far a training run is: shown as a bar, and all that a caller learns while it waits.

    `done` and `total` count the batches of all epochs together; a run that stops early ends before `total`.
    """

    epoch: int
    epochs: int
    done: int
    total: int
    loss: float
    validation_accuracy: float | None = None


#: Called after every batch or so; raising stops the run, and what is checkpointed stays.
Watch = Callable[[Step], None]


@runtime_checkable
class TextModel(Protocol):
    """A model of labelled texts. Implementations are dataclasses: their fields are the parameters.

    For `pair` and `text` data a model gives a probability per label; for `choice` and `preference` data it
    scores every instance, and the softmax over the instances of an example gives each its chance to be right.
    """

    name: ClassVar[str]
    #: Labels it was fitted on, in the order of the columns of `predict_proba`; empty before `fit`.
    labels_: tuple[str, ...]
    #: What `fit(dynamics=True)` recorded; None otherwise.
    dynamics_: Dynamics | None

    def fit(
        self,
        data: Instances,
        *,
        weights: npt.ArrayLike | None = None,
        condition: Condition = "full",
        validation: Instances | None = None,
        dynamics: bool = False,
        checkpoint: Path | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Learn from every row of `data`; return the model itself.

        Args:
            data: instances of one split, such as `data.train`.
            weights: how much each row counts; of a choice or preference example, the right row's weight counts.
            condition: what the model may read.
            validation: the validation split; a seeded part of `data` is held out where there is none.
            dynamics: also record after every epoch the probability of each example's gold label.
            checkpoint: folder to write the state to after every epoch, and to resume from if it holds one.
            watch: called with the progress.
        """
        ...

    def predict_proba(self, data: Instances) -> Floats:
        """Return rows × labels; for choice and preference data one number per row, which sum to 1 per example."""
        ...

    def embed(self, data: Instances) -> Floats:
        """Return one vector per row: what enters the last layer."""
        ...

    def save(self, folder: Path) -> None:
        """Write the model to a folder: parameters as JSON, weights as safetensors, nothing pickled."""
        ...

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote."""
        ...


@dataclass(frozen=True, eq=False)
class FitJob:
    """What `fit` was called with."""

    data: Instances
    weights: npt.ArrayLike | None
    condition: Condition
    validation: Instances | None
    dynamics: bool
    checkpoint: Path | None
    watch: Watch | None

    def fit(self, model: TextModel) -> TextModel:
        """Return a model, fitted on what the job says."""
        return model.fit(
            self.data,
            weights=self.weights,
            condition=self.condition,
            validation=self.validation,
            dynamics=self.dynamics,
            checkpoint=self.checkpoint,
            watch=self.watch,
        )


MODELS: Registry[type[Any]] = Registry(
    "model", group="cuecard.models", check=lacking("name", "fit", "predict_proba", "embed", "save", "load")
)


def visible(data: Instances, condition: Condition) -> tuple[pl.Series | None, pl.Series | None]:
    """Return the premises and hypotheses that a model under a condition may read; None for what is hidden."""
    check_condition(data, condition)
    premise = data.table["premise"] if condition in ("full", "premise") and data.task != "text" else None
    hypothesis = data.table["hypothesis"] if condition != "premise" else None
    return premise, hypothesis


def check_condition(data: Instances, condition: str) -> None:
    """Raise if the task has no such part of the input."""
    if condition not in CONDITIONS:
        raise UsageError(f"Unknown condition {condition!r}: choose one of {', '.join(CONDITIONS)}.")
    fits = {
        "full": True,
        "hypothesis": data.task == "pair",
        "premise": data.task == "pair",
        "choices": data.grouped,
    }
    if not fits[condition]:
        possible = ", ".join(name for name, fit in fits.items() if fit)
        raise UsageError(
            f"The condition {condition!r} does not apply to {data.task} data: choose one of {possible}."
        )


def partial_condition(data: Instances) -> Condition:
    """Return the condition under which a model should not be able to answer: the task's SSC."""
    if data.task == "text":
        raise UsageError(
            "Single texts have no partial input; it only applies to pairs, choices and preferences."
        )
    return "choices" if data.grouped else "hypothesis"
