"""Examples that a model learns from or is asked about, named by their folds rather than listed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from cuecard.stats.arrays import Bools, Codes, Ints, chunks, counted


@dataclass(frozen=True, eq=False)
class Members:
    """The examples of some folds: all of one run in their order, then those of the next run."""

    among: Ints
    fold: Codes
    runs: Sequence[Sequence[int]]

    def __len__(self) -> int:
        return sum(self._sizes)

    @property
    def _sizes(self) -> list[int]:
        sizes = counted(self.fold)
        return [int(sizes[list(run)].sum()) for run in self.runs]

    def __getitem__(self, places: Ints) -> Ints:
        """Return the examples at some rising places."""
        found, before = [], 0
        for run, size in zip(self.runs, self._sizes, strict=True):
            first, last = np.searchsorted(places, (before, before + size))
            found.append(self._of_run(run, places[first:last] - before))
            before += size
        return np.concatenate(found)

    def _of_run(self, run: Sequence[int], places: Ints) -> Ints:
        wanted, found, before, done = in_folds(self.fold, run), [self.among[:0]], 0, 0
        for some in chunks(len(self.fold)):
            own = np.flatnonzero(wanted[self.fold[some]])
            last = int(np.searchsorted(places, before + len(own)))
            found.append(self.among[some][own[places[done:last] - before]])
            before, done = before + len(own), last
            if done == len(places):
                break
        return np.concatenate(found)


def in_folds(fold: Codes, chosen: Sequence[int]) -> Bools:
    """Return for every number of a fold whether it is among the chosen ones."""
    wanted = np.zeros(int(fold.max(initial=0)) + 1, dtype=np.bool_)
    wanted[list(chosen)] = True
    return wanted


@dataclass(frozen=True, eq=False)
class Draws:
    """Random places among n, of which the first ones are the same however many are drawn."""

    seed: int
    most: int
    _kept: dict[int, Ints] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def places(self, n: int, number: int) -> Ints:
        """Return some of the numbers from 0 to n - 1, at most `most`, in rising order."""
        with self._lock:
            if n not in self._kept:
                self._kept[n] = shuffled(np.random.default_rng(self.seed), n)[: self.most].astype(np.int64)
        return np.sort(self._kept[n][:number])


def shuffled(generator: np.random.Generator, n: int) -> Codes:
    """Return the numbers from 0 to n - 1 as `Generator.permutation` does, in half of the memory."""
    numbers: Codes = np.arange(n, dtype=np.uint32 if n < 1 << 32 else np.int64)
    generator.shuffle(numbers)
    return numbers
