"""A connection to a Ray cluster, or one sentence about why there is none."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuecard.data.reading.formats import reason
from cuecard.errors import InputError, MissingExtraError, UsageError, printable

#: Seconds within which a cluster has to answer.
ANSWERS = 5.0


def connect(address: str | None) -> Any:
    """Return Ray, connected to the cluster at an address, or that of RAY_ADDRESS, or to a new one on this machine."""
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray", "The engine 'ray'") from None
    if not ray.is_initialized():
        # Without an address, Ray would join any cluster that it finds on this machine, also one that has ended.
        source = "--address" if address else "RAY_ADDRESS"
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        _check_answers(address, source)
        with _without_remarks():
            try:
                ray.init(
                    address=address, log_to_driver=False, include_dashboard=False, logging_level=logging.ERROR
                )
            except Exception as error:  # Ray raises nothing narrower
                if address == "local":
                    raise InputError(
                        f"Ray cannot start on this machine ({reason(error)}): try again, or leave out --engine ray."
                    ) from None
                raise UsageError(
                    f"The Ray cluster at {address} cannot be joined ({reason(error)}): check {source}, or leave it "
                    "out to start a cluster on this machine."
                ) from None
    return ray


def _check_answers(address: str, source: str) -> None:
    """Raise unless something answers at an address that names a port: Ray would try for minutes."""
    place = re.fullmatch(r"(?:ray://)?\[?([^\]/]+?)\]?:(\d+)", address)
    if place is None:
        if address in ("local", "auto"):
            return
        raise UsageError(
            f"{source} takes HOST:PORT of a Ray cluster, such as 10.0.0.1:6379, not {printable(address, 60)!r}."
        )
    try:
        socket.create_connection((place[1], int(place[2])), timeout=ANSWERS).close()
    except (OSError, OverflowError, ValueError):  # nobody there, no such port, no such name
        raise UsageError(
            f"No Ray cluster answers at {printable(address, 60)}: start one with `ray start --head`, correct "
            f"{source}, or leave it out to start a cluster on this machine."
        ) from None


@contextmanager
def _without_remarks() -> Iterator[None]:
    """Keep what Ray says while it starts, which is about Ray's own settings, from the user's terminal."""
    log = logging.getLogger("ray")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)
