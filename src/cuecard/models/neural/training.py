"""The one training loop of all torch models: batches, early stopping, dynamics, checkpoints."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Optimizer

from cuecard.errors import UsageError
from cuecard.models.examples import Dynamics, Epoch, best_epoch, no_longer_better, validation_figures
from cuecard.models.learner import Recorder
from cuecard.models.neural.batches import Batch, ExamplePart, epoch_batches
from cuecard.models.neural.inference import memory_for, on_device, outputs_of, probabilities
from cuecard.models.neural.losses import TrainedFor, losses
from cuecard.models.neural.modules import Reader
from cuecard.models.saved import Arrays, Checkpoint, under
from cuecard.models.text_model import Step, Watch
from cuecard.stats.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from cuecard.models.neural.model import NeuralModel

#: The state of a module or of an optimiser, by name.
Tensors = dict[str, Tensor]


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Examples to learn from and to validate on, and those whose dynamics are recorded.

    `held_out` says which examples of the first recorded part are not learned from; those of others never are.
    """

    part: ExamplePart
    validation: ExamplePart | None = None
    recorded: tuple[ExamplePart, ...] = ()
    held_out: Bools | None = None


@dataclass
class RunPosition:
    """Where a run is: everything about it that is no tensor."""

    epoch: int = 0  # epochs finished
    batch: int = 0  # batches finished in the epoch under way
    batch_size: int = 0
    loss_sum: float = 0.0
    seconds: float = 0.0  # spent on the epoch under way
    learning_rate: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)


