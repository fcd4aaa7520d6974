"""What is costly to make again, kept on disk by a hash of everything it depends on."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cuecard._cache_folder import cache_folder
from cuecard.errors import InputError
from cuecard.writing import write_whole

__all__ = ["cache_folder", "cached_arrays", "content_key", "keep_file"]

Number = TypeVar("Number", np.float64, np.float32)


def content_key(content: Mapping[str, Any]) -> str:
    """Return a hash of everything that something depends on."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def cached_arrays(
    kind: str,
    key: str,
    lengths: Sequence[int],
    make: Callable[[], Sequence[npt.NDArray[Number]]],
) -> list[npt.NDArray[Number]]:
    """Return the arrays kept under a key, or make and keep them; a cache that cannot be used is not an error.

    Args:
        kind: the folder of the cache they are kept in.
        key: a hash of everything they depend on.
        lengths: how long each must be; a file that was cut short is not used.
        make: makes them.
    """
    file = cache_folder() / kind / f"{key}.npz"
    arrays: list[npt.NDArray[Number]] | None = _read(file, lengths)
    if arrays is None:
        arrays = list(make())
        keep_file(file, lambda staged: _save(staged, arrays))
    return arrays


def keep_file(file: Path, write: Callable[[Path], object]) -> None:
    """Have a file of the cache written, whole or not at all; a cache that cannot be written is not an error."""
    with suppress(InputError):
        write_whole(file, write)


def _read(file: Path, lengths: Sequence[int]) -> list[npt.NDArray[Any]] | None:
    try:
        with np.load(file, allow_pickle=False) as kept:
            arrays = [kept[f"part{i}"] for i in range(len(lengths))]
    except (OSError, ValueError, KeyError, EOFError, TypeError, AttributeError, zipfile.BadZipFile):
        return None
    fit = all(array.ndim and array.dtype.kind == "f" for array in arrays)
    return arrays if fit and [len(array) for array in arrays] == list(lengths) else None


def _save(file: Path, arrays: Sequence[npt.NDArray[Number]]) -> None:
    with file.open("wb") as opened:
        np.savez(opened, allow_pickle=False, **{f"part{i}": array for i, array in enumerate(arrays)})
