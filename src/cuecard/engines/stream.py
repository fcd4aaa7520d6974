"""A dataset that is gone through in pieces: surveyed once, then asked by every audit as often as it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data import Instances, Scan
from cuecard.data.fingerprint import Hashes, mixed, text_hashes
from cuecard.data.loading import stack_tables
from cuecard.data.scanning import Piece
from cuecard.data.survey import NumberedInstances, bare_table, example_hashes, series_of, survey
from cuecard.data.units import UnitScope
from cuecard.engines.copies import folded, write_units
from cuecard.engines.reports import Reports, left_out_table
from cuecard.engines.store import Store, Summary, compact, new_array
from cuecard.engines.sums import Sums, checkpointed, reduced, sums_of
from cuecard.engines.verification import SURVEY, changes, part_sizes
from cuecard.errors import InputError
from cuecard.stats.arrays import Ints
from cuecard.text.encoded import LANGUAGE_ROWS
from cuecard.wording import RESUMES

#: Examples of a split that are taken for what needs texts in memory.
SAMPLED = 50_000
#: Rows of numbers on disk that are looked at at a time.
CHUNK = 1 << 20
#: Columns of the survey that are kept on disk, by their type.
_NUMPY: dict[pl.DataType, type[np.generic]] = {
    pl.UInt64(): np.uint64,
    pl.Int64(): np.int64,
    pl.Int32(): np.int32,
}

#: A function that is called with the numbers of the pieces that are left to do, and does them.
Map = Callable[["Stream", str, "Summarise", list[int]], None]
#: Returns what is to be known of some instances; the second argument is the number of their first row.
Summarise = Callable[[Instances, int], Summary]


@dataclass(frozen=True, eq=False)
class Stream:
    """A dataset in pieces, and what is kept of them.

    Attributes:
        scan: the pieces.
        store: where the summary of every piece is kept.
        mapping: does the pieces of a stage, on this machine or on others.
        seed: of the sample.
        progress: called with the title of a stage; returns a context manager that it runs in.
        memory: the bytes that an audit may keep of the dataset.
    """

    scan: Scan
    store: Store
    mapping: Map
    seed: int = 0
    progress: Callable[[str], AbstractContextManager[object]] | None = None
    memory: int | None = None

    def __getstate__(self) -> dict[str, object]:
        """Return what other machines need: neither the display of progress nor texts that were read."""
        left_out = ("progress", "mapping", "_read", "_in_memory", "sample", "_columns", "without_units")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def to_read(self) -> Stream:
        """Return what is needed to read pieces, without what was learned from them."""
        bare = replace(self, progress=None)
        if "first_rows" in self.__dict__:
            bare.__dict__["first_rows"] = self.first_rows
        return bare

    def each(self, stage: str, summarise: Summarise, *, title: str, sums: Sums | None = None) -> None:
        """Have every piece summarised that is not done yet; `store` then has their tables.

        `sums_in` then has those that are to be added up: a cluster adds them up itself.
        """
        numbers = range(len(self.scan.pieces))
        left = [i for i in numbers if not self.store.has(stage, i)]
        add = getattr(self.mapping, "add", None) if sums and not self.store.has(sums_of(stage), 0) else None
        if add and left:
            added_up = checkpointed(self.store, stage)
            left = [i for i in numbers if i not in added_up]
        else:
            add = None
        if len(left) < len(numbers) and (left or add or stage in self.store.found):
            done = len(numbers) - len(left)
            title += f" {RESUMES} {f'{done} of {len(numbers)}' if left else f'all {done}'} parts)"
        with self._shown(title):
            if summarise != surveyed:
                self.first_rows  # noqa: B018  read here, where the store is
            if add:
                add(self, stage, summarise, sums, left)
            else:
                self.mapping(self, stage, summarise, left)

    def observed(self, observe: Callable[[Instances], Any], merge: Callable[[Any, Any], Any]) -> Any:
        """Return what is observed of all parts, merged; None where `observe` returns None for every part."""
        if across := getattr(self.mapping, "observed", None):
            return across(self, observe, merge)
        return reduced((self.observation(i, observe, merge) for i in range(len(self.scan.pieces))), merge)

    def observation(
        self, piece: int, observe: Callable[[Instances], Any], merge: Callable[[Any, Any], Any]
    ) -> Any:
        """Return what is observed of the parts of one piece, merged."""
        return reduced(map(observe, self.scan.read(self.scan.pieces[piece])), merge)

    def summary(self, piece: int, summarise: Summarise) -> dict[str, pl.DataFrame]:
        """Return the summary of one piece: tables of its parts one after another."""
        start = 0 if summarise == surveyed else int(self.first_rows[piece])  # not known before the survey
        tables: dict[str, list[pl.DataFrame]] = {}
        for part in self.scan.read(self.scan.pieces[piece]):
            for name, table in summarise(part, start).items():
                tables.setdefault(name, []).append(table)
            start += len(part)
        return {name: _stacked(parts) for name, parts in tables.items()}

    @cached_property
    def data(self) -> NumberedInstances:
        """The whole dataset, its texts on disk."""
        columns = self._columns
        with self._shown("Copies and near copies"):
            units = self.store.arrays("units", partial(write_units, self, columns))
        self.store.release()
        scopes: tuple[UnitScope, ...] = ("premise", "hypothesis", "choices", "example")
        return replace(
            self._instances(),
            of_texts={scope: units[scope] for scope in scopes if scope in units},
            closest={"premise": units["closest_premise"], "hypothesis": units["closest_hypothesis"]},
        )

    @cached_property
    def without_units(self) -> NumberedInstances:
        """The whole dataset, its texts on disk; copies and near copies need not have been found."""
        return self.__dict__.get("data") or self._instances()

    def _instances(self) -> NumberedInstances:
        columns = self._columns
        narrow = [name for name in self._survey_schema if name not in (*columns, "begins")]
        # Columns of a byte or a bit are kept in memory, the others on disk.
        numbers = pl.concat(self.store.tables(SURVEY, "rows", narrow)).rechunk()
        wide = {name: series_of(values) for name, values in columns.items()}
        numbers = numbers.with_columns(**{name: wide[name] for name in self._survey_schema if name in wide})
        return NumberedInstances(
            bare_table(numbers, wide["example"]),
            self.scan.task,
            self.scan.labels,
            self.scan.name,
            self.reports.merged,
            numbers=numbers,
            read_texts=self.texts,
            counting=columns["counting"],
        )

    @cached_property
    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        """The numbers of every row that are kept on disk, after a survey."""
        self.each(SURVEY, surveyed, title="Survey of all rows")
        if self.scan.wishes.on_error == "skip":
            self.reports.check_skipped()
        if not self.first_rows[-1]:
            raise InputError(f"{self.scan.name} has no rows that can be used: give labelled rows.")
        return self.store.arrays("numbers", self._write_numbers)

    @cached_property
    def _survey_schema(self) -> dict[str, pl.DataType]:
        return pl.read_parquet_schema(self.store.files(SURVEY, "rows")[0])

    def _write_numbers(self, folder: Path) -> None:
        """Write a file for every wide column of the survey, and the numbers of examples."""
        n = int(self.first_rows[-1])
        wide = {name: _NUMPY[kind] for name, kind in self._survey_schema.items() if kind in _NUMPY}
        arrays = {name: new_array(folder, name, kind, n) for name, kind in wide.items()}
        example, counting = (
            new_array(folder, "example", np.int64, n),
            new_array(folder, "counting", np.int64, n + 1),
        )
        before = 0
        for start, table in self._survey_parts("rows", [*arrays, "begins"]):
            end = start + len(table)
            for name, array in arrays.items():
                array[start:end] = table[name].to_numpy()
            example[start:end] = before + np.cumsum(table["begins"].to_numpy()) - 1
            before += int(table["begins"].sum())
            counting[start:end] = np.arange(start, end)
            self.store.release()
        counting[n] = n
        for name, rows, new in changes(self):
            arrays[name][rows] = new

    def _survey_parts(self, name: str, columns: list[str]) -> Iterator[tuple[int, pl.DataFrame]]:
        """Yield columns of a table of the survey with the number of their first row, piece by piece."""
        for start, table in zip(self.first_rows, self.store.tables(SURVEY, name, columns), strict=False):
            yield int(start), table

    def _shown(self, title: str) -> AbstractContextManager[object]:
        return self.progress(title) if self.progress else nullcontext()

    @cached_property
    def reports(self) -> Reports:
        """What the parts of the survey say about reading them."""
        return Reports(self.scan, self.store, int(self.first_rows[-1]))

    @cached_property
    def first_rows(self) -> Ints:
        """The number of the first instance of every piece, and the number of all at the end."""
        sizes = [
            pl.scan_parquet(file).select(pl.len()).collect().item()
            for file in self.store.files(SURVEY, "rows")
        ]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @cached_property
    def sample(self) -> Instances:
        """At most `SAMPLED` examples of every split, drawn by a hash of their content, in the order of the dataset."""
        rows = self.sampled_rows
        return Instances(
            self.texts(rows), self.scan.task, self.scan.labels, self.scan.name, self.reports.merged
        )

    @cached_property
    def sampled_rows(self) -> Ints:
        """The rows of the sampled examples."""
        data = self.without_units
        first, split = data.first_rows, data.numbers["split"].to_physical().to_numpy()
        smallest: dict[int, tuple[Hashes, Ints]] = {}
        for start in range(0, len(first) - 1, CHUNK):
            end = min(start + CHUNK, len(first) - 1)
            rows = data.row_hashes[first[start] : first[end]]
            hashes = mixed(example_hashes(rows, first[start:end] - first[start]) + np.uint64(self.seed))
            of_examples = split[first[start:end]]
            for code in np.unique(of_examples):
                own = np.flatnonzero(of_examples == code)
                nothing = np.empty(0, np.uint64), np.empty(0, np.int64)
                kept, examples = smallest.get(int(code), nothing)
                kept, examples = np.append(kept, hashes[own]), np.append(examples, own + start)
                order = np.argsort(kept, kind="stable")[:SAMPLED]
                smallest[int(code)] = kept[order], examples[order]
        wanted = np.zeros(len(first) - 1, dtype=np.bool_)
        wanted[np.concatenate([examples for _, examples in smallest.values()])] = True
        if not data.grouped:
            return np.flatnonzero(wanted)
        return np.flatnonzero(wanted[data.example_codes]).astype(np.int64)

    @cached_property
    def split_sizes(self) -> dict[str, int]:
        """The number of all examples of every split."""
        data = self.without_units
        splits = data.numbers["split"]
        of_examples = splits.gather(data.first_rows[:-1]) if data.grouped else splits
        return {str(split): n for split, n in of_examples.value_counts().iter_rows()}

    @cached_property
    def _in_memory(self) -> tuple[Ints, pl.DataFrame]:
        """The rows whose texts are read at once: the sample, and those that the language is guessed from."""
        rows = np.union1d(self.sampled_rows, self.without_units.sampled_rows(LANGUAGE_ROWS))
        return rows, self._read_rows(rows)

    def texts(self, rows: Ints) -> pl.DataFrame:
        """Return some rows of the dataset with their texts, in that order."""
        kept, table = self._in_memory
        place = np.minimum(np.searchsorted(kept, rows), len(kept) - 1)
        return table[place] if np.array_equal(kept[place], rows) else self._read_rows(rows)

    def _read_rows(self, rows: Ints) -> pl.DataFrame:
        piece = np.searchsorted(self.first_rows, rows, side="right") - 1
        places = {int(number): np.flatnonzero(piece == number) for number in np.unique(piece)}
        wanted = {number: rows[here] - self.first_rows[number] for number, here in places.items()}
        if len(wanted) > 1 and (across := getattr(self.mapping, "rows", None)):
            parts = across(self._named, {self.scan.pieces[number]: own for number, own in wanted.items()})
        else:
            parts = [compact(self._piece_table(number)[own]) for number, own in wanted.items()]
        order = np.argsort(np.concatenate([*places.values()]), kind="stable")
        return stack_tables(parts)[order]

    @cached_property
    def _named(self) -> Scan:
        """The pieces with examples that have distinct ids."""
        return self.scan.numbered(self.reports.numbered) if self.reports.numbered else self.scan

    def _piece_table(self, number: int) -> pl.DataFrame:
        kept: dict[int, pl.DataFrame] = self.__dict__.setdefault("_read", {})
        if number not in kept:
            kept.clear()
            kept[number] = whole_table(self._named, self.scan.pieces[number])
        return kept[number]


def whole_table(scan: Scan, piece: Piece) -> pl.DataFrame:
    """Return all rows of a piece with their texts."""
    return stack_tables([part.table for part in scan.read(piece) if len(part)])


def surveyed(part: Instances, start: int) -> Summary:
    """Return what is kept of a part: numbers of every row, hashes of words, and what was left out."""
    rows, shared = survey(part)
    texts = folded(part, start)
    return {
        "rows": rows.hstack(texts["rows"]),
        "shared": shared,
        "parts": part_sizes(part),
        "words": texts["words"],
        "ids": pl.DataFrame({"id": text_hashes(part.table["example_id"].gather(part.first_rows[:-1]))}),
        "left_out": left_out_table(part.report),
    }


def _stacked(parts: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts, how="diagonal_relaxed") if len(parts) > 1 else parts[0]


def locally(stream: Stream, stage: str, summarise: Summarise, pieces: list[int]) -> None:
    """Do the pieces of a stage on this machine, one after another: each uses all cores."""
    for piece in pieces:
        stream.store.put(stage, piece, stream.summary(piece, summarise))
        stream.store.release()
