"""What all torch models share: fitting, predicting, embedding, saving and loading around a module of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, Self, get_args

import numpy as np
import numpy.typing as npt

from cuecard.data import Examples, Instances
from cuecard.errors import InputError, MissingExtraError, UsageError
from cuecard.models.examples import Dynamics, examples_of, training_examples
from cuecard.models.neural.batches import Batch, ExamplePart, Rows, held_out_examples, length_order
from cuecard.models.saliency import SaliencyMaps, TokenTexts
from cuecard.models.saved import DESCRIPTION, WEIGHTS, read_description, safe_weights
from cuecard.models.text_model import Condition, FitJob, Learner, Weighting, check_condition
from cuecard.stats.arrays import Floats, Ints
from cuecard.writing import write_json, write_whole


@dataclass
class NeuralModel(Learner):
    """A torch model of labelled texts. A kind of model says how texts are read and which module reads them.

    A subclass has a `name`, adds its own parameters as fields and implements `learn_reading`, `rows` and `build`;
    where something other than random weights and Adam is wanted, also `initialise` and `optimiser`; and
    `save_reading` and `load_reading` for what it learned of the texts (a vocabulary).

    Args:
        epochs: most passes over the training examples.
        batch_size: examples per step; of choice and preference data all rows of an example are in one batch.
        learning_rate: of the optimiser at the beginning.
        patience: epochs in a row without a better validation accuracy (equal accuracy: lower loss) to stop after.
        held_out: share of the training examples held out for validation where no validation split is given.
        weighting: whether weights multiply the "loss" or are chances of a "sampler" that draws with replacement.
        decay: factor of the learning rate after an epoch that was not better; 1 leaves it.
        clip: largest norm of the gradient; 0 leaves it.
        seed: of the first weights, of the batches, of dropout and of the held-out part.
        device: "auto" (a GPU where there is one), "cpu", "cuda" or "mps".
        checkpoint_every: batches after which the state is written too, not only after every epoch; 0 for never.
    """

    epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 1e-3
    patience: int = 2
    held_out: float = 0.1
    weighting: Weighting = "loss"
    decay: float = 1.0
    clip: float = 5.0
    seed: int = 0
    device: str = "auto"
    checkpoint_every: int = 0

    labels_: tuple[str, ...] = field(default=(), init=False, repr=False)
    task_: str = field(default="", init=False, repr=False)
    condition_: Condition = field(default="full", init=False, repr=False)
    dynamics_: Dynamics | None = field(default=None, init=False, repr=False)
    #: One `Epoch` per epoch: loss, validation figures, learning rate, seconds.
    history_: tuple[Any, ...] = field(default=(), init=False, repr=False)
    #: The torch module, see `modules.reader.Reader`.
    module_: Any = field(default=None, init=False, repr=False)

    name: ClassVar[str]
    #: Parameters that may differ between a checkpoint and the run that continues from it.
    free_parameters: ClassVar[frozenset[str]] = frozenset({"batch_size", "device", "checkpoint_every"})

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        for parameter in ("epochs", "batch_size", "patience"):
            if getattr(self, parameter) < 1:
                raise UsageError(f"{parameter} must be at least 1, not {getattr(self, parameter)}.")
        if not self.learning_rate > 0:
            raise UsageError(f"learning_rate must be greater than 0, not {self.learning_rate}.")
        if not 0 <= self.held_out < 1:
            raise UsageError(f"held_out must be at least 0 and below 1, not {self.held_out}.")
        if not 0 < self.decay <= 1:
            raise UsageError(f"decay must be above 0 and at most 1, not {self.decay}.")
        if self.weighting not in get_args(Weighting):
            raise UsageError(f"weighting must be 'loss' or 'sampler', not {self.weighting!r}.")
        if self.seed < 0:
            raise UsageError(f"seed must be at least 0, not {self.seed}.")

    # What a kind of model implements.

    def learn_reading(self, data: Instances) -> None:
        """Learn from the training texts what is needed to read texts, such as a vocabulary."""
        raise NotImplementedError

    def rows(self, data: Instances) -> Rows:
        """Return the texts as the module reads them, under the condition the model is fitted on."""
        raise NotImplementedError

    def build(self, outputs: int) -> Any:
        """Return the module (`modules.reader.Reader`) with random weights, from parameters and reading alone."""
        raise NotImplementedError

    def initialise(self, module: Any, rows: Rows, examples: Examples) -> None:
        """Set first weights other than random ones; not called for a run that resumes from a checkpoint."""

    def optimiser(self, module: Any) -> Any:
        """Return the optimiser: Adam by default."""
        import torch

        chosen = [p for p in module.parameters() if p.requires_grad]
        fused = all(p.device.type in ("cpu", "cuda") for p in chosen)
        return torch.optim.Adam(chosen, lr=self.learning_rate, fused=fused)

    def token_texts(self, data: Instances) -> TokenTexts:
        """Return the tokens of every row's premise and hypothesis, as the module reads them."""
        raise NotImplementedError

    def save_reading(self, folder: Path) -> None:
        """Write what `learn_reading` learned."""

    def load_reading(self, folder: Path) -> None:
        """Read what `save_reading` wrote."""

    # What the contract of text models asks for.

    def learn(self, job: FitJob) -> None:
        """Learn from every row of the job's data."""
        data, condition, validation, checkpoint = job.data, job.condition, job.validation, job.checkpoint
        _require_torch(self.name)
        import torch

        from cuecard.models.neural.checkpoints import Checkpoint
        from cuecard.models.neural.inference import device_for
        from cuecard.models.neural.losses import TrainedFor
        from cuecard.models.neural.training import Training, TrainingSettings

        check_condition(data, condition)
        examples = training_examples(data, job.weights)
        self.labels_, self.task_, self.condition_ = examples.labels, data.task, condition
        place = device_for(self.device)
        state = None
        if checkpoint is not None:
            state = Checkpoint(Path(checkpoint), self._identity(data, examples, validation, job.dynamics))
        begun = state is not None and state.begun()
        self.learn_reading(data)
        rows = self.rows(data)
        whole = ExamplePart(rows, examples)
        part, judged, held = self._split(whole, validation)
        recorded = [whole] if job.dynamics else []
        if recorded and validation is not None and judged is not None:
            recorded.append(judged)
        with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
            torch.manual_seed(self.seed)
            module = self.build(1 if examples.grouped else len(self.labels_))
            if not begun:
                self.initialise(module, rows, examples)
            trained_for = TrainedFor(self.objective, module) if self.objective is not None else None
            module.to(place)
            own = {f.name: getattr(self, f.name) for f in fields(TrainingSettings)}
            run = Training(
                module,
                self.optimiser(module),
                part,
                TrainingSettings(**own),
                validation=judged,
                recorded=recorded,
                held_out=held,
                checkpoint=state,
                watch=job.watch,
                trained_for=trained_for,
            )
            run.run()
            if trained_for is not None:
                trained_for.detach()
        self.module_, self.history_, self.dynamics_ = module.eval(), run.history, run.dynamics

    def predict_proba(self, data: Instances) -> Floats:
        """Return rows × labels; for choice and preference data one number per row, which sum to 1 per example."""
        from cuecard.models.neural.inference import probabilities

        outputs = self._read(data, self._fitted(data))
        if data.grouped:
            return probabilities(outputs, data.first_rows)
        return probabilities(outputs) if len(data) else np.empty((0, len(self.labels_)))

    def embed(self, data: Instances) -> Floats:
        """Return one vector per row: what enters the last layer."""
        return self._read(data, self._fitted(data).features).astype(np.float64)

    def batches(self, data: Instances, batch_size: int | None = None) -> Iterator[tuple[Ints, Batch]]:
        """Yield row numbers and the batch of them, all rows of the data once, on the module's device.

        For work that needs gradients: `module_.embedded(batch)` are the word vectors that
        `module_.forward_from(embedded, batch)` continues from, and `batch["segments"]` says which text each is of.
        """
        from cuecard.models.neural.inference import on_device

        module, rows = self._fitted(data), self.rows(data)
        size, device = batch_size or 4 * self.batch_size, next(module.parameters()).device
        order = length_order(rows.lengths)
        for start in range(0, len(order), size):
            numbers = order[start : start + size]
            yield numbers, on_device(rows.collate(numbers), device)

    def saliency(self, data: Instances) -> SaliencyMaps:
        """Return how much every token matters to the prediction of its row: the norm of the gradient."""
        from cuecard.models.neural.inference import gradient_saliency

        return gradient_saliency(self, data)

    def save(self, folder: Path) -> None:
        """Write the model to a folder: parameters as JSON, weights as safetensors, nothing pickled."""
        if self.module_ is None:
            raise UsageError(f"The model {self.name!r} is not fitted: call fit before save.")
        from safetensors.torch import save_file

        from cuecard.models.neural.checkpoints import kept

        folder = Path(folder)
        tensors = kept("", self.module_.state_dict())
        # The note that these are torch's numbers is what transformers looks for.
        write_whole(folder / WEIGHTS, lambda staged: save_file(tensors, staged, metadata={"format": "pt"}))
        self.save_reading(folder)
        history = [{k: v for k, v in asdict(epoch).items() if k != "seconds"} for epoch in self.history_]
        description = {
            "model": self.name,
            "parameters": self._parameters(),
            "labels": list(self.labels_),
            "task": self.task_,
            "condition": self.condition_,
            "history": history,
        }
        write_json(folder / DESCRIPTION, description)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote."""
        _require_torch(cls.name)
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        from cuecard.models.examples import Epoch
        from cuecard.models.neural.inference import device_for

        folder = Path(folder)
        description = read_description(folder)
        weights = safe_weights(folder)
        if description.get("model") != cls.name:
            raise InputError(f"{folder} holds a model {description.get('model')!r}, not {cls.name!r}.")
        try:
            parameters: dict[str, Any] = {
                k: tuple(v) if isinstance(v, list) else v for k, v in description["parameters"].items()
            }
            model = cls(**parameters)
            model.labels_ = tuple(description["labels"])
            model.task_, model.condition_ = description["task"], description["condition"]
            model.history_ = tuple(Epoch(seconds=float("nan"), **epoch) for epoch in description["history"])
            model.load_reading(folder)
            module = model.build(1 if model._grouped else len(model.labels_))
            module.load_state_dict(load_file(weights))
        except (KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise InputError(f"The model in {folder} is damaged or of another version ({error}).") from None
        model.module_ = module.to(device_for(model.device)).eval()
        return model

    @property
    def _grouped(self) -> bool:
        return self.task_ in ("choice", "preference")

    def _parameters(self) -> dict[str, Any]:
        values = {f.name: getattr(self, f.name) for f in fields(self) if f.init}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    def _fitted(self, data: Instances) -> Any:
        """Return the module, or raise if it cannot read the data."""
        if self.module_ is None:
            raise UsageError(f"The model {self.name!r} is not fitted: call fit or load first.")
        if data.task != self.task_ and not (data.grouped and self._grouped):
            raise UsageError(f"This model was fitted on {self.task_} data and cannot read {data.task} data.")
        check_condition(data, self.condition_)
        return self.module_

    def _read(self, data: Instances, read: Any) -> npt.NDArray[np.float32]:
        from cuecard.models.neural.inference import memory_for, outputs_of

        rows, numbers, size = self.rows(data), np.arange(len(data)), 4 * self.batch_size
        with memory_for(self.batch_size):
            return outputs_of(self.module_, rows, numbers, batch_size=size, read=read)

    def _split(
        self, whole: ExamplePart, validation: Instances | None
    ) -> tuple[ExamplePart, ExamplePart | None, npt.NDArray[np.bool_] | None]:
        """Return what to learn from, the validation examples, and which training examples the latter are."""
        if validation is not None:
            if len(validation) == 0:
                raise InputError("The validation split has no rows: give one with rows, or leave it out.")
            if validation.grouped != whole.examples.grouped:
                raise UsageError(
                    f"The validation split holds {validation.task} data, the training set does not: give the same task."
                )
            judged = ExamplePart(self.rows(validation), examples_of(validation, self.labels_))
            return whole, judged, None
        held = held_out_examples(len(whole.examples), self.held_out, self.seed)
        if not held.any():
            return whole, None, None
        return whole.take(np.flatnonzero(~held)), whole.take(np.flatnonzero(held)), held

    def _identity(
        self, data: Instances, examples: Examples, validation: Instances | None, dynamics: bool
    ) -> dict[str, Any]:
        """Return what a checkpoint must agree with, so that a run never resumes from the state of another."""
        parameters = {k: v for k, v in self._parameters().items() if k not in self.free_parameters}
        weights = blake2b(examples.example_weights.tobytes(), digest_size=16).hexdigest()
        return {
            "model": self.name,
            "training data": data.fingerprint,
            "weights": weights,
            "condition": self.condition_,
            "validation data": validation.fingerprint if validation is not None else None,
            "dynamics": dynamics,
            **({} if self.objective is None else {"objective": self.objective.identity}),
            **parameters,
        }


def _require_torch(name: str) -> None:
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "models", f"The model {name!r}")
