"""`load`: anything a user points at becomes `Instances`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.files.formats import stem
from cuecard.data.files.label_files import with_labels
from cuecard.data.files.paths import shown, typed_path
from cuecard.data.files.raw import RawTable, alike
from cuecard.data.files.reading import OnError
from cuecard.data.files.sources import (
    SPLITS,
    STDIN,
    Source,
    name_before_split,
    read_as_is,
    read_source,
    split_in_name,
    which_files,
    without_preset,
)
from cuecard.data.instances import COLUMNS, Instances, LoadReport, Task
from cuecard.data.layout.columns import Columns, ColumnsArgument
from cuecard.data.layout.scheme import Wishes, columns_of, learn
from cuecard.data.layout.shaping import Shaped, shape
from cuecard.data.layout.thresholds import Threshold
from cuecard.data.object_storage import is_address
from cuecard.data.presets import Preset
from cuecard.data.splits.safeguards import MAX_SKIPPED, check_skipped, refuse_shared_files
from cuecard.errors import InputError, UsageError
from cuecard.limits import check_seed

#: Extra column in which instances carry the number of their row while they are made.
ROW = "cuecard_row"


def load(
    train: Source,
    *,
    test: Source | None = None,
    dev: Source | None = None,
    task: Task | None = None,
    columns: ColumnsArgument | None = None,
    labels: Mapping[str, str | None] | Threshold | str | None = None,
    label_file: str | Path | Sequence[str | Path] | None = None,
    header: str | None = None,
    keep_unlabelled: bool = False,
    holdout: float | None = None,
    seed: int = 0,
    on_error: OnError = "stop",
    max_skipped: float = MAX_SKIPPED,
    name: str | None = None,
    limit: int | None = None,
    cluster: str | None = None,
) -> Instances:
    """Return the instances of a dataset, with a report of what was recognised and left out.

    `train`, `test` and `dev` are each a file (.parquet, .csv, .tsv, .jsonl, .ndjson, .json, .txt; plain, .gz or
    .zst), a folder or glob of files, a folder with a folder of texts for every class, a saved Hugging Face
    dataset, `hf:NAME[/CONFIG]:SPLIT`, `preset:NAME[@PATH]`, `-` for standard input, or a table in memory (polars,
    pandas, pyarrow, list of dicts). A folder, saved dataset or preset that names its splits fills those not given.

    `columns` says which column plays which role where names are not recognised (`{"premise": "a"}`), and
    `labels` names raw label values (`{"0": "entailment"}`), every one of them, or cuts a column of numbers in two
    (`"relatedness_score>3.6"`). `label_file` is a file with one label per row of train, or one for train and one
    for test. `header="none"` reads the first line of a csv or tsv file as a row; names in its place name the
    columns (`"premise,hypothesis,label"`).

    Rows without a label are left out unless `keep_unlabelled` makes them a class; questions without an answer and
    ties always are, and the option is refused for choices and preferences. `holdout` moves a share of train that
    has no sentence in common with the rest to a test split. `on_error="skip"` leaves bad rows out and counts
    them, at most `max_skipped` of a split: a share of its rows, or a number of rows if at least 1. `limit` reads
    only the first rows of each split. `cluster` names a column whose rows of one value count as one observation, such
    as a writer or a source; copies and near copies of a text do by default.

    Examples are called by the user's id column or by their row number, counted from 1. The position of a
    preference's answers says which one was chosen, so it is no feature there.
    """
    if limit is not None and limit < 1:
        raise UsageError(f"limit must be at least 1 row, not {limit}.")
    preset, train_source = without_preset(train)
    check_seed(seed)
    wishes = Wishes(task, columns, labels, keep_unlabelled, on_error, preset)
    raws = _read(train_source, {"dev": dev, "test": test}, on_error, limit, header)
    raws = {split: wishes.cut(raw) for split, raw in _with_label_files(raws, label_file).items()}
    _check_holdout(holdout, raws)
    named = {s for s, source in (("dev", dev), ("test", test)) if source is not None}
    data = _instances(raws, wishes, name or dataset_name(train, preset), named=named, max_skipped=max_skipped)
    data = data.clustered_by(cluster) if cluster is not None else data
    if holdout is None:
        return data
    from cuecard.data.splits.holdout import hold_out

    return hold_out(data, holdout, seed=seed)


@dataclass(frozen=True)
class Unread:
    """A dataset before anything is read: what `load` takes, and what to call once it is loaded."""

    train: Source
    options: Mapping[str, Any] = field(default_factory=dict)
    when_loaded: Callable[[Instances], object] | None = None

    def __call__(self) -> Instances:
        """Return the dataset, loaded now."""
        data = load(self.train, **self.options)
        if self.when_loaded is not None:
            self.when_loaded(data)
        return data


def loaded(data: Instances | Source, *, test: Source | None = None) -> Instances:
    """Return a dataset as it is, or load it where it is a path or a table that `load` takes."""
    if not isinstance(data, Instances):
        return load(data, test=test)
    if test is not None:
        raise UsageError("The dataset is loaded already: give its test split to cuecard.load.")
    return data


@dataclass(frozen=True, eq=False)
class LoadedRows:
    """A dataset with the rows of its source; `numbers` has the row of every instance.

    The rows of `frames` are counted on from split to split, from 0 and from train on.
    """

    data: Instances
    frames: Mapping[str, pl.DataFrame]
    numbers: npt.NDArray[np.int64]

    @property
    def rows(self) -> pl.DataFrame:
        """The training rows."""
        return self.frames["train"]

    def rows_of(self, instances: npt.NDArray[np.bool_]) -> pl.DataFrame:
        """Return the rows of some instances, as they came and in their order; all must come from one split's file."""
        numbers, start = np.unique(self.numbers[instances]), 0
        for frame in self.frames.values():
            if not len(numbers) or numbers[-1] < start + frame.height:
                return frame[numbers - start]
            start += frame.height
        raise IndexError(numbers[-1])


