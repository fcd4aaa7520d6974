"""How a dataset is read: the options, declared once, and files of any size as raw tables, read chunk by chunk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl

from cuecard.data.instances import Task
from cuecard.data.layout.columns import ColumnsArgument, parse_labels
from cuecard.data.layout.labels import Threshold, parse_threshold
from cuecard.data.layout.open_answers import with_lettered_answers
from cuecard.data.layout.preferences import (
    ranked_responses,
    with_gathered_negatives,
)
from cuecard.data.layout.scores import Membership, parse_membership
from cuecard.data.presets import Preset
from cuecard.data.reading.chunks import Chunk, chunks_of, parts_of
from cuecard.data.reading.files import OnError, read_file
from cuecard.data.reading.formats import files_below
from cuecard.data.reading.raw import RawTable, joined
from cuecard.data.reading.sources import STDIN, Source, paths_by_split
from cuecard.data.space import Space, mapped_table, write_folder, write_table
from cuecard.errors import UsageError
from cuecard.limits import check_seed
from cuecard.wording import RESUMES

#: Share of a split's rows that may be skipped; more of them are a misread file, not a few bad rows.
MAX_SKIPPED = 0.05


@dataclass(frozen=True)
class ReadOptions:
    """How to read the rows of a dataset; `cuecard.load` says what each option means."""

    task: Task | None = None
    columns: ColumnsArgument | None = None
    labels: Mapping[str, str | None] | Threshold | Membership | str | None = None
    label_file: str | Path | Sequence[str | Path] | None = None
    header: str | None = None
    keep_unlabelled: bool = False
    holdout: float | None = None
    seed: int = 0
    on_error: OnError = "stop"
    max_skipped: float = MAX_SKIPPED
    name: str | None = None
    limit: int | None = None
    cluster: str | None = None
    preset: Preset | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before any data is read."""
        check_seed(self.seed)
        if self.limit is not None and self.limit < 1:
            raise UsageError(f"limit must be at least 1 row, not {self.limit}.")
        if self.on_error not in get_args(OnError):
            raise UsageError(f"on_error is 'stop' or 'skip', not {self.on_error!r}.")
        if self.labels is None and self.preset is not None and self.preset.condition:
            object.__setattr__(self, "labels", self.preset.condition)
        if isinstance(self.labels, str):
            cut = parse_threshold(self.labels) or parse_membership(self.labels)
            object.__setattr__(self, "labels", cut or parse_labels(self.labels))
        if isinstance(self.labels, Threshold | Membership):
            if self.columns and self.columns.get("label", self.labels.label) != self.labels.label:
                raise UsageError(
                    f"--labels {self.labels.label} and --columns label=… both define the labels: leave one of them out."
                )
            object.__setattr__(self, "columns", {**(self.columns or {}), "label": self.labels.label})

    @property
    def threshold(self) -> Threshold | Membership | None:
        """Where a column of numbers is cut into two classes, or which of several labels is compared with the rest."""
        return self.labels if isinstance(self.labels, Threshold | Membership) else None

    @property
    def label_names(self) -> Mapping[str, str | None] | None:
        """Names for the values of the label column."""
        return self.labels if isinstance(self.labels, Mapping) else None

    def cut(self, raw: RawTable) -> RawTable:
        """Return a table with the labels that a threshold makes, and scored responses as chosen and rejected."""
        if self.threshold is not None:
            return self.threshold.applied(raw)
        raw = with_gathered_negatives(raw)
        raw = with_lettered_answers(raw)
        return ranked_responses(raw) if self._may_rank else raw

    @property
    def _may_rank(self) -> bool:
        free = self.task in (None, "preference") and self.preset is None and self.labels is None
        return free and not set(self.columns or ()) - {"id"}


#: The folder with a folder for every chunk that has been read.
_READ = "read"
_NO_ROWS = pl.DataFrame()
_FIELDS = ("files", "sizes", "class_names", "dropped", "notes", "first_row", "untyped")


