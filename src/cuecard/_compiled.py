"""Compiled functions that are kept on disk where that is possible, and compiled again where it is not.

numba itself raises an error where no folder can be written to, and where a disk is full.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

from cuecard._cache_folder import cache_folder


def njit(*, cache: bool = False, **options: Any) -> Callable[[Any], Any]:
    """Return numba's decorator; with `cache`, machine code is kept on disk if any folder can be written to."""

    def compiled(function: Any) -> Any:
        dispatcher = numba.njit(**options)(function)
        # Where NUMBA_DISABLE_JIT is set, as for a debugger, this is the function itself, and there is nothing to keep.
        if cache and dispatcher is not function and _has_folder():
            try:
                dispatcher.enable_caching()
            except RuntimeError:  # numba has found no folder after all
                return dispatcher
            _forgive(dispatcher._cache)
        return dispatcher

    return compiled


@cache
def _has_folder() -> bool:
    """Return whether machine code can be kept: beside the package, where numba is told to, or in the cache folder."""
    if numba.config.CACHE_DIR or os.access(Path(__file__).parent, os.W_OK):
        return True
    folder = cache_folder() / "compiled"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    numba.config.CACHE_DIR = str(folder)
    return os.access(folder, os.W_OK)


def _forgive(kept: Any) -> None:
    """Have a function compiled again where its kept code cannot be read, and not kept where it cannot be written."""
    save, load = kept.save_overload, kept.load_overload

    def save_if_possible(*arguments: Any) -> None:
        try:
            save(*arguments)
        except OSError:
            kept.disable()

    def load_if_possible(signature: Any, context: Any) -> Any:
        try:
            overload = load(signature, context)
            # Processes that compile at the same time may write the code of two signatures to files of one name.
            if overload is None or overload.signature.args == tuple(getattr(signature, "args", signature)):
                return overload
        except Exception:  # cut short or damaged: unpickling can raise anything
            pass
        with suppress(OSError):
            kept.flush()
        return None

    kept.save_overload, kept.load_overload = save_if_possible, load_if_possible
