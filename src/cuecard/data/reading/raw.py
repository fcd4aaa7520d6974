"""A table as it was read, before any column has a meaning, and where each of its rows came from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import polars as pl


@dataclass(frozen=True, eq=False)
class RawTable:
    """Rows of one or more files, with what is needed to say where a row is.

    `rows` holds each row's number in its file, counted from 1 without header and blank lines; None where none
    was skipped, so that the numbers follow from the files' sizes.
    """

    frame: pl.DataFrame
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: npt.NDArray[np.int64] | None = None
    #: Column → names of its integer classes, from Hugging Face metadata.
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    #: Rows of the (only) file that stand before this part of it.
    first_row: int = 0
    #: Whether the format knows no types, so that numbers came as text.
    untyped: bool = False
    #: For each file, the rows of the files before it, those left out included.
    rows_before: tuple[int, ...] = (0,)

    @property
    def n_read(self) -> int:
        """Number of rows read, those left out included."""
        return self.frame.height + sum(self.dropped.values())

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """The rows' numbers in their files, or in this part of the file, counted from 1."""
        if self.rows is not None:
            return self.rows
        sizes = np.asarray(self.sizes)
        starts: npt.NDArray[np.int64] = np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.arange(1, self.frame.height + 1, dtype=np.int64) - starts

    @property
    def numbers_throughout(self) -> npt.NDArray[np.int64]:
        """The rows' numbers counted on from file to file; a row left out keeps its number to itself."""
        before: npt.NDArray[np.int64] = np.repeat(self.rows_before, self.sizes)
        return self.numbers + before + self.first_row

    @property
    def where(self) -> str:
        """The file, or the first of several, as errors name it."""
        return named_files(self.files)

    def place(self, index: int) -> str:
        """Return `row N of FILE` for a row of the table."""
        ends = np.cumsum(self.sizes).tolist()
        which = bisect_right(ends, index)
        start = ends[which - 1] if which else 0
        row = int(self.rows[index]) if self.rows is not None else index - start + 1
        return f"row {self.first_row + row:,} of {self.files[which]}"

    def flat(self) -> RawTable:
        """Return the table with the fields of structs as columns of their own, named `parent.field`.

        Structs of lists stay: they are choices with their keys.
        """
        wide = {
            name: [f.name for f in dtype.fields]
            for name, dtype in self.frame.schema.items()
            if isinstance(dtype, pl.Struct) and not _all_lists(dtype)
        }
        if not wide:
            return self
        fields = [
            pl.col(name).struct.field(part).alias(f"{name}.{part}")
            for name, parts in wide.items()
            for part in parts
        ]
        return replace(self, frame=self.frame.with_columns(fields).drop(list(wide)))

    def numbered(self, column: str, start: int = 0) -> RawTable:
        """Return the table with a further column that numbers its rows."""
        numbers = pl.int_range(start, start + pl.len(), dtype=pl.Int64)
        return replace(self, frame=self.frame.with_columns(numbers.alias(column)))

    def keep(self, mask: pl.Series, dropped: Mapping[str, int]) -> RawTable:
        """Return the rows where the mask holds, under their old numbers, with the reasons why others went."""
        kept = mask.to_numpy()
        sizes = [int(part.sum()) for part in np.split(kept, np.cumsum(self.sizes)[:-1])]
        counts = {r: self.dropped.get(r, 0) + dropped.get(r, 0) for r in (*self.dropped, *dropped)}
        frame = self.frame.filter(mask)
        return replace(self, frame=frame, sizes=tuple(sizes), rows=self.numbers[kept], dropped=counts)

    def slice(self, rows: slice) -> RawTable:
        """Return a range of the rows, under their numbers."""
        ends = np.cumsum(self.sizes)
        sizes = np.clip(np.minimum(ends, rows.stop) - np.maximum(ends - self.sizes, rows.start), 0, None)
        frame = self.frame.slice(rows.start, rows.stop - rows.start)
        if self.rows is not None:
            numbers = self.rows[rows]
        else:
            before: npt.NDArray[np.int64] = np.repeat(ends - self.sizes, sizes)
            numbers = np.arange(rows.start, rows.stop)[: frame.height] - before + 1
        return replace(self, frame=frame, sizes=tuple(sizes.tolist()), rows=numbers, dropped={}, notes=())

    def head(self, n: int) -> RawTable:
        """Return the first rows only."""
        if self.frame.height <= n:
            return self
        left, sizes = n, []
        for size in self.sizes:
            sizes.append(min(size, left))
            left -= sizes[-1]
        rows = None if self.rows is None else self.rows[:n]
        return replace(self, frame=self.frame.head(n), sizes=tuple(sizes), rows=rows)


