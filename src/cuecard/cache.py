"""What is costly to make again, kept on disk by a hash of everything it depends on."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shutil
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from cuecard._cache_folder import cache_folder
from cuecard.errors import InputError
from cuecard.writing import locked, write_whole

__all__ = [
    "cache_folder",
    "cached_arrays",
    "code_key",
    "content_key",
    "delete_kept",
    "keep_file",
    "kept_kinds",
]

Number = TypeVar("Number", np.float64, np.float32)


#: Kinds of what the cache holds, each in a folder of its own.
Kind = Literal[
    "charts",
    "compiled",
    "fitted",
    "frontier",
    "models",
    "objects",
    "predictions",
    "stream",
    "vectors",
    "weights",
]
#: How we name entries: by a hash, but for charts and compiled code; what a killed run has staged is also ours.
_STAGED, _HASH = r"\.cuecard-.*", "[0-9a-f]{16,}"
_NAMES: Mapping[str, str] = {"charts": "vega-.*", "compiled": f".*_{_HASH}"}


def content_key(content: Mapping[str, Any]) -> str:
    """Return a hash of everything that something depends on."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


@functools.cache
def code_key() -> str:
    """Return a hash of the code of this package and of the versions that its numbers depend on."""
    digest = hashlib.blake2b(digest_size=16)
    package = Path(__file__).parent
    sources = (file for file in package.rglob("*.p*") if file.suffix in (".py", ".pyx", ".pxi"))
    for file in sorted(sources):
        digest.update(str(file.relative_to(package)).encode())
        digest.update(file.read_bytes())
    for name in ("numpy", "polars", "pyarrow", "scipy"):
        digest.update(f"{name} {version(name)}".encode())
    return digest.hexdigest()


@dataclass(frozen=True)
class Kept:
    """One kind of what the cache holds: how many entries, and how many bytes they take."""

    name: str
    entries: int
    size: int


def kept_kinds() -> list[Kept]:
    """Return what the cache holds, by kind: a folder of entries, each a file or a folder."""
    return [
        Kept(folder.name, len(entries := _entries(folder)), sum(map(_size, entries))) for folder in _kinds()
    ]


def delete_kept(days: float | None = None) -> tuple[int, int]:
    """Delete the entries of the cache, all or those that were not written in the last `days`; how many, and how large.

    An entry that another process is writing to stays, and so does whatever else is in the folder of the cache.
    """
    entries = size = 0
    for folder in _kinds():
        for entry in _entries(folder):
            if days is not None and time.time() - _written(entry) < days * 86_400:
                continue
            its_size = _size(entry)
            try:
                with locked(entry, patience=0) if entry.is_dir() else nullcontext():
                    shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            except (OSError, InputError):
                continue
            entries, size = entries + 1, size + its_size
    return entries, size


def _kinds() -> list[Path]:
    folder = cache_folder()
    return [path for kind in get_args(Kind) if (path := folder / kind).is_dir() and not path.is_symlink()]


def _entries(folder: Path) -> list[Path]:
    """Return what is ours in the folder of a kind."""
    ours = re.compile(f"{_STAGED}|{_NAMES.get(folder.name, f'{_HASH}.*')}", re.DOTALL)
    return [path for path in folder.iterdir() if ours.fullmatch(path.name)]


def _size(entry: Path) -> int:
    files = entry.rglob("*") if entry.is_dir() else [entry]
    return sum(file.lstat().st_size for file in files if not file.is_dir())


def _written(entry: Path) -> float:
    inside = entry.rglob("*") if entry.is_dir() else ()
    return float(max(path.lstat().st_mtime for path in (entry, *inside)))


def cached_arrays(
    kind: Kind,
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
