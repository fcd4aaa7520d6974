"""The one training loop of all torch models: batches, early stopping, dynamics, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from cuecard.errors import UsageError
from cuecard.models.examples import Dynamics, Epoch, accuracy, gold_probabilities, recorded_epoch
from cuecard.models.neural.batches import Batch, ExamplePart, epoch_batches
from cuecard.models.neural.checkpoints import Checkpoint, kept, optimiser_tensors, restore_optimiser, under
from cuecard.models.neural.inference import memory_for, on_device, outputs_of, probabilities
from cuecard.models.neural.losses import TrainedFor, answer_table
from cuecard.models.text_model import Step, Watch, Weighting
from cuecard.stats.arrays import Ints


@dataclass(frozen=True)
class TrainingSettings:
    """How to train; the fields of `NeuralModel` of the same names say what they mean."""

    epochs: int
    batch_size: int
    patience: int
    weighting: Weighting
    decay: float
    clip: float
    seed: int
    checkpoint_every: int = 0


@dataclass
class RunPosition:
    """Where a run is: everything about it that is no tensor."""

    epoch: int = 0  # epochs finished
    batch: int = 0  # batches finished in the epoch under way
    batch_size: int = 0
    loss_sum: float = 0.0
    best_epoch: int = 0
    best_accuracy: float = -1.0  # below any accuracy, so that the first epoch is better
    best_loss: float = 0.0
    not_better: int = 0  # epochs in a row without a better one
    seconds: float = 0.0  # spent on the epoch under way
    learning_rate: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)


class Training:
    """A run: what is trained, on what, and how far it is."""

    def __init__(
        self,
        module: Any,
        optimiser: Any,
        part: ExamplePart,
        recipe: TrainingSettings,
        *,
        validation: ExamplePart | None = None,
        recorded: Sequence[ExamplePart] = (),
        held_out: npt.NDArray[np.bool_] | None = None,
        checkpoint: Checkpoint | None = None,
        watch: Watch | None = None,
        trained_for: TrainedFor | None = None,
    ) -> None:
        """Prepare a run on `part`, judged on `validation`, with the dynamics of `recorded`.

        `held_out` says which examples of the first recorded part are not learned from; those of others never are.
        `trained_for` is a loss other than cross-entropy.
        """
        self.module, self.optimiser, self.part, self.recipe = module, optimiser, part, recipe
        self.validation, self.recorded, self.held_out = validation, recorded, held_out
        self.checkpoint, self.watch, self.trained_for = checkpoint, watch, trained_for
        self.progress = RunPosition(
            batch_size=recipe.batch_size, learning_rate=optimiser.param_groups[0]["lr"]
        )
        self.device = next(module.parameters()).device
        self._best: dict[str, Any] = {}
        self._gold: list[npt.NDArray[np.float32]] = []
        self._correct: list[npt.NDArray[np.bool_]] = []
        self._lengths = part.lengths()

    @property
    def history(self) -> tuple[Epoch, ...]:
        """The epochs so far."""
        return tuple(Epoch(**entry) for entry in self.progress.history)

    @property
    def dynamics(self) -> Dynamics | None:
        """What was recorded after every epoch, if anything was to be."""
        if not self.recorded:
            return None
        sizes = [len(part.examples) for part in self.recorded]
        n = sum(sizes)
        held = np.arange(n) >= sizes[0]
        if self.held_out is not None:
            held[: sizes[0]] = self.held_out
        gold = np.array(self._gold, dtype=np.float32).reshape(-1, n)
        return Dynamics(gold, np.array(self._correct, dtype=np.bool_).reshape(-1, n), held)

    def run(self) -> None:
        """Train to the end, from where the checkpoint is; leaves the module with the best epoch's weights."""
        self.resume()
        with memory_for(self.recipe.batch_size, self.checkpoint.folder if self.checkpoint else None):
            while self.progress.epoch < self.recipe.epochs and not self._no_longer_better:
                self._run_epoch()
        if self._best:
            self.module.load_state_dict(self._best)

    @property
    def _no_longer_better(self) -> bool:
        return self.validation is not None and self.progress.not_better >= self.recipe.patience

    def _run_epoch(self) -> None:
        progress, recipe = self.progress, self.recipe
        began = time.perf_counter() - progress.seconds
        batches = epoch_batches(
            self._lengths,
            recipe.batch_size,
            seed=recipe.seed,
            epoch=progress.epoch,
            chances=self.part.examples.example_weights if recipe.weighting == "sampler" else None,
        )
        self.module.train()
        for batch in batches[progress.batch :]:
            progress.loss_sum += self._step(batch)
            progress.batch += 1
            progress.seconds = time.perf_counter() - began
            if recipe.checkpoint_every and progress.batch % recipe.checkpoint_every == 0:
                self._save()
            self._report(len(batches), progress.loss_sum / progress.batch)
        self._finish_epoch(progress.loss_sum / len(batches), began)
        self._save()
        self._report(len(batches), progress.history[-1]["loss"])

    def _step(self, batch: Ints) -> float:
        """Learn from one batch; return its mean loss."""
        examples = self.part.examples
        inputs = on_device(self.part.rows.collate(self.part.numbers[examples.rows(batch)]), self.device)
        self.optimiser.zero_grad(set_to_none=True)
        each = self._losses(inputs, batch)
        if self.recipe.weighting == "loss":
            each = each * torch.from_numpy(examples.example_weights[batch].astype(np.float32)).to(self.device)
        loss = each.mean()
        value = loss.item()
        if not math.isfinite(value):
            raise UsageError(
                f"The loss is no longer a number in epoch {self.progress.epoch + 1}: try a smaller learning_rate "
                f"than {self.progress.learning_rate:g}."
            )
        loss.backward()
        if self.recipe.clip:
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), self.recipe.clip)
        self.optimiser.step()
        return float(value)

    def _losses(self, inputs: Batch, batch: Ints) -> Any:
        examples, sizes = self.part.examples, self._sizes(batch)
        gold = torch.from_numpy(examples.gold[batch])
        if self.trained_for is None:
            return losses(self.module(inputs), sizes, gold)
        numbers = batch if examples.chosen is None else examples.chosen[batch]
        return self.trained_for.losses(inputs, sizes, gold, numbers)

    def _sizes(self, batch: Ints) -> Ints | None:
        starts = self.part.examples.first_rows
        return starts[batch + 1] - starts[batch] if self.part.examples.grouped else None

    def _finish_epoch(self, loss: float, began: float) -> None:
        """Judge the epoch: keep the best state, decay the learning rate, record the dynamics."""
        progress, rate = self.progress, self.progress.learning_rate
        share, cost = None, None
        if self.validation is not None:
            share, cost = self._validate(self.validation)
            better = (-share, cost) < (-progress.best_accuracy, progress.best_loss)
            if better:
                progress.best_accuracy, progress.best_loss = share, cost
                progress.best_epoch, progress.not_better = progress.epoch + 1, 0
                self._best = kept("", self.module.state_dict())
            else:
                progress.not_better += 1
                progress.learning_rate *= self.recipe.decay
                self._set_learning_rate()
        if self.recorded:
            gold, correct = recorded_epoch([(self._chances(part), part.examples) for part in self.recorded])
            self._gold.append(gold)
            self._correct.append(correct)
        seconds = time.perf_counter() - began
        progress.history.append(asdict(Epoch(progress.epoch + 1, loss, seconds, share, cost, rate)))
        progress.epoch += 1
        progress.batch, progress.loss_sum, progress.seconds = 0, 0.0, 0.0

    def _validate(self, part: ExamplePart) -> tuple[float, float]:
        """Return accuracy and loss; an example whose label the model does not know is wrong and has no loss."""
        examples = part.examples
        chances = self._chances(part)
        has_label = examples.gold >= 0
        gold = np.maximum(gold_probabilities(chances, examples)[has_label], 1e-30)
        weights = examples.example_weights[has_label]
        loss = float(-(np.log(gold) * weights).sum() / weights.sum()) if weights.any() else 0.0
        return accuracy(chances, examples), loss

    def _chances(self, part: ExamplePart) -> npt.NDArray[np.float64]:
        outputs = outputs_of(self.module, part.rows, part.numbers, batch_size=4 * self.recipe.batch_size)
        return probabilities(outputs, part.examples.first_rows if part.examples.grouped else None)

    def _set_learning_rate(self) -> None:
        for group in self.optimiser.param_groups:
            group["lr"] = self.progress.learning_rate

    def _report(self, batches: int, loss: float) -> None:
        if self.watch is None:
            return
        progress, epochs = self.progress, self.recipe.epochs
        last = progress.history[-1]["validation_accuracy"] if progress.history else None
        done = progress.epoch * batches + progress.batch
        epoch = min(progress.epoch + (progress.batch > 0), epochs)
        self.watch(Step(epoch, epochs, done, epochs * batches, loss, last))

    def resume(self) -> None:
        """Go to where the checkpoint is, if there is one."""
        saved = self.checkpoint.read() if self.checkpoint else None
        if saved is None:
            return
        tensors, progress = saved
        self.progress = RunPosition(**progress)
        self._change_batch_size()
        self.module.load_state_dict(under("model.", tensors))
        self._best = under("best.", tensors)
        restore_optimiser(self.optimiser, under("optimiser.", tensors))
        self._set_learning_rate()
        if self.recorded:
            self._gold = list(tensors["dynamics.probability"].numpy())
            self._correct = list(tensors["dynamics.correct"].numpy())
        torch.set_rng_state(tensors["random.cpu"])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(tensors["random.cuda"], self.device)

    def _change_batch_size(self) -> None:
        """Continue at the same share of the epoch if batches have another size now, as after running out of memory."""
        progress, size = self.progress, self.recipe.batch_size
        if progress.batch and progress.batch_size != size:
            batch = progress.batch * progress.batch_size // size
            progress.loss_sum *= batch / progress.batch
            progress.batch = batch
        progress.batch_size = size

    def _save(self) -> None:
        if self.checkpoint is None:
            return
        tensors = {
            **kept("model.", self.module.state_dict()),
            **kept("best.", self._best),
            **kept("optimiser.", optimiser_tensors(self.optimiser)),
            "random.cpu": torch.get_rng_state(),
        }
        if self.device.type == "cuda":
            tensors["random.cuda"] = torch.cuda.get_rng_state(self.device)
        dynamics = self.dynamics
        if dynamics is not None:
            tensors["dynamics.probability"] = torch.from_numpy(dynamics.probability)
            tensors["dynamics.correct"] = torch.from_numpy(dynamics.correct)
        self.checkpoint.write(tensors, asdict(self.progress))


def losses(outputs: Any, sizes: Ints | None, gold: Any) -> Any:
    """Return the cross-entropy of every example.

    Args:
        outputs: rows × labels; or rows × 1 where the rows of an example compete.
        sizes: in the latter case, how many rows each example has.
        gold: of every example the column of its label, or the place of its right row.
    """
    return functional.cross_entropy(answer_table(outputs, sizes), gold.to(outputs.device), reduction="none")
