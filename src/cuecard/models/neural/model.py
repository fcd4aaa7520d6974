"""What all torch models share: fitting, predicting, embedding, saving and loading around a module of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cuecard.data import Examples, Instances
from cuecard.errors import MissingExtraError, UsageError
from cuecard.models.examples import Epoch, training_examples
from cuecard.models.learner import Learner, check_parameters, held_out_examples
from cuecard.models.neural.batches import Batch, ExamplePart, Rows
from cuecard.models.saliency import SaliencyMaps, TokenTexts
from cuecard.models.saved import Arrays, Checkpoint
from cuecard.models.text_model import FitJob, Weighting, check_condition
from cuecard.stats.arrays import Floats, Ints, Singles

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

    from cuecard.models.neural.modules import Reader
    from cuecard.models.neural.training import TrainingData


@dataclass
class NeuralModel(Learner):
    """A torch model of labelled texts. A kind of model says how texts are read and which module reads them.

    A subclass has a `name`, adds its own parameters as fields and implements `learn_reading`, `rows` and `build`;
    where something other than random weights and Adam is needed, also `initialise` and `optimiser`; and
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

    #: One `Epoch` per epoch: loss, validation figures, learning rate, seconds.
    history_: tuple[Epoch, ...] = field(default=(), init=False, repr=False)
    #: The torch module, a `modules.Reader`; types of fields are resolved when a model is made, without torch.
    module_: Any = field(default=None, init=False, repr=False)

    #: The note that these are torch's numbers is what transformers looks for.
    metadata: ClassVar[dict[str, str] | None] = {"format": "pt"}
    free_parameters: ClassVar[frozenset[str]] = frozenset({"batch_size", "device", "checkpoint_every"})

    def __post_init__(self) -> None:
        """Refuse parameters that mean nothing."""
        check_parameters(self, "epochs", "batch_size", "patience")
        if not 0 < self.decay <= 1:
            raise UsageError(f"decay must be above 0 and at most 1, not {self.decay}.")
        if self.seed < 0:
            raise UsageError(f"seed must be at least 0, not {self.seed}.")

    # What a kind of model implements.

    def learn_reading(self, data: Instances) -> None:
        """Learn from the training texts what is needed to read texts, such as a vocabulary."""
        raise NotImplementedError

    def rows(self, data: Instances) -> Rows:
        """Return the texts as the module reads them, under the condition the model is fitted on."""
        raise NotImplementedError

    def build(self, outputs: int) -> Reader:
        """Return the module with random weights, from parameters and reading alone."""
        raise NotImplementedError

    def initialise(self, module: Reader, rows: Rows, examples: Examples) -> None:
        """Set first weights other than random ones; not called for a run that resumes from a checkpoint."""

    def optimiser(self, module: Reader) -> Optimizer:
        """Return the optimiser: Adam by default."""
        import torch

        chosen = [p for p in module.parameters() if p.requires_grad]
        fused = all(p.device.type in ("cpu", "cuda") for p in chosen)
        return torch.optim.Adam(chosen, lr=self.learning_rate, fused=fused)

    def token_texts(self, data: Instances) -> TokenTexts:
        """Return the tokens of every row's premise and hypothesis, as the module reads them."""
        raise NotImplementedError

    # What the contract of text models asks for.

    def learn(self, job: FitJob) -> None:
        """Learn from every row of the job's data."""
        _require_torch(self.name)
        import torch

        from cuecard.models.neural.inference import device_for
        from cuecard.models.neural.training import TrainedFor, Training

        check_condition(job.data, job.condition)
        examples = training_examples(job.data, job.weights)
        self.labels_, self.task_, self.condition_ = examples.labels, job.data.task, job.condition
        place = device_for(self.device)
        state = None
        if job.checkpoint is not None:
            state = Checkpoint(Path(job.checkpoint), self.identity(job, examples))
        begun = state is not None and state.begun()
        self.learn_reading(job.data)
        rows = self.rows(job.data)
        data = self._split(ExamplePart(rows, examples), job)
        with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []):
            torch.manual_seed(self.seed)
            module = self.build(self.n_outputs)
            if not begun:
                self.initialise(module, rows, examples)
            trained_for = TrainedFor(self.objective, module) if self.objective is not None else None
            module.to(place)
            run = Training(module, self.optimiser(module), self, data, checkpoint=state, watch=job.watch)
            run.run(trained_for)
        self.module_, self.history_, self.dynamics_ = module.eval(), run.history, run.dynamics

    def predict_proba(self, data: Instances) -> Floats:
        """Return rows × labels; for choice and preference data one number per row, which sum to 1 per example."""
        from cuecard.models.neural.inference import probabilities

        outputs = self._read(data, self._module(data))
        if data.grouped:
            return probabilities(outputs, data.first_rows)
        return probabilities(outputs) if len(data) else np.empty((0, len(self.labels_)))

    def embed(self, data: Instances) -> Floats:
        """Return one vector per row: what enters the last layer."""
        return self._read(data, self._module(data).features).astype(np.float64)

    def batches(self, data: Instances, batch_size: int | None = None) -> Iterator[tuple[Ints, Batch]]:
        """Return row numbers and the batch of them, all rows of the data once, on the module's device.

        For work that needs gradients: `module_.embedded(batch)` are the word vectors that
        `module_.forward_from(embedded, batch)` continues from, and `batch["segments"]` says which text each is of.
        """
        from cuecard.models.neural.inference import batches_of

        device = next(self._module(data).parameters()).device
        return batches_of(self.rows(data), np.arange(len(data)), batch_size or 4 * self.batch_size, device)

    def saliency(self, data: Instances) -> SaliencyMaps:
        """Return how much every token matters to the prediction of its row: the norm of the gradient."""
        from cuecard.models.neural.inference import gradient_saliency

        return gradient_saliency(self._module(data), self.batches(data), grouped=data.grouped)

    @property
    def fitted(self) -> bool:
        """Whether the model can predict."""
        return self.module_ is not None

    def arrays(self) -> Arrays:
        """Return the weights of the module, under its own names."""
        return {name: value.cpu().numpy() for name, value in self.module_.state_dict().items()}

    def take(self, arrays: Arrays) -> None:
        """Take the weights of the module."""
        import torch

        from cuecard.models.neural.inference import device_for

        module = self.build(self.n_outputs)
        module.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
        self.module_ = module.to(device_for(self.device)).eval()

    def described(self) -> dict[str, Any]:
        """Return the epochs of the training, without the time they took."""
        return {
            "history": [{k: v for k, v in asdict(e).items() if k != "seconds"} for e in self.history_],
        }

    def take_description(self, description: Mapping[str, Any]) -> None:
        """Take the epochs of the training."""
        self.history_ = tuple(Epoch(seconds=float("nan"), **epoch) for epoch in description["history"])

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that `save` wrote."""
        _require_torch(cls.name)
        return super().load(folder)

    def set_last_layer(self, weights: Floats, intercept: Floats) -> None:
        """Take another last layer: weights are labels × dimensions."""
        import torch

        with torch.no_grad():
            self.module_.last.weight.copy_(torch.from_numpy(weights))
            self.module_.last.bias.copy_(torch.from_numpy(intercept))

    def _module(self, data: Instances) -> Reader:
        """Return the module, or raise if it cannot read the data."""
        self.check_fitted(data)
        module: Reader = self.module_
        return module

    def _read(self, data: Instances, read: Callable[[Batch], Tensor]) -> Singles:
        from cuecard.models.neural.inference import memory_for, outputs_of

        rows, numbers, size = self.rows(data), np.arange(len(data)), 4 * self.batch_size
        with memory_for(self.batch_size):
            return outputs_of(self._module(data), rows, numbers, batch_size=size, read=read)

    def _split(self, whole: ExamplePart, job: FitJob) -> TrainingData:
        """Return what to learn from, what to validate on and what to record."""
        from cuecard.models.neural.training import TrainingData

        recorded = (whole,) if job.dynamics else ()
        if job.validation is not None:
            judged = ExamplePart(self.rows(job.validation), self.validation_examples(job.validation))
            return TrainingData(whole, judged, (*recorded, judged) if recorded else ())
        held = held_out_examples(len(whole.examples), self.held_out, self.seed)
        if not held.any():
            return TrainingData(whole, None, recorded)
        return TrainingData(
            whole.take(np.flatnonzero(~held)), whole.take(np.flatnonzero(held)), recorded, held
        )


def _require_torch(name: str) -> None:
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "models", f"The model {name!r}")
