"""What the models trained here share: fitting, what a run is of, held-out examples, saving and loading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from hashlib import blake2b
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt

from cuecard.data import GROUPED_TASKS, TASKS, Examples, Instances, Task
from cuecard.errors import InputError, UsageError
from cuecard.models.examples import Dynamics, answers, examples_of, gold_probabilities
from cuecard.models.saved import (
    DESCRIPTION,
    WEIGHTS,
    Arrays,
    expected,
    read_arrays,
    read_description,
    safe_weights,
    write_arrays,
)
from cuecard.models.text_model import (
    CONDITIONS,
    Condition,
    FitJob,
    Objective,
    Watch,
    Weighting,
    check_condition,
)
from cuecard.stats.arrays import Bools, Floats, Singles
from cuecard.writing import write_json


@dataclass
class Learner:
    """A `TextModel` whose subclass says how it learns from a job and which arrays it has learned."""

    labels_: tuple[str, ...] = field(default=(), init=False, repr=False)
    task_: Task = field(default="pair", init=False, repr=False)
    condition_: Condition = field(default="full", init=False, repr=False)
    dynamics_: Dynamics | None = field(default=None, init=False, repr=False)
    #: What to learn instead of the labels alone, where a model is to be kept from using cues; set before `fit`.
    objective: Objective | None = field(default=None, init=False, repr=False)

    name: ClassVar[str]
    #: Parameters that may differ between a checkpoint and the run that continues from it.
    free_parameters: ClassVar[frozenset[str]] = frozenset()
    #: What the file of weights says of itself.
    metadata: ClassVar[dict[str, str] | None] = None

    # What a kind of model implements.

    def learn(self, job: FitJob) -> None:
        """Learn from every row of the job's data."""
        raise NotImplementedError

    def arrays(self) -> Arrays:
        """Return what was learned, by name."""
        raise NotImplementedError

    def take(self, arrays: Arrays) -> None:
        """Take what `arrays` returned; raise a ValueError or KeyError if it does not fit what else is known."""
        raise NotImplementedError

    def described(self) -> dict[str, Any]:
        """Return what else `model.json` says."""
        return {}

    def take_description(self, description: Mapping[str, Any]) -> None:
        """Take what `described` returned."""

    def save_reading(self, folder: Path) -> None:
        """Write what was learned of how texts are read, where that is no array."""

    def load_reading(self, folder: Path) -> None:
        """Read what `save_reading` wrote."""

    def outside(self) -> dict[str, str]:
        """Return a hash of each file that a parameter names: the same path may hold something else tomorrow."""
        return {}

    # What they have in common.

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
        """Learn from every row of `data`; return the model itself. See `TextModel.fit`."""
        self.learn(FitJob(data, weights, condition, validation, dynamics, checkpoint, watch))
        return self

    def save(self, folder: Path) -> None:
        """Write the model to a folder: parameters as JSON, weights as safetensors, nothing pickled."""
        self.check_fitted()
        folder = Path(folder)
        write_arrays(folder / WEIGHTS, self.arrays(), self.metadata)
        self.save_reading(folder)
        description = {
            "model": self.name,
            "parameters": self.parameters(),
            "labels": list(self.labels_),
            "task": self.task_,
            "condition": self.condition_,
            **self.described(),
        }
        write_json(folder / DESCRIPTION, description)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote."""
        folder = Path(folder)
        description = read_description(folder)
        if description.get("model") != cls.name:
            raise InputError(f"{folder} holds a model {description.get('model')!r}, not {cls.name!r}.")
        arrays = read_arrays(safe_weights(folder))
        try:
            model = cls(**description["parameters"])
            model.labels_, model.task_ = tuple(description["labels"]), description["task"]
            model.condition_ = description["condition"]
            if model.task_ not in TASKS or model.condition_ not in CONDITIONS or len(model.labels_) < 2:
                raise ValueError("task, condition or labels are not those of a model")
            model.take_description(description)
            model.load_reading(folder)
            model.take(arrays)
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise InputError(f"The model in {folder} is damaged or of another version ({error}).") from None
        return model

    @property
    def grouped(self) -> bool:
        """Whether the rows of an example compete."""
        return self.task_ in GROUPED_TASKS

    @property
    def n_outputs(self) -> int:
        """How many margins a row has."""
        return 1 if self.grouped else len(self.labels_)

    def parameters(self) -> dict[str, Any]:
        """Return the parameters, by name."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}

    def identity(self, job: FitJob, examples: Examples) -> dict[str, Any]:
        """Return what a checkpoint must agree with, so that a run never resumes from the state of another."""
        parameters = {k: v for k, v in self.parameters().items() if k not in self.free_parameters}
        return {
            "model": self.name,
            "training data": job.data.fingerprint,
            "weights": blake2b(examples.example_weights.tobytes(), digest_size=16).hexdigest(),
            "condition": self.condition_,
            "validation data": job.validation.fingerprint if job.validation is not None else None,
            "dynamics": job.dynamics,
            **({} if self.objective is None else {"objective": self.objective.identity}),
            **parameters,
            **self.outside(),
        }

    @property
    def fitted(self) -> bool:
        """Whether the model can predict."""
        return bool(self.labels_)

    def check_fitted(self, data: Instances | None = None) -> None:
        """Raise if the model is not fitted, or cannot read data of that kind."""
        if not self.fitted:
            raise UsageError(f"The model {self.name!r} is not fitted: call fit or load first.")
        if data is None:
            return
        if data.task != self.task_ and not (data.grouped and self.grouped):
            raise UsageError(f"This model was fitted on {self.task_} data and cannot read {data.task} data.")
        check_condition(data, self.condition_)

    def validation_examples(self, validation: Instances) -> Examples:
        """Return the examples of a validation split, or raise if they are not of the task."""
        if len(validation) == 0:
            raise InputError("The validation split has no rows: give one with rows, or leave it out.")
        if validation.grouped != self.grouped:
            raise UsageError(
                f"The validation split holds {validation.task} data, the training set does not: give the same task."
            )
        return examples_of(validation, self.labels_)


