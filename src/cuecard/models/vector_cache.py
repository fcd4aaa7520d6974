"""Vectors on disk, found again by what they were made from."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

FloatMatrix = npt.NDArray[np.float32]


def cache_folder() -> Path:
    """Return where things that can be made again are kept: CUECARD_CACHE, or the user's cache folder."""
    chosen = os.environ.get("CUECARD_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "cuecard"


def cached_vectors(key: str, n_texts: int, make: Callable[[], FloatMatrix]) -> FloatMatrix:
    """Return the vectors kept under a key, or make and keep them; a cache that cannot be used is no error."""
    file = cache_folder() / "vectors" / f"{key}.npy"
    found = _read(file, n_texts)
    if found is not None:
        return found
    vectors = make()
    _write(file, vectors)
    return vectors


def _read(file: Path, n_texts: int) -> FloatMatrix | None:
    try:
        vectors = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    # A file that was cut short or belongs to something else is made anew.
    fits = isinstance(vectors, np.ndarray) and vectors.ndim == 2 and len(vectors) == n_texts
    return vectors if fits and vectors.dtype == np.float32 else None


def _write(file: Path, vectors: FloatMatrix) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, staged = tempfile.mkstemp(prefix=".writing-", dir=file.parent)
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as opened:
            np.save(opened, vectors, allow_pickle=False)
        os.replace(staged, file)
    except BaseException as error:
        Path(staged).unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
