"""The one training loop of all torch models: losses of a batch, early stopping, dynamics, checkpoints."""

from __future__ import annotations

import math
import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Optimizer

from cuecard.errors import UsageError
from cuecard.models.examples import Dynamics, Epoch, best_epoch, no_longer_better, validation_figures
from cuecard.models.learner import Recorder
from cuecard.models.neural.batches import Batch, ExamplePart, epoch_batches
from cuecard.models.neural.inference import memory_for, on_device, outputs_of, probabilities
from cuecard.models.neural.modules import Reader
from cuecard.models.saved import Arrays, Checkpoint, under
from cuecard.models.text_model import Objective, Step, Watch
from cuecard.stats.arrays import Bools, Floats, Ints

if TYPE_CHECKING:
    from cuecard.models.neural.model import NeuralModel


def answer_table(outputs: Tensor, sizes: Ints | None) -> Tensor:
    """Return rows × labels as they are; rows × 1 where the rows of an example compete as examples × choices.

    An example with fewer rows than the largest has choices of no chance.
    """
    if sizes is None:
        return outputs
    owner = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table = outputs.new_full((len(sizes), int(sizes.max())), -math.inf)
    table[torch.from_numpy(owner), torch.from_numpy(place)] = outputs.squeeze(1)
    return table


def losses(outputs: Tensor, sizes: Ints | None, gold: Tensor) -> Tensor:
    """Return the cross-entropy of every example.

    Args:
        outputs: rows × labels; or rows × 1 where the rows of an example compete.
        sizes: in the latter case, how many rows each example has.
        gold: of every example the column of its label, or the place of its right row.
    """
    return functional.cross_entropy(answer_table(outputs, sizes), gold.to(outputs.device), reduction="none")


#: What training adds to a module for its time: the mixing layer, and the weights of groups.
MIXING, GROUP_WEIGHTS = "mixing", "group_weights"


class TrainedFor:
    """An objective while a module is trained for it: what it adds to the module is taken away at the end."""

    def __init__(self, objective: Objective, module: Reader) -> None:
        self.objective, self.module = objective, module
        if objective.kind == "learned-mixin":
            module.add_module(MIXING, nn.Linear(module.last.in_features, 1))
        if objective.groups is not None:
            count = int(objective.groups.max()) + 1
            module.register_buffer(GROUP_WEIGHTS, torch.full((count,), 1 / count))

    def detach(self) -> None:
        """Leave the module as it was built, with what it learned."""
        self.module._modules.pop(MIXING, None)
        self.module._buffers.pop(GROUP_WEIGHTS, None)

    def losses(self, inputs: Batch, sizes: Ints | None, gold: Tensor, numbers: Ints) -> Tensor:
        """Return the loss of every example; `numbers` are theirs among all training examples."""
        features = self.module.features(inputs)
        table = functional.log_softmax(answer_table(self.module.last(features), sizes), dim=1)
        gold = gold.to(table.device)
        kind = self.objective.kind
        if kind == "product-of-experts":
            expert = self._of(self.objective.expert, numbers, table)
            # Choices that are not there have −∞ in both; a strength of 0 leaves the table as it is.
            added = (self.objective.strength * expert).masked_fill(~torch.isfinite(expert), 0.0)
            return functional.cross_entropy(table + added, gold, reduction="none")
        if kind == "learned-mixin":
            return self._mixed(table, features, sizes, gold, numbers)
        if kind == "confidence":
            targets = self._of(self.objective.targets, numbers, table)
            return -torch.where(targets > 0, targets * table, torch.zeros_like(table)).sum(dim=1)
        return self._group_robust(functional.cross_entropy(table, gold, reduction="none"), numbers)

    def _of(self, values: Floats | None, numbers: Ints, table: Tensor) -> Tensor:
        """Return the rows of some examples, with as many answers as the batch has."""
        assert values is not None
        rows = values[numbers][:, : table.shape[1]].astype(np.float32)
        return torch.from_numpy(np.ascontiguousarray(rows)).to(table.device)

    def _mixed(
        self, table: Tensor, features: Tensor, sizes: Ints | None, gold: Tensor, numbers: Ints
    ) -> Tensor:
        """Clark et al. 2019: the model says how much of the expert is mixed in; a penalty keeps it from saying none."""
        amount = functional.softplus(self.module.mixing(features)).squeeze(1)
        if sizes is not None:
            owner = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)).to(amount.device)
            total = torch.zeros(len(sizes), device=amount.device).index_add(0, owner, amount)
            amount = total / torch.from_numpy(sizes.astype(np.float32)).to(amount.device)
        expert = self._of(self.objective.expert, numbers, table)
        possible = torch.isfinite(expert)
        mixed = torch.where(possible, amount[:, None] * expert.masked_fill(~possible, 0.0), expert)
        share = functional.log_softmax(mixed, dim=1)
        entropy = -torch.where(
            possible, share.exp() * share.masked_fill(~possible, 0.0), share.new_zeros(())
        ).sum(dim=1)
        loss = functional.cross_entropy(table + mixed, gold, reduction="none")
        return loss + self.objective.strength * entropy

    def _group_robust(self, each: Tensor, numbers: Ints) -> Tensor:
        """Sagawa et al. 2020, algorithm 1: groups of higher loss gain weight, exponentially."""
        assert self.objective.groups is not None
        weights = self.module.group_weights
        group = torch.from_numpy(self.objective.groups[numbers]).to(each.device)
        sizes = torch.zeros_like(weights).index_add(0, group, torch.ones_like(each))
        sums = torch.zeros_like(weights).index_add(0, group, each.detach())
        if self.module.training:
            weights.mul_(torch.exp(self.objective.strength * sums / sizes.clamp(min=1)))
            weights.div_(weights.sum())
        # The mean of these is Σ_g q_g · loss_g of the batch.
        return each * weights[group] * len(each) / sizes[group]


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
