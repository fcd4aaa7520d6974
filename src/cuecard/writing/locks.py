"""One writer of a folder at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cuecard.errors import InputError

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

#: Seconds to wait for another run that is writing its card: that takes seconds.
PATIENCE = 60.0
_PAUSE = 0.05
#: Seconds after which a folder without a lock is nobody's: it is locked as soon as it is made.
_ABANDONED = 60.0


@contextmanager
def locked(folder: Path, *, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock of a folder, which must exist, while the body runs; say whether there is one to hold.

    The folder itself is locked, so no file is left behind, not even by a run that is killed. Where the file system has
    no locks, the body runs without one.

    Args:
        folder: the folder to write to.
        patience: seconds to wait for another writer before this is an error.
    """
    held = _held(folder, time.monotonic() + patience)
    try:
        yield held is not None
    finally:
        if held is not None:
            os.close(held)


def abandoned(folder: Path) -> bool:
    """Return whether a folder, which a run locks as long as it lives, was left by one that was killed."""
    if fcntl is None:
        return False
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return time.time() - os.fstat(handle).st_mtime > _ABANDONED
    except OSError:
        return False
    finally:
        os.close(handle)


def _held(folder: Path, until: float) -> int | None:
    """Return a handle of the folder that holds its lock, or None where it cannot be locked."""
    while fcntl is not None:
        try:
            handle = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # the writer before us has failed and has removed what it made
            with suppress(FileExistsError):
                folder.mkdir(parents=True)
            continue
        except OSError:
            return None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still(folder, handle):
                return handle
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(handle)
                raise InputError(
                    f"{folder} is being written by another run: wait until it ends, or choose another folder."
                ) from None
            time.sleep(_PAUSE)
        except OSError:
            os.close(handle)
            return None
        os.close(handle)
    return None


def _is_still(folder: Path, handle: int) -> bool:
    """Return whether the folder of that name is the one that was opened: a writer exchanges it for another."""
    with suppress(OSError):
        return os.path.samestat(os.stat(folder), os.fstat(handle))
    return False
