"""Texts that stay on the machines of a Ray cluster that have read them: copies are looked for there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from cuecard.data.fingerprint import Hashes
from cuecard.data.units.in_parts import Records, Split, Words
from cuecard.engines.copies import FoldedRows, Scope

if TYPE_CHECKING:
    from cuecard.engines.on_ray import OnRay

S = TypeVar("S")
R = TypeVar("R")
#: Tasks that records of all parts are sent to, at most.
MOST_TASKS = 64


@dataclass(frozen=True)
class TextsOnRay:
    """All texts of a dataset, in parts that the machines of a cluster keep.

    Attributes:
        engine: the cluster.
        parts: a reference to the folded rows of every part.
        scope: which of their texts are compared.
        size: the number of texts.
        wholes: goes through their hashes, on this machine.
    """

    engine: OnRay
    parts: list[Any]
    scope: Scope
    size: int
    wholes: Callable[[], Iterator[Hashes]]

    def __len__(self) -> int:
        """Return the number of texts."""
        return self.size

    def hashes(self) -> Iterator[Hashes]:
        """Yield the hashes of texts, part by part."""
        return self.wholes()

    def each(self, function: Callable[[Words, S], R], shared: S) -> Iterator[R]:
        """Yield what a function returns for every part, as soon as it is there."""
        work = self.engine.remote(_returned)
        how = self.engine.ray.put((function, self.scope, shared))
        every = list(range(len(self.parts)))
        for _, [reference] in self.engine.done(lambda i: [work.remote(how, self.parts[i])], every):
            yield self.engine.result(reference)

    def divided(
        self, split: Split, own: Iterable[Any], n: int, found: Callable[[Records], R], folder: Path
    ) -> Iterator[R]:
        """Yield what a function returns for the records of every bucket, which tasks exchange among each other."""
        tasks = min(n, MOST_TASKS)
        ends = np.linspace(0, n, tasks + 1).astype(np.int64)[1:]
        work = self.engine.remote(_records_by_task, num_returns=tasks)
        how = self.engine.ray.put((split, self.scope, ends))
        arguments = iter(own)

        def begin(part: int) -> list[Any]:
            returned = work.remote(how, self.parts[part], next(arguments))
            return returned if tasks > 1 else [returned]

        records = dict(self.engine.done(begin, list(range(len(self.parts)))))
        finding = self.engine.remote(_found)
        what = self.engine.ray.put(found)
        of_tasks: dict[int, list[R]] = {}
        for task, [reference] in self.engine.done(
            lambda task: [finding.remote(what, *(records[part][task] for part in sorted(records)))],
            list(range(tasks)),
        ):
            of_tasks[task] = self.engine.result(reference)
        for task in range(tasks):
            yield from of_tasks[task]


def _returned(how: tuple[Callable[[Words, S], R], Scope, S], rows: FoldedRows) -> R:
    function, scope, shared = how
    return function(rows.texts(scope), shared)


def _records_by_task(
    how: tuple[Split, Scope, Any], rows: FoldedRows, own: Any
) -> list[list[tuple[int, Records]]] | list[tuple[int, Records]]:
    """Return the records of a part for each task, with the numbers of their buckets."""
    split, scope, ends = how
    of_tasks: list[list[tuple[int, Records]]] = [[] for _ in ends]
    for bucket, records in split(rows.texts(scope), own):
        # The next bucket may be written over these records.
        kept = {name: values.copy() for name, values in records.items()}
        of_tasks[int(np.searchsorted(ends, bucket, side="right"))].append((bucket, kept))
    return of_tasks if len(of_tasks) > 1 else of_tasks[0]


def _found(found: Callable[[Records], R], *parts: list[tuple[int, Records]]) -> list[R]:
    """Return what is found in every bucket of a task, in their order."""
    buckets: dict[int, list[Records]] = {}
    for part in parts:
        for bucket, records in part:
            buckets.setdefault(bucket, []).append(records)
    return [
        found({name: np.concatenate([part[name] for part in buckets[bucket]]) for name in buckets[bucket][0]})
        for bucket in sorted(buckets)
    ]
