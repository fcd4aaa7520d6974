"""`scan`: a dataset larger than memory, as a series of `Instances` that share labels and columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from cuecard.data.files.paths import files_below, shown
from cuecard.data.files.raw import RawTable, named_files, stacked_schema
from cuecard.data.files.reading import OnError
from cuecard.data.files.sources import SPLITS, STDIN, Source, paths_by_split, which_files, without_preset
from cuecard.data.instances import COLUMNS, Instances, LoadReport, Task
from cuecard.data.layout.columns import Columns, ColumnsArgument
from cuecard.data.layout.labels import label_texts
from cuecard.data.layout.scheme import Scheme, Wishes, columns_of, learn
from cuecard.data.layout.shaping import shape
from cuecard.data.layout.thresholds import Threshold
from cuecard.data.loading import ROW, dataset_name, load_report
from cuecard.data.partitions import Chunk, chunks_of, parts_of
from cuecard.data.splits.safeguards import MAX_SKIPPED, check_skipped, refuse_shared_files
from cuecard.errors import InputError, UsageError
from cuecard.stats.arrays import Ints


@dataclass(frozen=True)
class Piece:
    """A part of a split's files that is read by itself; `start` are the rows of the split in earlier files."""

    split: str
    chunk: Chunk
    start: int


@dataclass(frozen=True, eq=False)
class Scan:
    """A dataset to go through in parts of at most `rows` rows of the files, as often as one likes.

    All parts have the same task, labels and recognised columns; a part has rows of one split, train first.
    """

    task: Task
    labels: tuple[str, ...]
    name: str
    report: LoadReport
    rows: int
    paths: Mapping[str, list[Path]]
    schemes: Mapping[str, Scheme]
    wishes: Wishes = field(default_factory=Wishes)
    header: str | None = None
    max_skipped: float = MAX_SKIPPED
    #: Splits that the user named, which must have rows that can be used.
    named: frozenset[str] = frozenset({"train"})

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """The parts that can be read by themselves: files, or row groups of parquet files; train first.

        Rows are numbered on from file to file, so files without a count of their rows are gone through once, but for
        the last.
        """
        pieces: list[Piece] = []
        for split, paths in self.paths.items():
            start = 0
            for i, path in enumerate(paths):
                chunks = chunks_of(path, rows=self.rows, on_error=self.wishes.on_error)
                pieces += [Piece(split, chunk, start) for chunk in chunks]
                if i + 1 < len(paths):
                    start += self._size(chunks)
        return tuple(pieces)

    def stamps(self) -> list[tuple[str, int, int]]:
        """Return name, size and time of every file: they change where one is written to."""
        files = [file for paths in self.paths.values() for path in paths for file in files_below(path)]
        return [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]

    def _size(self, chunks: list[Chunk]) -> int:
        if chunks[-1].rows is not None:
            return chunks[-1].before + chunks[-1].rows
        return sum(raw.n_read for raw in self._raw(chunks[0]))

    def _raw(self, chunk: Chunk) -> Iterator[RawTable]:
        return (table.flat() for table in self._tables(chunk))

    def _tables(self, chunk: Chunk, rows: int | None = None) -> Iterator[RawTable]:
        return parts_of(
            chunk.path,
            rows=rows or self.rows,
            on_error=self.wishes.on_error,
            header=self.header,
            groups=chunk.groups,
        )

    def read(self, piece: Piece) -> Iterator[Instances]:
        """Yield the instances of a piece, at most `rows` rows of its file at a time.

        What was left out is in their reports; where only rows were left out, or there are none, the instances are none.
        """
        scheme = self.schemes[piece.split]
        none = Instances(_no_rows(self.labels), self.task, self.labels, self.name, LoadReport())
        empty = True
        for raw in self._raw(piece.chunk):
            empty = False
            if raw.frame.height == 0:
                report = LoadReport(
                    raw.files, scheme.columns.described(), dict(raw.dropped), n_read=raw.n_read
                )
                yield replace(none, report=report)
                continue
            complete = _complete(self.wishes.cut(raw), scheme.columns)
            shaped = shape(complete, piece.split, scheme, start=piece.start)
            report = load_report([raw], scheme.columns, [shaped])
            report = replace(report, n_read=raw.n_read, empty=shaped.empty)
            yield Instances(shaped.table, self.task, self.labels, self.name, report)
        if empty:
            yield replace(none, report=LoadReport(recognised=scheme.columns.described()))

    def train_rows(self) -> Iterator[tuple[pl.DataFrame, Ints]]:
        """Yield the training rows as they are, and which of them are examples, in the order of these."""
        scheme = self.schemes["train"]
        for piece in self.pieces:
            for table in self._tables(piece.chunk) if piece.split == "train" else ():
                if table.frame.height:
                    raw = _complete(self.wishes.cut(table.flat()), scheme.columns).numbered(ROW)
                    shaped = shape(raw, piece.split, scheme, start=piece.start)
                    yield table.frame, np.unique(shaped.table[ROW].to_numpy())

    def row_schema(self) -> pl.Schema:
        """Return the columns of the training rows as they are; of parquet files, nothing but these is read."""
        empty: dict[tuple[tuple[str, pl.DataType], ...], pl.DataFrame] = {}
        for path in self.paths["train"]:
            typed = path.suffix == ".parquet"
            for table in self._tables(Chunk(path), rows=1 if typed else self.rows):
                if table.frame.height:
                    empty.setdefault(tuple(table.frame.schema.items()), table.frame.clear())
                    if typed:
                        break
        return stacked_schema(list(empty.values()))

    def __iter__(self) -> Iterator[Instances]:
        for split in self.paths:
            dropped: Counter[str] = Counter()
            n_read = 0
            for piece in self.pieces:
                if piece.split != split:
                    continue
                for part in self.read(piece):
                    dropped.update(part.report.dropped)
                    n_read += part.report.n_read
                    if len(part):
                        yield part
            self.check_skipped(split, dropped, n_read)

    def numbered(self, splits: Collection[str]) -> Scan:
        """Return the same pieces with examples of some splits called by their row number."""
        schemes = dict(self.schemes)
        for split in splits:
            columns = schemes[split].columns
            roles = dict(columns.roles)
            roles.pop("id", None)
            schemes[split] = replace(schemes[split], columns=replace(columns, roles=roles))
        return replace(self, schemes=schemes)

    def check_skipped(self, split: str, dropped: Mapping[str, int], n_read: int) -> None:
        """Raise if more rows of a split were skipped than are allowed."""
        paths = self.paths[split]
        where = named_files([shown(path) for path in paths])
        check_skipped(dropped, n_read, self.max_skipped, where, len(paths))


