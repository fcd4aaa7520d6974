"""Stochastic gradient descent over bags of features: epochs, early stopping, dynamics, resuming."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import softmax

from cuecard.data import Examples
from cuecard.errors import UsageError
from cuecard.models.examples import Epoch, best_epoch, no_longer_better, validation_figures
from cuecard.models.learner import Recorder
from cuecard.models.linear.learner import softmax_within
from cuecard.models.saved import Arrays, Checkpoint, expected
from cuecard.models.text_model import Objective, Step, Watch
from cuecard.stats import _native
from cuecard.stats.arrays import Bools, Floats, Ints, Singles

#: Vectors of features, of outputs, the bias, and what an objective learns aside.
Vectors = tuple[Singles, ...]

#: Reports of progress per epoch.
REPORTS = 20

#: A visit counts at most this many times the mean; a heavier example is visited more often instead. One step with a
#: weight in the hundreds would throw away what was learned before it.
MAXIMUM_LOAD = 4.0


@dataclass(frozen=True, eq=False)
class Bags:
    """Sparse rows in the types the loops are compiled for, with the examples they belong to."""

    features: sparse.csr_matrix
    examples: Examples

    @cached_property
    def arrays(self) -> tuple[Ints, npt.NDArray[np.int32], Singles]:
        """The rows as the loops take them."""
        return loop_arrays(self.features)

    def part(self, chosen: Ints) -> Bags:
        """Return some of the examples, which count alike where none of them has a weight."""
        examples = self.examples.take(chosen)
        if not examples.example_weights.any():
            examples = replace(examples, weights=None)
        return Bags(self.features[self.examples.rows(chosen)], examples)


@dataclass(frozen=True)
class DescentSettings:
    """How to descend: fields of `FastText` of the same names, and how many margins a row has."""

    outputs: int
    dimensions: int
    epochs: int
    learning_rate: float
    patience: int
    sampled: bool
    seed: int


class Descent:
    """A run: what is learned, from what, and how far it is."""

    def __init__(
        self, bags: Bags, learned: Ints, settings: DescentSettings, objective: Objective | None = None
    ) -> None:
        """Prepare a run on the examples `learned`, drawn by their weights where `sampled`."""
        outputs, dimensions, seed = settings.outputs, settings.dimensions, settings.seed
        self.bags, self.examples, self.learned = bags, bags.examples, learned
        self.settings = settings
        width = outputs if not self.examples.grouped else 0
        self._objective = Loops.of(objective, width)
        first = (
            np.random.default_rng([seed, 0]).uniform(-1, 1, (bags.features.shape[1], dimensions)) / dimensions
        )
        vectors = first.astype(np.float32)
        self.now: Vectors = (
            vectors,
            np.zeros((outputs, dimensions), np.float32),
            np.zeros(outputs, np.float32),
            *self._objective.first_aside(dimensions),
        )
        self.best: Vectors = self.now
        self.history: list[Epoch] = []
        self.recorder = Recorder([])
        weights = self.examples.example_weights
        # Where the whole weight fell to examples that are held out, the others count alike.
        self._weights = weights / weights[learned].mean() if weights[learned].any() else np.ones(len(weights))
        loads = np.ones(len(weights)) if settings.sampled else self._weights
        self._visits = np.ceil(loads / MAXIMUM_LOAD).astype(np.int64)
        self._factors = (loads / np.maximum(self._visits, 1)).astype(np.float32)
        self._visited = np.repeat(learned, self._visits[learned])

    def run(
        self,
        judged: Bags | None,
        *,
        record: Sequence[Bags],
        held_out: Bools,
        state: Checkpoint | None,
        watch: Watch | None,
    ) -> None:
        """Learn to the end, from where the state on disk is; `best` is then what to keep.

        After every epoch, the dynamics of the examples to `record` are kept, those to learn from first, of which some
        are held out.
        """
        self.recorder = Recorder([bags.examples for bags in record], held_out)
        if state is not None:
            self._restore(state)
        patience = self.settings.patience
        while len(self.history) < self.settings.epochs and not no_longer_better(self.history, patience):
            began = time.perf_counter()
            loss = self._epoch(watch)
            figures: tuple[float | None, float | None] = (None, None)
            if judged is not None:
                figures = validation_figures(self._probabilities(judged), judged.examples)
            self.history.append(Epoch(len(self.history) + 1, loss, time.perf_counter() - began, *figures))
            if judged is None or best_epoch(self.history) == len(self.history):
                self.best = tuple(array.copy() for array in self.now)
            self.recorder.add(self._probabilities(bags) for bags in record)
            if state is not None:
                self._keep(state)
        if watch is not None:
            self._report(
                watch, len(self.history), len(self.history) * len(self._visited), self.history[-1].loss
            )

    def _order(self) -> Ints:
        """Return the examples of the epoch under way, a function of seed and epoch alone."""
        generator = np.random.default_rng([self.settings.seed, 2, len(self.history)])
        groups = self._objective.groups
        if not self.settings.sampled and not len(groups):
            return self._visited[generator.permutation(len(self._visited))]
        chances = (self._weights if self.settings.sampled else self._visits)[self.learned].astype(np.float64)
        if len(groups):  # every group that has weight as often as any other
            group_of = groups[self.learned]
            totals = np.bincount(group_of, weights=chances)[group_of]
            chances = np.divide(chances, totals, out=np.zeros(len(group_of)), where=totals > 0)
        drawn = generator.choice(len(self.learned), size=len(self.learned), p=chances / chances.sum())
        return self.learned[drawn]

    def _epoch(self, watch: Watch | None) -> float:
        """Learn from every example in proportion to its weight; return the mean loss."""
        order = self._order()
        decay, loss = self.settings.learning_rate / (self.settings.epochs * len(order)), 0.0
        before = done = len(self.history) * len(order)
        for part in _parts(order, REPORTS if watch is not None else 1):
            loss += self._learn(part, self.settings.learning_rate - decay * done, decay)
            done += len(part)
            if not math.isfinite(loss):
                raise UsageError(
                    f"The loss is no longer a number in epoch {len(self.history) + 1}: "
                    f"try a smaller learning_rate than {self.settings.learning_rate:g}."
                )
            if watch is not None:
                so_far = (done - before) * len(self.learned) / len(order)
                self._report(watch, len(self.history) + 1, done, loss / so_far)
        return loss / len(self.learned)

    def _learn(self, order: Ints, rate: float, decay: float) -> float:
        examples, (vectors, output, bias, *aside) = self.examples, self.now
        indptr, indices, values = self.bags.arrays
        gold, factors, loops = examples.gold, self._factors, self._objective.arguments(aside)
        if examples.grouped:
            starts = examples.first_rows
            return _native.learn_choices(
                indptr, indices, values, starts, gold, factors, order, rate, decay, vectors, output, *loops
            )
        return _native.learn_labels(
            indptr, indices, values, gold, factors, order, rate, decay, vectors, output, bias, *loops
        )

    def _probabilities(self, bags: Bags) -> Floats:
        vectors, output, bias, *_ = self.now
        hidden = bags.features.astype(np.float32, copy=False) @ vectors
        margins = hidden.astype(np.float64) @ output.T.astype(np.float64)
        if bags.examples.grouped:
            return softmax_within(margins[:, 0], bags.examples.first_rows)
        return np.asarray(softmax(margins + bias, axis=1))

    def _report(self, watch: Watch, epoch: int, done: int, loss: float) -> None:
        last = self.history[-1].validation_accuracy if self.history else None
        watch(Step(epoch, self.settings.epochs, done, self.settings.epochs * len(self._visited), loss, last))

    def _keep(self, state: Checkpoint) -> None:
        arrays = self.recorder.arrays()
        for name, vectors in (("now", self.now), ("best", self.best)):
            arrays |= {f"{name}.{i}": array for i, array in enumerate(vectors)}
        history = [asdict(epoch) for epoch in self.history]
        state.write(str(len(history)), arrays, {"history": history})

    def _restore(self, state: Checkpoint) -> None:
        saved = state.read()
        if saved is None:
            return
        arrays, progress = saved
        try:
            self.history = [Epoch(**epoch) for epoch in progress["history"]]
            self.now, self.best = self._like_now(arrays, "now"), self._like_now(arrays, "best")
            self.recorder.restore(arrays, len(self.history))
        except (KeyError, TypeError, ValueError) as error:
            raise state.damaged(error) from None

    def _like_now(self, arrays: Arrays, name: str) -> Vectors:
        """Return the vectors kept under a name; the loops trust that they have the shapes of this run's."""
        return tuple(
            expected(arrays, f"{name}.{i}", array.dtype, *array.shape) for i, array in enumerate(self.now)
        )


