"""The one place where whatever stops a write becomes a sentence."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cuecard.errors import CueCardError, InputError

#: Packages that write files for us and raise errors of their own where the disk is full.
_WRITERS = {"polars", "pyarrow", "safetensors", "pyo3_runtime"}
#: How the names of what a run stages begin, inside the folder that it writes.
STAGING = ".cuecard-writing-"
#: Bytes written to learn what is wrong with a disk.
_PROBE = 1 << 16


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Raise an `InputError` that names the place, whatever the system or a library raises while it is written."""
    try:
        yield
    except CueCardError:
        raise
    except OSError as error:
        raise unwritable(place, error.strerror or str(error).partition(" (os error")[0]) from None
    except MemoryError:
        raise InputError(
            f"{place} cannot be written: the memory is full. Give the command more memory."
        ) from None
    except BaseException as error:
        if type(error).__module__.split(".")[0] not in _WRITERS:
            raise
        raise unwritable(place, _reason(place, error)) from None


def unwritable(place: Path, reason: str) -> InputError:
    """Return the error about a place that cannot be written."""
    return InputError(f"{place} cannot be written ({reason}): choose another path.")


def try_writing(folder: Path, size: int) -> None:
    """Write a file of that many bytes to a folder and remove it; what the system refuses is an `OSError`."""
    # Named first, so that no interrupt leaves it behind; what a kill leaves, the next run that writes there removes.
    probe = folder / f"{STAGING}{secrets.token_hex(4)}"
    try:
        with probe.open("xb", buffering=0) as file:
            left = memoryview(bytes(size))
            while left:
                left = left[file.write(left) :]
    finally:
        probe.unlink(missing_ok=True)


def _reason(place: Path, error: BaseException) -> str:
    """Return what the system says, as libraries often do not; or the first line of the library's error."""
    try:
        try_writing(place if place.is_dir() else place.absolute().parent, _PROBE)
    except OSError as refusal:
        return refusal.strerror or str(refusal)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]
