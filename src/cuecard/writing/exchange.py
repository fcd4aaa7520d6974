"""Two folders exchanged in one step of the system."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path
from typing import Any

#: `renameat2` takes names relative to the working folder, and exchanges the two.
_HERE, _EXCHANGE = -100, 2
#: The same of macOS, `renamex_np`.
_SWAP = 2

#: The system, or the file system, has no such step, or not for this folder.
_IMPOSSIBLE = {
    errno.ENOSYS,
    errno.EINVAL,
    errno.ENOTSUP,
    errno.EXDEV,
    errno.EBUSY,
    errno.EPERM,
    errno.EACCES,
}


def exchanged(new: Path, folder: Path) -> bool:
    """Put a new folder in the place of another in one step, and the other in its place; whether that is possible."""
    call = _system_call(os.fsencode(new), os.fsencode(folder))
    if call is None:
        return False
    if call() == 0:
        return True
    error = ctypes.get_errno()
    if error in _IMPOSSIBLE:
        return False
    raise OSError(error, os.strerror(error))


def _system_call(new: bytes, folder: bytes) -> Any:
    """Return the call that exchanges two names, or None where the system has none."""
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            swap = system.renamex_np
            return lambda: swap(new, folder, _SWAP)
        exchange = system.renameat2
    except (AttributeError, OSError, TypeError):
        return None
    return lambda: exchange(_HERE, new, _HERE, folder, _EXCHANGE)