class Training:
    """A run: what is trained, on what, and how far it is; `settings` are the parameters of the model."""

    def __init__(
        self,
        module: Reader,
        optimiser: Optimizer,
        settings: NeuralModel,
        data: TrainingData,
        *,
        checkpoint: Checkpoint | None = None,
        watch: Watch | None = None,
    ) -> None:
        self.module, self.optimiser, self.settings, self.data = module, optimiser, settings, data
        self.checkpoint, self.watch = checkpoint, watch
        self.progress = RunPosition(
            batch_size=settings.batch_size, learning_rate=optimiser.param_groups[0]["lr"]
        )
        self.device = next(module.parameters()).device
        self._trained_for: TrainedFor | None = None
        self._best: Tensors = {}
        self._recorder = Recorder([part.examples for part in data.recorded], data.held_out)
        self._lengths = data.part.lengths()

    @property
    def history(self) -> tuple[Epoch, ...]:
        """The epochs so far."""
        return tuple(Epoch(**entry) for entry in self.progress.history)

    @property
    def dynamics(self) -> Dynamics | None:
        """What was recorded after every epoch, if anything was to be."""
        return self._recorder.dynamics

    def run(self, trained_for: TrainedFor | None = None) -> None:
        """Train to the end, from where the checkpoint is; leaves the module with the best epoch's weights.

        `trained_for` is a loss other than cross-entropy.
        """
        self._trained_for = trained_for
        self.resume()
        with memory_for(self.settings.batch_size, self.checkpoint.folder if self.checkpoint else None):
            while self.progress.epoch < self.settings.epochs and not self._stops:
                self._run_epoch()
        if self._best:
            self.module.load_state_dict(self._best)
        if trained_for is not None:
            trained_for.detach()

    def _run_epoch(self) -> None:
        progress, settings = self.progress, self.settings
        began = time.perf_counter() - progress.seconds
        batches = epoch_batches(
            self._lengths,
            settings.batch_size,
            seed=settings.seed,
            epoch=progress.epoch,
            chances=self.data.part.examples.example_weights if settings.weighting == "sampler" else None,
        )
        self.module.train()
        for batch in batches[progress.batch :]:
            progress.loss_sum += self._step(batch)
            progress.batch += 1
            progress.seconds = time.perf_counter() - began
            if settings.checkpoint_every and progress.batch % settings.checkpoint_every == 0:
                self._save()
            self._report(len(batches), progress.loss_sum / progress.batch)
        self._finish_epoch(progress.loss_sum / len(batches), began)
        self._save()
        self._report(len(batches), progress.history[-1]["loss"])

    def _step(self, batch: Ints) -> float:
        """Learn from one batch; return its mean loss."""
        examples = self.data.part.examples
        inputs = on_device(
            self.data.part.rows.collate(self.data.part.numbers[examples.rows(batch)]), self.device
        )
        self.optimiser.zero_grad(set_to_none=True)
        each = self._losses(inputs, batch)
        if self.settings.weighting == "loss":
            each = each * torch.from_numpy(examples.example_weights[batch].astype(np.float32)).to(self.device)
        loss = each.mean()
        value = loss.item()
        if not math.isfinite(value):
            raise UsageError(
                f"The loss is no longer a number in epoch {self.progress.epoch + 1}: try a smaller learning_rate "
                f"than {self.progress.learning_rate:g}."
            )
        loss.backward()
        if self.settings.clip:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.settings.clip)
        self.optimiser.step()
        return float(value)

    def _losses(self, inputs: Batch, batch: Ints) -> Tensor:
        examples, sizes = self.data.part.examples, self._sizes(batch)
        gold = torch.from_numpy(examples.gold[batch])
        if self._trained_for is None:
            return losses(self.module(inputs), sizes, gold)
        numbers = batch if examples.chosen is None else examples.chosen[batch]
        return self._trained_for.losses(inputs, sizes, gold, numbers)

    def _sizes(self, batch: Ints) -> Ints | None:
        starts = self.data.part.examples.first_rows
        return starts[batch + 1] - starts[batch] if self.data.part.examples.grouped else None

    @property
    def _stops(self) -> bool:
        return no_longer_better(self.history, self.settings.patience)

    def _finish_epoch(self, loss: float, began: float) -> None:
        """Judge the epoch: keep the best state, decay the learning rate, record the dynamics."""
        progress, judged = self.progress, self.data.validation
        figures: tuple[float | None, float | None] = (None, None)
        if judged is not None:
            figures = validation_figures(self._chances(judged), judged.examples)
        self._recorder.add(self._chances(part) for part in self.data.recorded)
        progress.epoch += 1
        seconds = time.perf_counter() - began
        epoch = Epoch(progress.epoch, loss, seconds, *figures, progress.learning_rate)
        progress.history.append(asdict(epoch))
        progress.batch, progress.loss_sum, progress.seconds = 0, 0.0, 0.0
        if judged is None:
            return
        if best_epoch(self.history) == progress.epoch:
            self._best = {
                name: value.detach().to("cpu", copy=True) for name, value in self.module.state_dict().items()
            }
        else:
            progress.learning_rate *= self.settings.decay
            self._set_learning_rate()

    def _chances(self, part: ExamplePart) -> Floats:
        outputs = outputs_of(self.module, part.rows, part.numbers, batch_size=4 * self.settings.batch_size)
        return probabilities(outputs, part.examples.first_rows if part.examples.grouped else None)

    def _set_learning_rate(self) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = self.progress.learning_rate

    def _report(self, batches: int, loss: float) -> None:
        if self.watch is None:
            return
        progress, epochs = self.progress, self.settings.epochs
        last = progress.history[-1]["validation_accuracy"] if progress.history else None
        done = progress.epoch * batches + progress.batch
        epoch = min(progress.epoch + (progress.batch > 0), epochs)
        self.watch(Step(epoch, epochs, done, epochs * batches, loss, last))

    def resume(self) -> None:
        """Go to where the checkpoint is, if there is one."""
        saved = self.checkpoint.read() if self.checkpoint else None
        if saved is None:
            return
        arrays, progress = saved
        self.progress = RunPosition(**progress)
        self._change_batch_size()
        self.module.load_state_dict(as_tensors(under("model.", arrays)))
        self._best = as_tensors(under("best.", arrays))
        self._restore_optimiser(as_tensors(under("optimiser.", arrays)))
        self._set_learning_rate()
        self._recorder.restore(arrays, len(self.history))
        torch.set_rng_state(torch.from_numpy(arrays["random.cpu"]))
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(torch.from_numpy(arrays["random.cuda"]), self.device)

    def _restore_optimiser(self, tensors: Tensors) -> None:
        """Give the optimiser its state: parameter number, a dot, the entry's name."""
        state: dict[int, Tensors] = {}
        for key, value in tensors.items():
            number, name = key.split(".", 1)
            state.setdefault(int(number), {})[name] = value
        groups = self.optimiser.state_dict()["param_groups"]
        self.optimiser.load_state_dict({"state": state, "param_groups": groups})

    def _change_batch_size(self) -> None:
        """Continue at the same share of the epoch if batches have another size now, as after running out of memory."""
        progress, size = self.progress, self.settings.batch_size
        if progress.batch and progress.batch_size != size:
            batch = progress.batch * progress.batch_size // size
            progress.loss_sum *= batch / progress.batch
            progress.batch = batch
        progress.batch_size = size

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        optimiser = {
            f"{number}.{name}": torch.as_tensor(value)
            for number, entries in self.optimiser.state_dict()["state"].items()
            for name, value in entries.items()
        }
        arrays = {
            **as_arrays("model.", self.module.state_dict()),
            **as_arrays("best.", self._best),
            **as_arrays("optimiser.", optimiser),
            "random.cpu": torch.get_rng_state().numpy(),
            **self._recorder.arrays(),
        }
        if self.device.type == "cuda":
            arrays["random.cuda"] = torch.cuda.get_rng_state(self.device).numpy()
        progress = self.progress
        name = f"{progress.epoch}-{progress.batch}-{progress.batch_size}"
        self.checkpoint.write(name, arrays, asdict(progress))


def as_arrays(prefix: str, tensors: Tensors) -> Arrays:
    """Return tensors as arrays under a prefix."""
    return {f"{prefix}{name}": value.detach().cpu().numpy() for name, value in tensors.items()}


def as_tensors(arrays: Arrays) -> Tensors:
    """Return arrays as tensors."""
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