def scan(
    train: Source,
    *,
    test: Source | None = None,
    dev: Source | None = None,
    task: Task | None = None,
    columns: ColumnsArgument | None = None,
    labels: Mapping[str, str | None] | Threshold | str | None = None,
    header: str | None = None,
    keep_unlabelled: bool = False,
    on_error: OnError = "stop",
    max_skipped: float = MAX_SKIPPED,
    name: str | None = None,
    rows: int = 200_000,
) -> Scan:
    """Return the dataset as an iterable of `Instances` with at most `rows` rows of the files each.

    The sources are files, folders, globs and saved datasets, and the other arguments those of `load`. The
    files are gone through once now for the labels alone. Differences from `load`: ids are compared within a
    part only, what an answer means is learned from the first part, and extra columns of csv files stay text.
    """
    if rows < 1:
        raise UsageError(f"rows must be at least 1, not {rows}.")
    preset, source = without_preset(train)
    wishes = Wishes(task, columns, labels, keep_unlabelled, on_error, preset)
    paths = _paths(source, {"dev": dev, "test": test})
    refuse_shared_files({split: [str(p) for p in listed] for split, listed in paths.items()})
    first = {split: _head(listed, rows, on_error, header) for split, listed in paths.items()}
    for raw in first.values():
        if wishes.joins_rows(raw):
            raise InputError(
                f"{raw.where} has one scored response per row, and those of a prompt may be in different parts of "
                "the dataset: read it at once with a larger --memory, or write the responses of a prompt as lists in "
                "one row."
            )
    heads = {split: wishes.cut(raw) for split, raw in first.items()}
    roles = columns_of(heads, wishes)
    values = None
    if roles["train"].task in ("pair", "text"):
        values = {
            v
            for s, listed in paths.items()
            for v in _label_values(listed, roles[s], wishes, rows=rows, header=header)
        }
    schemes = learn(heads, roles, wishes, values)
    report = load_report([], roles["train"], [])
    files = tuple(str(path) for listed in paths.values() for path in listed)
    named = {split for split, other in (("dev", dev), ("test", test)) if other is not None}
    said = which_files({split: [str(p) for p in listed] for split, listed in paths.items()}, named)
    return Scan(
        roles["train"].task,
        schemes["train"].labels.names,
        name or dataset_name(train, preset),
        LoadReport(files, report.recognised, notes=(*said, *schemes["train"].labels.notes)),
        rows,
        paths,
        schemes,
        wishes,
        header,
        max_skipped,
        frozenset(
            {"train", *(split for split, source in (("dev", dev), ("test", test)) if source is not None)}
        ),
    )


def _paths(train: Source, others: Mapping[str, Source | None]) -> dict[str, list[Path]]:
    for source in (train, *others.values()):
        if source is not None and (not isinstance(source, str | Path) or str(source) == STDIN):
            raise UsageError(
                "scan reads files and folders; read tables in memory and Hub datasets with load."
            )
    paths = paths_by_split(train)
    for split, source in others.items():
        if source is not None:
            parts = paths_by_split(without_preset(source)[1])
            paths[split] = parts.get(split, parts["train"])
    return {s: paths[s] for s in SPLITS if s in paths}


def _head(paths: list[Path], rows: int, on_error: OnError, header: str | None) -> RawTable:
    """Return the first part of a split that has rows."""
    for path in paths:
        for table in parts_of(path, rows=rows, on_error=on_error, header=header):
            if table.frame.height:
                return table.flat()
    raise InputError(f"{shown(paths[0])} has no rows: give a file with at least one row.")


def _label_values(
    paths: list[Path], columns: Columns, wishes: Wishes, *, rows: int, header: str | None
) -> set[str | None]:
    """Return the different raw labels of a split, reading only their column where the format allows it."""
    if wishes.threshold is not None:
        return set(wishes.threshold.names)
    column = columns.one("label")
    wanted = None if "." in column else [column]
    values: set[str | None] = set()
    for path in paths:
        for table in parts_of(path, rows=rows, on_error=wishes.on_error, columns=wanted, header=header):
            raw = table.flat()
            if column in raw.frame.columns:
                values |= set(label_texts(raw.frame[column]).unique().to_list())
            elif raw.frame.height:
                values.add(None)
    return values


def _complete(raw: RawTable, columns: Columns) -> RawTable:
    """Return the part with empty columns for roles that none of its rows has a value for."""
    missing = [pl.lit(None, dtype=pl.String).alias(c) for c in sorted(columns.used - set(raw.frame.columns))]
    if not missing:
        return raw
    return replace(raw, frame=raw.frame.with_columns(missing))


def _no_rows(labels: tuple[str, ...]) -> pl.DataFrame:
    types = {"position": pl.Int32(), "label": pl.Enum(labels)}
    return pl.DataFrame(schema={name: types.get(name, pl.String()) for name in COLUMNS})
