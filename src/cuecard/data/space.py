"""Where arrays are: in memory or in mapped files, and how much memory an audit may take, and would."""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.parallel import on_threads
from cuecard.data.reading.formats import files_below
from cuecard.errors import UsageError, printable
from cuecard.stats.arrays import Array, Codes, Ints, arrays_in_files, chunks, follows
from cuecard.writing import writing_to

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)(b?)\s*", re.IGNORECASE)
#: The largest number before a unit: beyond any machine, and far from the largest number there is.
_MOST = 1e24
#: A smaller number needs a unit.
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
#: Files that an audit in chunks may have open: numbers of every row are in files, and some systems allow 256.
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
    """Return a size such as "4GB", "512 MiB" or a number of bytes; a small number without a unit is an error.

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


A = TypeVar("A")
B = TypeVar("B")
#: Smaller arrays are in memory.
SMALL = 1 << 20
#: Arrays of at least this many bytes are files wherever they are made while a dataset is on disk.
LARGE = 1 << 25
#: How the names of files and folders begin that are being written.
_STAGED = "."


class Engine:
    """Where functions of chunks run: on this machine, one chunk after another; each uses all cores."""

    name = "local"

    def map(
        self, function: Callable[[A], Iterable[B]], items: Sequence[A]
    ) -> Iterator[tuple[int, Iterable[B]]]:
        """Yield what a function returns for every item, with the place of the item, in any order."""
        for place, item in enumerate(items):
            yield place, function(item)

    def in_order(self, function: Callable[[A], B], items: Iterable[A]) -> Iterator[B]:
        """Yield what a function returns for every item, in their order; an item is made when it is needed."""
        return map(function, items)

    @property
    def parts(self) -> int | None:
        """Into how many parts arrays are divided that are counted; None for as many as polars has threads."""
        return None

    def merged(self, function: Callable[[A], B], items: Sequence[A], merge: Callable[[B, B], B]) -> B:
        """Return what a function returns for every item, merged two by two, as a tree."""
        return tree([*on_threads(lambda i: function(items[i]), len(items))], merge)


def tree(values: Sequence[A], merge: Callable[[A, A], A]) -> A:
    """Return values merged two by two, and what they were merged to, until one is left."""
    while len(values) > 1:
        pairs = [merge(*pair) for pair in zip(values[::2], values[1::2], strict=False)]
        values = [*pairs, *values[2 * len(pairs) :]]
    return values[0]


@dataclass(frozen=True)
class Space:
    """Memory, or a folder whose files are mapped.

    Attributes:
        folder: where large arrays and tables are; None for memory.
        rows: rows of a chunk.
        engine: where functions of chunks run.
        progress: called with the title of a stage; returns a context manager that it runs in.
        seed: of samples.
    """

    folder: Path | None = None
    rows: int = 1 << 18
    engine: Engine = field(default_factory=Engine, compare=False)
    progress: Callable[[str], AbstractContextManager[object]] | None = field(default=None, compare=False)
    seed: int = 0
    #: What deletes the folder once nobody uses it.
    owner: object = field(default=None, compare=False, repr=False)

    def __getstate__(self) -> dict[str, object]:
        """Return what another process needs: arrays of it are in its own memory."""
        return {
            "folder": None,
            "rows": self.rows,
            "engine": Engine(),
            "progress": None,
            "seed": self.seed,
            "owner": None,
        }

    def shown(self, title: str) -> AbstractContextManager[object]:
        """Return the display of a stage."""
        return self.progress(title) if self.progress and self.folder else nullcontext()

    def ranges(self, n: int) -> Iterator[slice]:
        """Yield ranges of rows whose texts may be in memory together: all of them where the dataset is."""
        return chunks(n, max(n, 1) if self.folder is None else self.rows)

    def array(self, dtype: npt.DTypeLike, shape: int | tuple[int, ...]) -> Array:
        """Return an array of zeros to be written: in memory, or where it is large in a file that has no name."""
        shape = (shape,) if isinstance(shape, int) else shape
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if self.folder is None or not size or size < SMALL:
            return np.zeros(shape, dtype)
        with writing_to(self.folder), tempfile.TemporaryFile(dir=self.folder) as file:
            if hasattr(
                os, "posix_fallocate"
            ):  # a full disk is told about here, rather than by the end of the process
                os.posix_fallocate(file.fileno(), 0, size)
            return np.asarray(np.memmap(file, dtype=dtype, mode="w+", shape=shape))

    def joined(self, dtype: npt.DTypeLike, parts: Iterable[Array]) -> Array:
        """Return arrays one after another, of which only one at a time is in memory where texts are on disk."""
        growing = self.growing(dtype)
        for part in parts:
            growing.add(part)
        return growing.array()

    def growing(self, dtype: npt.DTypeLike) -> Growing:
        """Return an array without entries that others are added to, in a file where texts are on disk."""
        return Growing(self.folder, np.dtype(dtype))

    def stored(self, values: Array) -> Array:
        """Return the same numbers, in a file where they are many."""
        if self.folder is None or values.nbytes < SMALL or isinstance(values.base, np.memmap | mmap.mmap):
            return values
        array = self.array(values.dtype, values.shape)
        array[...] = values
        return array

    def totals(self, sizes: Iterable[Array]) -> Ints:
        """Return where each of some arrays begins that follow each other, from their sizes, and where the last ends."""
        growing, end = self.growing(np.int64), np.zeros(1, dtype=np.int64)
        growing.add(end)
        for some in sizes:
            ends = end[-1] + np.cumsum(some, dtype=np.int64)
            growing.add(ends)
            end = ends if len(ends) else end
        return growing.array()

    def computed(self, dtype: npt.DTypeLike, n: int, part: Callable[[slice], Array]) -> Array:
        """Return n numbers, or rows of them, that `part` gives some at a time."""
        values = self.array(dtype, (n, *part(slice(0, 0)).shape[1:]))
        for chunk in chunks(n):
            values[chunk] = part(chunk)
        return values

    def gathered(self, values: Array, rows: Codes) -> Array:
        """Return the values of some rows; those of rows without a gap are no copy."""
        if self.folder is None or values.nbytes < SMALL:
            return np.asarray(values[rows])
        if len(rows) and follows(rows):
            return values[int(rows[0]) :][: len(rows)]
        return self.computed(values.dtype, len(rows), lambda chunk: values[rows[chunk]])

    def large_arrays_on_disk(self) -> AbstractContextManager[None]:
        """Return a context in which arrays of `LARGE` bytes are files, whoever makes them, where texts are on disk."""
        return arrays_in_files(self.folder, LARGE)

    def release(self) -> None:
        """Give memory that is free back to the system, where arrays are in files: it keeps their pages."""
        if self.folder is not None and sys.platform == "linux":
            with suppress(AttributeError, OSError):  # other libraries than glibc give it back by themselves
                ctypes.CDLL(None).malloc_trim(0)

    @contextmanager
    def place(self) -> Iterator[Path | None]:
        """Yield a folder for other files, which are deleted then; None where arrays are in memory."""
        if self.folder is None:
            yield None
            return
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            yield Path(folder)


class Growing:
    """An array that others are added to, in a file without a name where there is a folder."""

    def __init__(self, folder: Path | None, dtype: np.dtype[Any]) -> None:
        self._folder, self._dtype = folder, dtype
        self._parts: list[Array] = []
        self._size = 0
        if folder is not None:
            with writing_to(folder):
                self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  closed by `array`

    def add(self, part: Array) -> None:
        """Add the entries of an array."""
        if self._folder is None:
            self._parts.append(part)
            return
        with writing_to(self._folder):
            np.ascontiguousarray(part, dtype=self._dtype).tofile(self._file)
        self._size += len(part)

    def array(self) -> Array:
        """Return all entries; none can be added any more."""
        if self._folder is None:
            empty = np.empty(0, self._dtype)
            return np.concatenate([empty, *self._parts], dtype=self._dtype, casting="same_kind")
        with self._file, writing_to(self._folder):
            self._file.flush()
            if not self._size:
                return np.empty(0, self._dtype)
            return np.asarray(np.memmap(self._file, dtype=self._dtype, mode="r+", shape=(self._size,)))


#: Arrays in memory.
MEMORY = Space()


def temporary_space(rows: int, seed: int = 0) -> Space:
    """Return a folder that is deleted with the dataset whose arrays are there."""
    folder = tempfile.TemporaryDirectory(prefix="cuecard-", ignore_cleanup_errors=True)
    return Space(Path(folder.name), rows, seed=seed, owner=folder)


def write_table(place: Path, parts: Iterable[pl.DataFrame]) -> None:
    """Write tables of the same columns to one file, whole or not at all."""
    import pyarrow as pa

    newest = pl.CompatLevel.newest()
    staged = place.with_name(f"{_STAGED}{place.name}")
    with writing_to(place):
        try:
            with pa.OSFile(os.fsencode(staged), "wb") as file:
                writer = None
                for part in parts:
                    table = compact(part).rechunk().to_arrow(compat_level=newest)
                    if writer is None:
                        schema = table.schema
                        writer = pa.ipc.new_file(file, schema)
                    writer.write_table(table)
                if writer is not None:
                    writer.close()
            os.replace(staged, place)
        except BaseException:
            staged.unlink(missing_ok=True)
            raise


def compact(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table that holds its own texts alone: some rows of a table keep the texts of all others in memory."""
    texts = [column for column in table.get_columns() if column.dtype == pl.String]
    return table.with_columns(
        pl.Series(c.name, c.to_arrow(compat_level=pl.CompatLevel.oldest()), pl.String) for c in texts
    )


def mapped_table(place: Path) -> pl.DataFrame:
    """Return the table of a file, whose pages the system reads where they are looked at, and takes back."""
    import pyarrow as pa

    with pa.memory_map(os.fsencode(place)) as source:
        table = pl.from_arrow(pa.ipc.open_file(source).read_all(), rechunk=False)
    assert isinstance(table, pl.DataFrame)
    return table


def write_folder(place: Path, write: Callable[[Path], None]) -> None:
    """Have a folder written, whole or not at all."""
    with writing_to(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        staged = Path(tempfile.mkdtemp(prefix=_STAGED, dir=place.parent))
        try:
            write(staged)
            os.replace(staged, place)
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            raise