def named_files(files: Sequence[str]) -> str:
    """Return the name of a file, or of the first of several."""
    more = len(files) - 1
    return files[0] + (f" (and {more} more)" if more else "")


def stacked(tables: Sequence[RawTable]) -> RawTable:
    """Return the rows of several tables one after another; a column some lack is empty there."""
    if len(tables) == 1:
        return tables[0]
    frames = [t.frame for t in tables if t.frame.width]  # a damaged file that is left out has no columns
    schemas = {tuple(frame.schema.items()) for frame in frames}
    notes = tuple(note for t in tables for note in t.notes)
    if not frames:
        frame = pl.DataFrame()
    elif len(schemas) == 1:
        frame = pl.concat(frames)
    else:
        frame = pl.concat(alike(frames), how="diagonal_relaxed")
        if len({frozenset(f.columns) for f in frames}) > 1:
            notes += (f"The {len(tables)} files have different columns; a missing column is read as empty.",)
    rows = None
    if any(t.rows is not None for t in tables):
        rows = np.concatenate(
            [t.rows if t.rows is not None else np.arange(1, t.frame.height + 1) for t in tables]
        )
    before = np.cumsum([0, *(t.n_read for t in tables[:-1])])
    names: dict[str, tuple[str, ...]] = {}
    dropped: dict[str, int] = {}
    for table in tables:
        names.update(table.class_names)
        for reason, count in table.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    return RawTable(
        frame,
        tuple(f for t in tables for f in t.files),
        tuple(s for t in tables for s in t.sizes),
        rows,
        names,
        dropped,
        notes,
        untyped=all(t.untyped for t in tables),
        rows_before=tuple(before.tolist()),
    )


def joined(tables: Sequence[RawTable]) -> RawTable:
    """Return the consecutive chunks of one file as one table; a column some lack is empty there."""
    if len(tables) == 1 and not tables[0].first_row:
        return tables[0]
    frames = [t.frame for t in tables if t.frame.width]
    frame = pl.concat(alike(frames), how="diagonal_relaxed", rechunk=False) if frames else pl.DataFrame()
    rows = None
    if any(t.rows is not None or t.dropped for t in tables):
        rows = np.concatenate([t.numbers + t.first_row for t in tables])
    dropped: dict[str, int] = {}
    for table in tables:
        for reason, count in table.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    notes = dict.fromkeys(note for t in tables for note in t.notes)
    return RawTable(
        frame,
        tables[0].files,
        (frame.height,),
        rows,
        {name: names for t in tables for name, names in t.class_names.items()},
        dropped,
        tuple(notes),
        untyped=all(t.untyped for t in tables if t.frame.height),
    )


def _all_lists(dtype: pl.Struct) -> bool:
    return all(isinstance(field.dtype, pl.List) for field in dtype.fields)


def alike(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Return the frames with a column as text wherever its types in two frames have no common one."""
    kinds: dict[str, list[pl.DataType]] = {}
    for frame in frames:
        for column, dtype in frame.schema.items():
            if dtype != pl.Null and dtype not in kinds.setdefault(column, []):
                kinds[column].append(dtype)
    several = [column for column, dtypes in kinds.items() if len(dtypes) > 1]
    mixed = [
        c
        for c in several
        if pl.String in kinds[c] or not _stack([f.select(c) for f in frames if c in f.columns])
    ]
    return [f.with_columns(as_text(f[c]) for c in mixed if c in f.columns) for f in frames]


def _stack(parts: Sequence[pl.DataFrame]) -> bool:
    """Return whether columns of different types can be one as they are."""
    try:
        pl.concat(parts, how="vertical_relaxed")
    except pl.exceptions.PolarsError:
        return False
    return True


def as_text(values: pl.Series) -> pl.Series:
    """Return values as text, lists and structs as JSON."""
    if not values.dtype.is_nested():
        return values.cast(pl.String, strict=False)
    lines = pl.DataFrame({"v": values}).write_ndjson().splitlines()
    missing = values.is_null().to_list()
    texts = [None if null else line[len('{"v":') : -1] for null, line in zip(missing, lines, strict=True)]
    return pl.Series(values.name, texts, dtype=pl.String)
