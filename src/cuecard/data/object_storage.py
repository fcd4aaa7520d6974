"""Files of object storage (`s3://bucket/folder/*.parquet`), fetched into the cache through Arrow's file systems."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Any

from cuecard.cache import cache_folder, content_key
from cuecard.data.files.guard import reason
from cuecard.data.files.paths import shown, typed_path
from cuecard.errors import InputError
from cuecard.writing import locked, write_whole

#: Addresses that Arrow has a file system for.
_ADDRESS = re.compile(r"(s3|gs|gcs|abfss?|hdfs)://", re.IGNORECASE)
#: A password before the host, or among the options.
_SECRET = re.compile(r"://[^/?@]*:[^/?@]+@|[?&][a-z_]*(secret|key|token|password)[a-z_]*=", re.IGNORECASE)
#: Bytes that are fetched at a time.
_BLOCK = 16_000_000


def is_address(source: object) -> bool:
    """Return whether a source is an address of object storage."""
    return isinstance(source, str) and _ADDRESS.match(source) is not None


def local_path(source: str | Path) -> Path:
    """Return the path that was typed; what an address names is fetched first, if the cache does not have it.

    The path of a folder, a file or a glob in the cache ends as the address does. Objects are kept by their sizes and
    times, so that a changed one is fetched again.
    """
    if not is_address(source):
        return typed_path(source)
    address, _, options = str(source).partition("?")
    if _SECRET.search(str(source)):
        raise InputError(
            "The address holds a password or a key, which the card would show: set it in the environment "
            "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3) and leave it out of the address."
        )
    folder, pattern = _divided(address.rstrip("/"))
    try:
        system, place = _file_system(f"{folder}?{options}" if options else folder)
        if not pattern and _is_file(system, place):
            place, _, pattern = place.rpartition("/")
        objects = list(_objects(system, place, pattern))
    except (OSError, ValueError, NotImplementedError) as error:  # Arrow's errors are these
        raise InputError(
            f"{shown(source)} cannot be read ({reason(error)}): check the address, and that the credentials are set "
            "(AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY for s3)."
        ) from None
    if not objects:
        raise InputError(f"No object matches {shown(source)}; check the address.")
    listed = [(name, size, str(time)) for name, size, time in objects]
    key = content_key({"address": str(source), "objects": listed})
    kept = cache_folder() / "objects" / key / PurePosixPath(place).name
    kept.mkdir(parents=True, exist_ok=True)
    with locked(kept):
        for name, size, _ in objects:
            _fetch(system, f"{place}/{name}", kept / name, size)
    return kept / pattern if pattern else kept


def _divided(address: str) -> tuple[str, str]:
    """Return an address up to its first part with a star or brackets, and the rest, which is a pattern."""
    if not glob.has_magic(address):
        return address, ""
    folder, slash, _ = re.split(r"[*\[]", address, maxsplit=1)[0].rpartition("/")
    return folder, address[len(folder) + len(slash) :]


def _file_system(address: str) -> tuple[Any, str]:
    from pyarrow import fs

    system, place = fs.FileSystem.from_uri(address)
    return system, place


def _is_file(system: Any, place: str) -> bool:
    from pyarrow import fs

    return bool(system.get_file_info(place).type == fs.FileType.File)


def _objects(system: Any, place: str, pattern: str) -> Iterator[tuple[str, int, Any]]:
    """Yield name, size and time of the objects of a folder that a pattern names, sorted; all without a pattern."""
    from pyarrow import fs

    if pattern and not glob.has_magic(pattern):
        infos = [system.get_file_info(f"{place}/{pattern}")]
    else:
        infos = system.get_file_info(fs.FileSelector(place, recursive=True))
    for info in sorted(infos, key=lambda info: info.path):
        name = info.path.removeprefix(f"{place}/")
        if info.type != fs.FileType.File or _leaves(name):
            continue
        if not pattern or _matches(name.split("/"), pattern.split("/")):
            yield name, info.size, info.mtime


def _matches(name: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return whether a pattern names a file as on disk: a star stands for no slash, two for any folders or none."""
    if not pattern or not name:
        return not pattern and not name
    if pattern[0] == "**":
        return len(pattern) == 1 or any(_matches(name[i:], pattern[1:]) for i in range(len(name)))
    return fnmatchcase(name[0], pattern[0]) and _matches(name[1:], pattern[1:])


def _leaves(name: str) -> bool:
    """Return whether a name would leave the folder that it is written to."""
    return name.startswith("/") or ".." in PurePosixPath(name).parts


def _fetch(system: Any, place: str, file: Path, size: int) -> None:
    if file.is_file() and file.stat().st_size == size:
        return

    def write(staged: Path) -> None:
        with staged.open("wb") as opened:
            for block in _blocks(system, place, size):
                opened.write(block)

    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, write)


def _blocks(system: Any, place: str, size: int) -> Iterator[bytes]:
    """Yield the content of an object; what stops it is an error about the object, not about the disk."""
    n = 0
    try:
        with system.open_input_stream(place) as stream:
            while block := stream.read(_BLOCK):
                n += len(block)
                yield block
    except OSError as error:
        raise InputError(f"{shown(place)} cannot be fetched ({reason(error)}): try again later.") from None
    if n != size:
        raise InputError(f"{shown(place)} changed while it was fetched: try again.")
