"""What was learned from every piece of a dataset, on disk until the audit is done, so that it can be continued."""

from __future__ import annotations

import math
import mmap
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.stats.arrays import chunks, follows
from cuecard.writing import writing_to

#: The summary of a piece: tables by name.
Summary = Mapping[str, pl.DataFrame]
#: How the names of folders begin that are being written.
_STAGED = "."
#: Files of numbers that are open, of all stores.
_MAPPED: weakref.WeakSet[mmap.mmap] = weakref.WeakSet()


@dataclass(frozen=True)
class Store:
    """A folder with a folder for every stage and, in it, for every piece that is done."""

    folder: Path
    #: Stages that an earlier run had begun.
    found: frozenset[str] = frozenset()

    @classmethod
    def at(cls, folder: Path) -> Store:
        """Return the store in a folder, with what an interrupted run has left there."""
        found = {path.name for path in folder.iterdir() if not path.name.startswith(_STAGED)}
        return cls(folder, frozenset(found))

    def has(self, stage: str, piece: int) -> bool:
        """Return whether a piece is done."""
        return self._place(stage, piece).is_dir()

    def put(self, stage: str, piece: int, summary: Summary) -> None:
        """Keep the summary of a piece, whole or not at all."""

        def write(staged: Path) -> None:
            for name, table in summary.items():
                table.write_parquet(staged / f"{name}.parquet", compression="lz4")

        _write_folder(self._place(stage, piece), write)

    def summary(self, stage: str, piece: int) -> dict[str, pl.DataFrame]:
        """Return the summary of a piece that is done."""
        files = sorted(self._place(stage, piece).glob("*.parquet"))
        return {file.stem: pl.read_parquet(file, memory_map=False) for file in files}

    def table(self, stage: str, piece: int, name: str, columns: list[str]) -> pl.DataFrame | None:
        """Return columns of one table of a piece, None where it has no such table."""
        file = self._place(stage, piece) / f"{name}.parquet"
        return pl.read_parquet(file, columns=columns, memory_map=False) if file.is_file() else None

    def arrays(self, name: str, write: Callable[[Path], None]) -> dict[str, npt.NDArray[Any]]:
        """Return the numbers that `write` has written to a folder, now or before the run was interrupted.

        They stay on disk: memory holds what is looked at, as long as nothing else needs it.
        """
        place = self.folder / name
        if not place.is_dir():
            _write_folder(place, write)
        return {file.stem: _mapped(file) for file in sorted(place.glob("*.npy"))}

    def release(self) -> None:
        """Let go of the numbers in memory that are also on disk."""
        for mapped in _MAPPED:
            mapped.madvise(mmap.MADV_DONTNEED)

    def tables(self, stage: str, name: str, columns: list[str] | None = None) -> Iterator[pl.DataFrame]:
        """Yield one table of every piece that has it, in the order of the pieces."""
        for file in self.files(stage, name):
            yield pl.read_parquet(file, columns=columns, memory_map=False)

    def files(self, stage: str, name: str) -> list[Path]:
        """Return the files of one table, in the order of the pieces."""
        # What a killed run has staged is no piece.
        places = sorted(p for p in (self.folder / stage).iterdir() if not p.name.startswith(_STAGED))
        return [file for place in places if (file := place / f"{name}.parquet").is_file()]

    def remove(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _place(self, stage: str, piece: int) -> Path:
        return self.folder / stage / f"{piece:06d}"


def compact(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table that holds its own texts alone: some rows of a table keep the texts of all others in memory."""
    texts = [column for column in table.get_columns() if column.dtype == pl.String]
    return table.with_columns(
        pl.Series(c.name, c.to_arrow(compat_level=pl.CompatLevel.oldest()), pl.String) for c in texts
    )


def new_array(folder: Path, name: str, dtype: npt.DTypeLike, length: int) -> npt.NDArray[Any]:
    """Return an array of zeros on disk, to be written, that `Store.arrays` calls by its name."""
    array = np.lib.format.open_memmap(folder / f"{name}.npy", "w+", dtype=np.dtype(dtype), shape=(length,))
    return _registered(array)


def on_disk(values: npt.NDArray[Any], folder: Path) -> npt.NDArray[Any]:
    """Return the same numbers in a file that has no name: memory holds what is looked at."""
    if not values.size or isinstance(values.base, np.memmap):
        return values
    with writing_to(folder), tempfile.TemporaryFile(dir=folder) as file:
        np.ascontiguousarray(values).tofile(file)
        # Compiled loops take it as any other array, because it could be written to; nobody does.
        return _registered(np.memmap(file, dtype=values.dtype, mode="c", shape=values.shape))


def scratch_array(folder: Path | None, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """Return an array of zeros to be written, in a file that has no name; in memory where there is no folder."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if folder is None or not size:
        return np.zeros(shape, dtype)
    with writing_to(folder), tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(
            os, "posix_fallocate"
        ):  # a full disk is told about here, rather than by the end of the process
            os.posix_fallocate(file.fileno(), 0, size)
        return _registered(np.memmap(file, dtype=dtype, mode="w+", shape=shape))


def computed(
    folder: Path | None, dtype: npt.DTypeLike, n: int, part: Callable[[slice], npt.NDArray[Any]]
) -> npt.NDArray[Any]:
    """Return n numbers, or rows of them, that `part` gives some at a time, in such a file or in memory."""
    width = part(slice(0, 0)).shape[1:]
    values = scratch_array(folder, dtype, (n, *width))
    for some in chunks(n):
        values[some] = part(some)
    return values


def gathered(
    values: npt.NDArray[Any], rows: npt.NDArray[np.integer[Any]], folder: Path | None
) -> npt.NDArray[Any]:
    """Return the values of some rows, in such a file or in memory; those of rows without a gap are no copy."""
    if folder is None:
        return np.asarray(values[rows])
    if len(rows) and follows(rows):
        return values[int(rows[0]) :][: len(rows)]
    return computed(folder, values.dtype, len(rows), lambda some: values[rows[some]])


def _mapped(file: Path) -> npt.NDArray[Any]:
    return _registered(np.load(file, mmap_mode="r"))


def _registered(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array as one like others; `Store.release` finds its file as long as it is used."""
    if isinstance(array, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
        _MAPPED.add(array._mmap)  # type: ignore[attr-defined]
    return np.asarray(array)


def _write_folder(place: Path, write: Callable[[Path], None]) -> None:
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
