"""The one place where whatever stops a write becomes a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuecard.errors import CueCardError, InputError

#: Packages that write files for us and raise errors of their own where the disk is full.
_WRITERS = {"polars", "pyarrow", "safetensors", "pyo3_runtime"}


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Raise an `InputError` that names the place, whatever the system or a library raises while it is written."""
    try:
        yield
    except CueCardError:
        raise
    except OSError as error:
        raise unwritable(place, error.strerror or str(error)) from None
    except MemoryError:
        raise InputError(
            f"{place} cannot be written: the memory is full. Give the command more memory."
        ) from None
    except BaseException as error:
        if type(error).__module__.split(".")[0] not in _WRITERS:
            raise
        raise unwritable(place, _reason(error)) from None


def unwritable(place: Path, reason: str) -> InputError:
    """Return the error about a place that cannot be written."""
    return InputError(f"{place} cannot be written ({reason}): choose another path.")


def _reason(error: BaseException) -> str:
    """Return what the system said within the first line of a library's error."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rpartition("error: ")[2].partition(" (os error")[0][:200]
