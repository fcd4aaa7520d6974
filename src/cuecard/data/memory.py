"""How much memory an audit may take, and how much it would."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from cuecard.data.reading.formats import files_below
from cuecard.errors import UsageError, printable

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)\s*", re.IGNORECASE)
#: The largest number before a unit: beyond any machine, and far from the largest number there is.
_MOST = 1e24
#: A smaller number without a unit is no number of bytes.
_BYTES = 1_000_000
#: Bytes of memory that an audit of everything takes for a byte of a file: texts, tokens, counts and what is made of
#: them; measured on 550,000 pairs, rounded up.
PER_BYTE = 25
#: What it takes for a row besides, whatever its length: vectors, clusters and folds; measured on 1,000,000 pairs.
PER_ROW = 4_500
#: Rows of a parquet file that tell how much memory its texts take.
SOME_ROWS = 1_000
#: The part of a file of lines that tells how long they are.
FIRST_BYTES = 65_536
#: A compressed file holds about this many times its size.
COMPRESSED = {".gz": 5, ".zst": 5}
#: Files that an audit in parts may have open: numbers of every row are in files, and some systems allow 256.
OPEN_FILES = 4_096


def allow_open_files() -> None:
    """Have the system allow this process `OPEN_FILES` open files, or as many as the user may have."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def bytes_of(size: str | int | float) -> int:
    """Return a size such as "4GB", "512 MiB" or a number of bytes; a text without a unit is none of few bytes.

    >>> bytes_of("4GB"), bytes_of("1.5 KiB"), bytes_of(10)
    (4000000000, 1536, 10)
    """
    match = _SIZE.fullmatch(str(size))
    if match and isinstance(size, str) and not match[2] and not match[4] and 0 < float(match[1]) < _BYTES:
        raise UsageError(f"--memory {size.strip()} has no unit: write {match[1]}GB or {match[1]}MB.")
    if match is None or not 0 < float(match[1]) <= _MOST:
        raise UsageError(f"--memory takes a size such as 4GB or 512MB, not {printable(str(size), 40)!r}.")
    number, unit, binary = float(match[1]), match[2].lower(), match[3]
    factor = 1024 ** "kmgt".index(unit) * 1024 if binary and unit else _UNITS[unit]
    return int(number * factor)


def free_memory(container: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes of memory that are free, within the limits of the container."""
    free = (
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4_000_000_000
    )
    with suppress(OSError, ValueError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    with suppress(OSError, ValueError):  # "max" where there is no limit
        limit = int((container / "memory.max").read_text())
        # Files that were read count as used, but give way to whoever needs memory.
        used = int((container / "memory.current").read_text()) - _of_files(container)
        free = min(free, max(limit - used, 0))
    return free


def _of_files(container: Path) -> int:
    """Return the bytes that keep files which were read and may be forgotten."""
    with suppress(OSError, ValueError):
        lines = (container / "memory.stat").read_text().splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    return 0


def text_bytes(paths: Iterable[Path]) -> int:
    """Return about how many bytes the rows of files take, uncompressed."""
    return sum(_uncompressed(file) for path in paths for file in files_below(path))


def memory_needed(paths: Iterable[Path]) -> int:
    """Return about how many bytes of memory an audit of everything takes for files."""
    files = [file for path in paths for file in files_below(path)]
    return sum(PER_BYTE * _uncompressed(file) + PER_ROW * _rows(file) for file in files)


def _rows(file: Path) -> int:
    """Return about how many rows a file has; those of a file of lines from its first ones."""
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        with suppress(Exception), pq.ParquetFile(file) as opened:
            return int(opened.metadata.num_rows)
    with suppress(OSError), file.open("rb") as opened:
        start = opened.read(FIRST_BYTES)
        return int(_uncompressed(file) * start.count(b"\n") / max(len(start), 1))
    return 0


def _uncompressed(file: Path) -> int:
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        # Repeated texts take next to nothing in a file, so some rows tell. Reading tells of a damaged file.
        with suppress(Exception), pq.ParquetFile(file) as opened:
            first = next(opened.iter_batches(batch_size=SOME_ROWS))
            return int(first.nbytes / max(first.num_rows, 1) * opened.metadata.num_rows)
    return file.stat().st_size * COMPRESSED.get(file.suffix, 1)
