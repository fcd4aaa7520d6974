"""Where things that can be made again are kept."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path


def cache_folder() -> Path:
    """Return the folder: CUECARD_CACHE, the user's cache folder, or one of the user's among temporary files.

    The last is for users without a home: services, containers, and batch jobs.
    """
    chosen = os.environ.get("CUECARD_CACHE")
    if chosen:
        return Path(os.path.expanduser(chosen))
    from platformdirs import user_cache_path

    folder = user_cache_path("cuecard", appauthor=False)
    return folder if _can_be_written(folder) else _temporary() or folder


def _can_be_written(folder: Path) -> bool:
    """Return whether a folder, or the nearest one above it that exists, can be written to."""
    if not folder.is_absolute():  # a home that is not known stays as it was written, `~`
        return False
    with suppress(OSError):
        while not folder.exists():
            folder = folder.parent
        return folder.is_dir() and os.access(folder, os.W_OK)
    return False


def _temporary() -> Path | None:
    """Return a folder among temporary files that only this user can write to: what is read from it is trusted."""
    with suppress(OSError):
        folder = Path(tempfile.gettempdir(), f"cuecard-{os.getuid() if hasattr(os, 'getuid') else 'cache'}")
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
        mine = not hasattr(os, "getuid") or state.st_uid == os.getuid()
        if mine and stat.S_ISDIR(state.st_mode) and not state.st_mode & 0o022:
            return folder
    return None