def load_rows(
    train: Source,
    *,
    test: Source | None = None,
    task: Task | None = None,
    columns: ColumnsArgument | None = None,
    labels: Mapping[str, str | None] | Threshold | str | None = None,
    label_file: str | Path | Sequence[str | Path] | None = None,
    header: str | None = None,
    keep_unlabelled: bool = False,
    holdout: float | None = None,
    seed: int = 0,
    on_error: OnError = "stop",
    max_skipped: float = MAX_SKIPPED,
    name: str | None = None,
    cluster: str | None = None,
) -> LoadedRows:
    """Return the instances of a dataset together with the rows they come from, from one pass over the files."""
    preset, source = without_preset(train)
    check_seed(seed)
    wishes = Wishes(task, columns, labels, keep_unlabelled, on_error, preset)
    tables = read_as_is(source, on_error=on_error, header=header)
    if test is not None:
        parts = read_as_is(without_preset(test)[1], on_error=on_error, header=header)
        tables["test"] = parts.get("test", parts["train"])
    _check_holdout(holdout, tables)
    tables = _checked(_with_label_files(tables, label_file))
    raws = {split: wishes.cut(table.flat()) for split, table in tables.items()}
    called = name or dataset_name(train, preset)
    named = {"test"} if test is not None else ()
    data = _instances(raws, wishes, called, named=named, row_column=ROW, max_skipped=max_skipped)
    data = data.clustered_by(cluster) if cluster is not None else data
    if holdout is not None:
        from cuecard.data.splits.holdout import hold_out

        data = hold_out(data, holdout, seed=seed)
    numbers = data.table[ROW].to_numpy()
    frames = {split: table.frame for split, table in tables.items()}
    return LoadedRows(replace(data, table=data.table.drop(ROW)), frames, numbers)


def _check_holdout(holdout: float | None, raws: Collection[str]) -> None:
    if holdout is not None and "test" in raws:
        raise UsageError("holdout splits off a test set, but there already is one: leave one of them out.")


def _instances(
    raws: Mapping[str, RawTable],
    wishes: Wishes,
    name: str,
    *,
    named: Collection[str] = (),
    row_column: str | None = None,
    max_skipped: float = MAX_SKIPPED,
) -> Instances:
    """Return the instances of raw tables; `row_column` names an extra column for the number of each one's row."""
    roles = columns_of(raws, wishes)
    if row_column is not None:
        starts = np.cumsum([0, *(raw.frame.height for raw in raws.values())])
        raws = {
            split: raw.numbered(row_column, int(start))
            for (split, raw), start in zip(raws.items(), starts, strict=False)
        }
    schemes = learn(raws, roles, wishes)
    shaped = {split: shape(raw, split, schemes[split]) for split, raw in raws.items()}
    for split, raw in raws.items():
        check_skipped(shaped[split].dropped, raw.n_read, max_skipped, raw.where, len(raw.files))
    shaped = _with_rows(shaped, raws, named)
    files = {split: raw.files for split, raw in raws.items()}
    return Instances(
        stack_tables([part.table for part in shaped.values()]),
        roles["train"].task,
        schemes["train"].labels.names,
        name,
        load_report(raws.values(), roles["train"], shaped.values(), which_files(files, named)),
    )


def _read(
    train: Source,
    others: Mapping[str, Source | None],
    on_error: OnError,
    limit: int | None,
    header: str | None,
) -> dict[str, RawTable]:
    """Return the raw table of every split, train first."""
    tables = read_source(train, on_error=on_error, limit=limit, header=header)
    for split, source in others.items():
        if source is not None:
            _, plain = without_preset(source)
            parts = read_source(plain, on_error=on_error, limit=limit, header=header)
            tables[split] = parts.get(split, parts["train"])
    checked = _checked(tables)
    return checked if limit is None else {split: raw.head(limit) for split, raw in checked.items()}