@dataclass(frozen=True)
class FileChunks:
    """The files of a dataset, in chunks that are read by themselves."""

    paths: tuple[Path, ...]
    chunks: tuple[Chunk, ...]
    on_error: OnError
    header: str | None

    @classmethod
    def of(cls, sources: Iterable[Source], *, rows: int, on_error: OnError, header: str | None) -> FileChunks:
        """Return the chunks of sources that are files, folders or globs; row groups are joined up to `rows` rows."""
        paths = tuple(dict.fromkeys(path for source in sources for path in file_paths(source)))
        chunks = tuple(chunk for path in paths for chunk in chunks_of(path, rows=rows, on_error=on_error))
        return cls(paths, chunks, on_error, header)

    def stamps(self) -> list[tuple[str, int, int]]:
        """Return name, size and time of every file: they change where one is written to."""
        return stamps(self.paths)

    def read(self, space: Space) -> dict[Path, RawTable]:
        """Return the table of every file, mapped from disk; chunks that an earlier run has read are found there."""
        assert space.folder is not None
        folder = space.folder / _READ
        folder.mkdir(exist_ok=True)
        places = [folder / f"{i:06d}" for i in range(len(self.chunks))]
        left = [i for i, place in enumerate(places) if not place.is_dir()]
        title = "Reading"
        if len(left) < len(places):
            done = len(places) - len(left)
            title += f" {RESUMES} {f'{done} of {len(places)}' if left else f'all {done}'} chunks)"
        with space.shown(title):
            read = partial(_read_chunk, space.rows, self.on_error, self.header)
            for i, tables in space.engine.map(read, [self.chunks[i] for i in left]):
                write_folder(places[left[i]], partial(_write_tables, tables))
        return self._tables(places)

    def _tables(self, places: Sequence[Path]) -> dict[Path, RawTable]:
        tables: dict[Path, list[RawTable]] = {path: [] for path in self.paths}
        for chunk, place in zip(self.chunks, places, strict=True):
            tables[chunk.path] += _mapped_tables(place)
        return {
            path: joined(own) if own else read_file(path, on_error=self.on_error, header=self.header)
            for path, own in tables.items()
        }


def stamps(paths: Iterable[Path]) -> list[tuple[str, int, int]]:
    """Return name, size and time of every file: they change where one is written to."""
    files = [file for path in paths for file in files_below(path)]
    return [(str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns) for file in files]


def is_files(source: Source) -> bool:
    """Return whether a source names files, folders or a glob."""
    return isinstance(source, str | Path) and str(source) != STDIN and not str(source).startswith("hf:")


def file_paths(source: Source) -> list[Path]:
    """Return the files (or folders of a saved dataset) of a source, none where it is no file."""
    if not is_files(source):
        return []
    return [path for paths in paths_by_split(source).values() for path in paths]


def _read_chunk(rows: int, on_error: OnError, header: str | None, chunk: Chunk) -> Iterator[RawTable]:
    return parts_of(chunk.path, rows=rows, on_error=on_error, header=header, groups=chunk.groups)


def _write_tables(tables: Iterable[RawTable], folder: Path) -> None:
    """Write the rows of tables, and what is known of them."""
    described = []
    for i, table in enumerate(tables):
        if table.frame.width:
            write_table(folder / f"{i}.arrow", [table.frame])
        if table.rows is not None:
            np.save(folder / f"{i}.npy", table.rows)
        described.append({name: getattr(table, name) for name in _FIELDS})
    (folder / "tables.json").write_text(json.dumps(described))


def _mapped_tables(folder: Path) -> Iterator[RawTable]:
    for i, known in enumerate(json.loads((folder / "tables.json").read_text())):
        place, rows = folder / f"{i}.arrow", folder / f"{i}.npy"
        yield RawTable(
            mapped_table(place) if place.is_file() else _NO_ROWS,
            tuple(known["files"]),
            tuple(known["sizes"]),
            np.load(rows) if rows.is_file() else None,
            _named(known["class_names"]),
            known["dropped"],
            tuple(known["notes"]),
            first_row=known["first_row"],
            untyped=known["untyped"],
        )


def _named(class_names: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    return {column: tuple(names) for column, names in class_names.items()}
