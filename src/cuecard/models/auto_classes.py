"""Calls of transformers' Auto classes: from disk only, silent, and never with code that a checkpoint brings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from cuecard.errors import InputError

#: What every `from_pretrained` is given. Without the second, transformers would ask on the terminal.
FROM_DISK: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}


@contextmanager
def loading(checkpoint: object) -> Iterator[None]:
    """Keep transformers silent inside, and say in a sentence that a checkpoint's own code is not run."""
    try:
        with quiet():
            yield
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        raise InputError(
            f"{checkpoint}: the checkpoint needs its own code, which is never run: use a model type that "
            "transformers supports."
        ) from None


@contextmanager
def quiet() -> Iterator[None]:
    """Keep transformers from writing about new heads, and from drawing bars over ours."""
    from transformers.utils import logging

    verbosity, drawing = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if drawing:
            logging.enable_progress_bar()
