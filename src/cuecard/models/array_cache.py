"""Arrays on disk that are costly to make again, found by what they were made from."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuecard.errors import InputError
from cuecard.models.saved import write_whole
from cuecard.models.vector_cache import cache_folder

Floats = npt.NDArray[np.float64]


def cached_arrays(
    kind: str, key: str, lengths: Sequence[int], make: Callable[[], Sequence[Floats]]
) -> list[Floats]:
    """Return the arrays kept under a key, or make and keep them; a cache that cannot be used is no error.

    Args:
        kind: the folder of the cache they are kept in.
        key: a hash of everything they depend on.
        lengths: how long each must be; a file that was cut short is made anew.
        make: makes them.
    """
    file = cache_folder() / kind / f"{key}.npz"
    found = _read(file, lengths)
    if found is None:
        found = list(make())
        _write(file, found)
    return found


def _read(file: Path, lengths: Sequence[int]) -> list[Floats] | None:
    try:
        with np.load(file, allow_pickle=False) as kept:
            found = [np.asarray(kept[f"part{i}"], dtype=np.float64) for i in range(len(lengths))]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    return found if [len(part) for part in found] == list(lengths) else None


def _write(file: Path, found: Sequence[Floats]) -> None:
    def save(staged: Path) -> None:
        with staged.open("wb") as opened:
            np.savez(opened, allow_pickle=False, **{f"part{i}": part for i, part in enumerate(found)})

    with suppress(InputError, OSError):
        write_whole(file, save)
