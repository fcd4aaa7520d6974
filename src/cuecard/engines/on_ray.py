"""Pieces of a dataset summarised on a Ray cluster: a task for each, done again where a machine is lost."""

from __future__ import annotations

from typing import Any

from cuecard.engines.stream import Stream, Summarise
from cuecard.errors import CueCardError, MissingExtraError

#: Times that a piece is done again where the machine that does it is lost.
RETRIES = 5
#: Pieces at a time for every processor of the cluster: what they return waits in memory until it is written.
AHEAD = 2


def connect(address: str | None) -> Any:
    """Return Ray, connected to the cluster at an address, or to one on this machine."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray", "The engine 'ray'") from None
    if not ray.is_initialized():
        ray.init(address=address, log_to_driver=False, include_dashboard=False)
    return ray


class OnRay:
    """Does the pieces of a stage on a cluster that is connected."""

    def __init__(self, ray: Any) -> None:
        self.ray = ray

    def __call__(self, stream: Stream, stage: str, summarise: Summarise, pieces: list[int]) -> None:
        """Do the pieces; what they say is kept as soon as it is there."""
        ray = self.ray
        work = ray.remote(max_retries=RETRIES, num_cpus=1)(_summary)
        shared = ray.put((stream, summarise))
        ahead = max(1, int(ray.cluster_resources().get("CPU", 1))) * AHEAD
        waiting = list(pieces[::-1])
        running: dict[Any, int] = {}
        while waiting or running:
            while waiting and len(running) < ahead:
                piece = waiting.pop()
                running[work.remote(shared, piece)] = piece
            done, _ = ray.wait(list(running))
            for reference in done:
                stream.store.put(stage, running.pop(reference), self._result(reference))

    def _result(self, reference: Any) -> Any:
        try:
            return self.ray.get(reference)
        except self.ray.exceptions.RayTaskError as error:
            if isinstance(error.cause, CueCardError):  # it names the file and the row
                raise error.cause from None
            raise


def _summary(shared: tuple[Stream, Summarise], piece: int) -> Any:
    stream, summarise = shared
    return stream.summary(piece, summarise)