@dataclass(frozen=True, eq=False)
class Loops:
    """An objective as the loops take it; arrays of no rows where it has none.

    `offset` is added to the margins, `target` is learned instead of labels, `pace` is the step size of the groups'
    shares or the weight of the entropy of the expert that is mixed in.
    """

    offset: Singles
    target: Singles
    groups: Ints
    pace: float = 0.0
    mixes: bool = False

    @classmethod
    def of(cls, objective: Objective | None, outputs: int) -> Loops:
        """Return the arrays of an objective."""
        nothing, none = np.empty((0, outputs), np.float32), np.empty(0, np.int64)
        if objective is None:
            return cls(nothing, nothing, none)
        if objective.groups is not None:
            return cls(nothing, nothing, objective.groups.astype(np.int64), objective.strength)
        if objective.expert is None:
            assert objective.targets is not None
            return cls(nothing, objective.targets.astype(np.float32), none)
        # Absent choices are not read.
        expert = np.where(np.isfinite(objective.expert), objective.expert, 0.0)
        if objective.kind == "learned-mixin":
            return cls(expert.astype(np.float32), nothing, none, objective.strength, mixes=True)
        return cls((objective.strength * expert).astype(np.float32), nothing, none)

    def first_aside(self, dimensions: int) -> tuple[Singles, ...]:
        """Return what is learned besides the model, as it is before the first step."""
        if self.mixes:
            return (np.zeros(dimensions + 1, np.float32),)
        if not len(self.groups):
            return ()
        count = int(self.groups.max()) + 1
        return (np.full(count, 1 / count, np.float32),)

    def arguments(self, aside: Sequence[Singles]) -> tuple[Singles, Singles, Ints, Singles, float]:
        """Return what both loops take of an objective."""
        learned = aside[0] if aside else np.empty(0, np.float32)
        return self.offset, self.target, self.groups, learned, self.pace


def loop_arrays(features: sparse.csr_matrix) -> tuple[Ints, npt.NDArray[np.int32], Singles]:
    """Return a matrix's arrays in the types the loops are compiled for."""
    return (
        features.indptr.astype(np.int64, copy=False),
        features.indices.astype(np.int32, copy=False),
        features.data.astype(np.float32, copy=False),
    )


def _parts(order: Ints, n: int) -> Iterator[Ints]:
    return (part for part in np.array_split(order, n) if len(part))
