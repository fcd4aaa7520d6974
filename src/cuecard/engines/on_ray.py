"""Chunks of a dataset on a Ray cluster: a task for each, done again where a machine is lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from cuecard.data.space import Engine, tree
from cuecard.errors import CueCardError

A = TypeVar("A")
B = TypeVar("B")
#: Times that a task is done again where the machine that does it, or that has what it returned, is lost.
RETRIES = 5
#: Chunks at a time for every processor of the cluster: what they return waits in memory until it is taken.
AHEAD = 2


class OnRay(Engine):
    """Does functions of chunks on a cluster that is connected."""

    name = "ray"

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def map(
        self, function: Callable[[A], Iterable[B]], items: Sequence[A]
    ) -> Iterator[tuple[int, Iterable[B]]]:
        """Yield what a function returns for every item, with the place of the item, as soon as it is there."""
        work = self.ray.remote(max_retries=RETRIES, num_cpus=1)(_listed)
        shared = self.ray.put(function)
        waiting: list[int] = list(range(len(items)))[::-1]
        running: dict[Any, int] = {}
        while waiting or running:
            while waiting and len(running) < self._processors * AHEAD:
                place = waiting.pop()
                running[work.remote(shared, items[place])] = place
            done, _ = self.ray.wait(list(running))
            for reference in done:
                yield running.pop(reference), self._result(reference)

    def in_order(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Yield what a function returns for every item, in their order, of which a few are on the cluster at a time."""
        work = self.ray.remote(max_retries=RETRIES, num_cpus=1)(_called)
        shared = self.ray.put(function)
        running: deque[Any] = deque()
        for item in items:
            if len(running) >= self._processors * AHEAD:
                yield self._result(running.popleft())
            running.append(work.remote(shared, item))
        while running:
            yield self._result(running.popleft())

    @property
    def parts(self) -> int | None:
        """A few for each processor of the cluster."""
        return self._processors * AHEAD

    def merged(self, function: Callable[[A], B], items: Sequence[A], merge: Callable[[B, B], B]) -> Any:
        """Return what a function returns for every item, merged two by two where the tasks are done."""
        work, join = (
            self.ray.remote(max_retries=RETRIES, num_cpus=1)(called) for called in (_called, _merged)
        )
        shared, merging = self.ray.put(function), self.ray.put(merge)
        found = [work.remote(shared, item) for item in items]
        return self._result(tree(found, lambda one, other: join.remote(merging, one, other)))

    @property
    def _processors(self) -> int:
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def _result(self, reference: Any) -> Any:
        """Return what a task has returned, or raise what it has raised."""
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, CueCardError):  # it names the file and the row
                raise error.cause from None
            raise


def _called(function: Callable[[A], B], item: A) -> B:
    return function(item)


def _merged(merge: Callable[[A, A], A], one: A, other: A) -> A:
    return merge(one, other)


def _listed(function: Callable[[A], Iterable[B]], item: A) -> list[B]:
    return list(function(item))
