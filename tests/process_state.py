"""What tests of one process share and must leave as it was: a later one would fail, or pass, without a reason."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import entry_points
from typing import Any

#: Where things are registered by name; `tests/test_registry.py` compares this with the sources.
REGISTRIES = {
    "cuecard.audits": "AUDITS",
    "cuecard.cli.main": "COMMANDS",
    "cuecard.analysis": "ANALYSES",
    "cuecard.features.family": "FAMILIES",
    "cuecard.models.embeddings": "EMBEDDERS",
    "cuecard.models.text_model": "MODELS",
    "cuecard.probes": "PROBES",
    "cuecard.remedies": "REMEDIES",
    "cuecard.text.tokenisers": "TOKENISERS",
}
#: How the variables begin that libraries set for themselves when they are imported.
_OF_LIBRARIES = (
    *("ACCELERATE_", "CUBLAS_", "CUDA_", "HF_", "KMP_", "PYTEST_", "PYTORCH", "RAY_", "TOKENIZERS_", "TORCH"),
    "TRANSFORMERS_",
    "_RJEM_",  # polars
)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGALRM)


def registries() -> Iterator[Any]:
    """Yield the registries of modules that are imported."""
    for module, name in REGISTRIES.items():
        if (registry := getattr(sys.modules.get(module), name, None)) is not None:
            yield registry


@cache
def _installed(group: str) -> set[str]:
    return {entry.name for entry in entry_points(group=group)}


def _names(registry: Any) -> set[str]:
    """Return the names in a registry that a test added: built-in and installed ones come with their modules."""
    installed = _installed(registry.group)
    return {
        name
        for name, item in registry._items.items()
        if name not in installed
        and not str(getattr(item, "__module__", getattr(item, "module", "cuecard"))).startswith("cuecard")
    }


def process_state() -> dict[str, Any]:
    """Return what must be the same before and after a test."""
    state: dict[str, Any] = {
        f"the environment variable {name}": value
        for name, value in os.environ.items()
        if not name.startswith(_OF_LIBRARIES)
    }
    with suppress(OSError):
        state["the working folder"] = os.getcwd()
    state |= {f"what {number.name} does": signal.getsignal(number) for number in _SIGNALS}
    state |= {f"what is registered as a {one.kind}": _names(one) for one in registries()}
    if (timings := sys.modules.get("cuecard.cli.streams")) is not None:
        state["the examples of the last command"] = timings._examples
    state["the import path"] = tuple(sys.path)
    state["the hook for errors"] = sys.excepthook
    state["limits of recursion and digits"] = (sys.getrecursionlimit(), sys.get_int_max_str_digits())
    return state


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return what a test has changed, a sentence each; what was imported meanwhile is no change."""
    return [
        f"{name}: {before.get(name)!r} became {after.get(name)!r}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name, set()) != after.get(name, set())
        and not (name not in before and after[name] in (set(), 0))
    ]