def _checked(raws: Mapping[str, RawTable]) -> dict[str, RawTable]:
    """Return the tables, train first, or raise if one has no rows or two are read from one file."""
    refuse_shared_files({split: raw.files for split, raw in raws.items()})
    for split, raw in raws.items():
        if raw.frame.height == 0:
            lost = f" (all {raw.n_read:,} rows are bad and were skipped)" if raw.dropped else ""
            raise InputError(f"{raw.where} has no rows{lost}: give a file with at least one row for {split}.")
    return {s: raws[s] for s in SPLITS if s in raws}


def _with_label_files(
    raws: Mapping[str, RawTable], label_file: str | Path | Sequence[str | Path] | None
) -> dict[str, RawTable]:
    """Return the tables with the labels of other files: the first is that of train, a second that of test."""
    if not label_file:
        return dict(raws)
    files = [label_file] if isinstance(label_file, str | Path) else list(label_file)
    splits = ["train", *(s for s in ("test", "dev") if s in raws)]
    if len(files) > len(splits):
        raise UsageError(
            f"There are {len(files)} label files, but {len(splits)} splits: give one --label-file per split."
        )
    labelled = {split: with_labels(raws[split], file) for split, file in zip(splits, files, strict=False)}
    return {split: labelled.get(split, raw) for split, raw in raws.items()}


def _with_rows(
    shaped: Mapping[str, Shaped], raws: Mapping[str, RawTable], named: Collection[str]
) -> dict[str, Shaped]:
    """Return the splits that have labelled rows; one the user named must have some.

    Public test sets often hide their labels; the development split then takes the place of such a test split.
    """
    empty = [split for split, part in shaped.items() if part.table.height == 0]
    for split in empty:
        if split == "train" or split in named:
            lost = ", ".join(f"{reason}: {n:,}" for reason, n in shaped[split].dropped.items())
            raise InputError(
                f"No row of {raws[split].where} can be used for {split} ({lost}): give labelled rows."
            )
    kept = {split: part for split, part in shaped.items() if split not in empty}
    if "test" in empty:
        note = "The test split has no labels and is not used"
        if "dev" in kept:
            part = kept.pop("dev")
            kept["test"] = replace(part, table=part.table.with_columns(split=pl.lit("test", dtype=pl.String)))
            note += "; the development split replaces it"
        kept["train"] = replace(kept["train"], notes=(*kept["train"].notes, note + "."))
    return kept


def stack_tables(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return tables of instances one after another, an extra column empty where one lacks it."""
    if len({tuple(t.schema.items()) for t in tables}) == 1:
        return pl.concat(tables) if len(tables) > 1 else tables[0]
    own = [t.select(COLUMNS) for t in tables]
    extras = alike([t.drop(COLUMNS) for t in tables])
    whole = [pl.concat([t, e], how="horizontal") for t, e in zip(own, extras, strict=True)]
    return pl.concat(whole, how="diagonal_relaxed")


def load_report(
    raws: Iterable[RawTable], columns: Columns, shaped: Iterable[Shaped], said: Sequence[str] = ()
) -> LoadReport:
    """Return what reading decided and left out, over all splits; `said` are notes about the files."""
    dropped: dict[str, int] = {}
    notes: dict[str, None] = dict.fromkeys(said)
    recognised = columns.described()
    for part in shaped:
        notes.update(dict.fromkeys(part.notes))
        if part.numbered:
            recognised.pop("id", None)
        for reason, count in part.dropped.items():
            dropped[reason] = dropped.get(reason, 0) + count
    files = tuple(f for raw in raws for f in raw.files)
    return LoadReport(files=files, recognised=recognised, dropped=dropped, notes=tuple(notes))


#: Names of files that do not say which dataset they hold; their folder may.
SAYING_NOTHING = frozenset({"dataset", "eval", "evalset", "original", "testset", "trainset"})


def dataset_name(train: Source, preset: Preset | None) -> str:
    """Return what a dataset is called: preset, file without its split, or the folder where nothing else is left."""
    if preset is not None:
        return preset.name
    if not isinstance(train, str | Path):
        return "data"
    if str(train).startswith("hf:"):
        return str(train).removeprefix("hf:").rpartition(":")[0]
    if str(train) == STDIN:
        return "stdin"
    path = (
        Path(str(train).partition("?")[0]) if is_address(train) else Path(shown(typed_path(train).resolve()))
    )
    if split_in_name(path.name) and path.parent.name:
        return name_before_split(path.name) or path.parent.name
    own = stem(path.name).strip("*?[]-_")
    return (path.parent.name if own.lower() in SAYING_NOTHING else own) or path.parent.name or own or "data"