def check_parameters(model: Any, *positive: str) -> None:
    """Raise if a parameter that must be a positive number, or one that all descents share, means nothing."""
    for parameter in positive:
        value = getattr(model, parameter)
        if value is not None and value < 1:
            raise UsageError(f"{parameter} must be at least 1, not {value}.")
    if not model.learning_rate > 0:
        raise UsageError(f"learning_rate must be greater than 0, not {model.learning_rate}.")
    if not 0 <= model.held_out < 1:
        raise UsageError(f"held_out must be at least 0 and below 1, not {model.held_out}.")
    if model.weighting not in get_args(Weighting):
        raise UsageError(f"weighting must be 'loss' or 'sampler', not {model.weighting!r}.")


def held_out_examples(n: int, share: float, seed: int) -> Bools:
    """Return which of n examples are held out for validation: a seeded part that leaves at least two."""
    held = np.zeros(n, dtype=np.bool_)
    count = min(round(share * n), max(n - 2, 0))
    held[np.random.default_rng([seed, 1]).permutation(n)[:count]] = True
    return held


class Recorder:
    """Records after every epoch how sure a model is of the gold labels of some sets of examples.

    `held_out` says which examples of the first set are not learned from; those of others never are.
    """

    def __init__(self, sets: Sequence[Examples], held_out: Bools | None = None) -> None:
        self._sets, self._held_out = sets, held_out
        self._gold: list[Singles] = []
        self._correct: list[Bools] = []

    def add(self, probabilities: Iterable[Floats]) -> None:
        """Record an epoch, given the probabilities of all sets."""
        pairs = list(zip(probabilities, self._sets, strict=True))
        if pairs:
            self._gold.append(
                np.concatenate([gold_probabilities(*pair) for pair in pairs]).astype(np.float32)
            )
            self._correct.append(np.concatenate([answers(*pair) == pair[1].gold for pair in pairs]))

    @property
    def dynamics(self) -> Dynamics | None:
        """What was recorded; None if there was nothing to record."""
        if not self._sets:
            return None
        first, *others = (len(examples) for examples in self._sets)
        held = np.zeros(first, np.bool_) if self._held_out is None else self._held_out
        held = np.concatenate([held, np.ones(sum(others), np.bool_)])
        gold = np.array(self._gold, dtype=np.float32).reshape(-1, len(held))
        return Dynamics(gold, np.array(self._correct, dtype=np.bool_).reshape(-1, len(held)), held)

    def arrays(self) -> Arrays:
        """Return what was recorded, by name."""
        dynamics = self.dynamics
        if dynamics is None:
            return {}
        return {"dynamics.probability": dynamics.probability, "dynamics.correct": dynamics.correct}

    def restore(self, arrays: Arrays, epochs: int) -> None:
        """Take what `arrays` returned after some epochs."""
        if self._sets:
            shape = epochs, sum(len(examples) for examples in self._sets)
            self._gold = list(expected(arrays, "dynamics.probability", np.float32, *shape))
            self._correct = list(expected(arrays, "dynamics.correct", np.bool_, *shape))
