"""`load`: anything a user points at becomes `Instances`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from cuecard.data.ingest import MAX_SKIPPED, FileChunks, ReadOptions, file_paths, is_files
from cuecard.data.instances import COLUMNS, Instances, LoadReport, Task
from cuecard.data.layout.columns import Columns, ColumnsArgument
from cuecard.data.layout.labels import Threshold, check_labels_shared
from cuecard.data.layout.matching import SAMPLE
from cuecard.data.layout.pairs import ROW_OF_PAIR, WEIGHT_OF_PAIR, with_all_pairs
from cuecard.data.layout.roles import Role
from cuecard.data.layout.scheme import columns_of, learn
from cuecard.data.layout.scores import (
    Membership,
    cut_at_median,
    median_threshold,
    threshold_without_labels,
    with_one_label,
)
from cuecard.data.layout.shaping import NO_FAULT, Shaped, shape, shape_split
from cuecard.data.layout.texts import is_text_list, text
from cuecard.data.parallel import started
from cuecard.data.presets import Preset
from cuecard.data.reading.files import OnError
from cuecard.data.reading.formats import is_address, shown, stem, typed_path
from cuecard.data.reading.label_files import with_labels
from cuecard.data.reading.raw import RawTable, alike
from cuecard.data.reading.sources import (
    SPLITS,
    STDIN,
    Source,
    name_before_split,
    read_as_is,
    split_in_name,
    which_files,
    without_preset,
)
from cuecard.data.space import (
    MEMORY,
    PER_BYTE,
    Space,
    free_memory,
    memory_needed,
    temporary_space,
    text_bytes,
)
from cuecard.errors import InputError, UsageError
from cuecard.wording import DAMAGED_FILE


def refuse_shared_files(files: Mapping[str, Sequence[str]]) -> None:
    """Raise if a file is read for two splits: what is learned from it would be tested on it."""
    owner: dict[Path, str] = {}
    for split, names in files.items():
        for name in names:
            path = Path(name)
            if not path.exists():
                continue  # a table in memory, standard input or a name on the Hub
            first = owner.setdefault(path.resolve(), split)
            if first != split:
                raise UsageError(
                    f"{name} is both the {first} and the {split} file: give another file for one of them, or split "
                    "off a test set with --holdout 0.2."
                )


def check_skipped(dropped: Mapping[str, int], n_read: int, most: float, where: str, files: int) -> None:
    """Raise if more rows of a split were skipped than are allowed; rows without a label are not skipped.

    How many rows a file has that cannot be opened, nobody knows: it counts as one, but most files must be readable.
    """
    damaged = sum(n for reason, n in dropped.items() if reason.startswith(DAMAGED_FILE))
    if 2 * damaged > files:
        raise InputError(
            f"{damaged:,} of the {files:,} files {where} cannot be opened: copy or export them again, or name the "
            "others."
        )
    bad = {reason: n for reason, n in dropped.items() if reason not in NO_FAULT}
    skipped = sum(bad.values())
    allowed = most * n_read if most < 1 else most
    if skipped > allowed:
        reasons = ", ".join(f"{reason}: {n:,}" for reason, n in bad.items())
        limit = f"{100 * most:g} %" if most < 1 else f"{most:,.0f} rows"
        raise InputError(
            f"{skipped:,} of {n_read:,} rows of {where} cannot be used ({reasons}), but at most {limit} may be "
            f"skipped: correct them, or allow more with --max-skipped {skipped}."
        )


#: Rows of a chunk, at most and at least.
MOST_ROWS, FEWEST_ROWS = 200_000, 2_000
#: The part of the memory that a chunk may take with everything that is made of it.
AT_A_TIME = 0.25
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
    options = ReadOptions(
        task=task,
        columns=columns,
        labels=labels,
        label_file=label_file,
        header=header,
        keep_unlabelled=keep_unlabelled,
        holdout=holdout,
        seed=seed,
        on_error=on_error,
        max_skipped=max_skipped,
        name=name,
        limit=limit,
        cluster=cluster,
    )
    return DatasetSpec(train, test, dev, options)()


@dataclass(frozen=True)
class DatasetSpec:
    """A dataset before anything is read: its sources, how to read them, and what to call once it is loaded."""

    train: Source
    test: Source | None = None
    dev: Source | None = None
    options: ReadOptions = field(default_factory=ReadOptions)
    when_loaded: Callable[[Instances], object] | None = None
    #: Returns the dataset that a thread has begun to read; None where it does not fit in memory.
    reading: Callable[[], Instances | None] | None = field(default=None, compare=False, repr=False)

    def begun(self) -> DatasetSpec:
        """Return the same dataset, which a thread begins to read now if it fits in half of the free memory."""

        def read() -> Instances | None:
            fits = self.fits(free_memory() // 2)
            return self._instances(self._tables(MEMORY), MEMORY).data if fits else None

        return replace(self, reading=started(read))

    def __call__(self, space: Space | None = None) -> Instances:
        """Return the dataset, loaded now: what does not fit in half of the free memory is mapped from disk."""
        space = self._space() if space is None else space
        begun = self.reading() if self.reading is not None and space.folder is None else None
        data = self._instances(self._tables(space), space).data if begun is None else begun
        if self.when_loaded is not None:
            self.when_loaded(data)
        return data

    def with_rows(self, space: Space | None = None) -> LoadedRows:
        """Return the dataset with the rows that it comes from, from one pass over the files."""
        space = self._space() if space is None else space
        return self._instances(self._tables(space), space, row_column=ROW)

    def texts(self, space: Space | None = None) -> Instances:
        """Return the dataset where its columns are recognised, otherwise all its texts, without labels."""
        space = self._space() if space is None else space
        tables, problem = self._tables(space), None
        explicit = bool(self.options.columns or self.options.task)
        data: Instances | None = None
        try:
            data = self._instances(tables, space).data
        except InputError as error:
            problem = error
        if data is not None and (data.labelled or explicit):
            return data
        raws = {split: table.flat() for split, table in tables.items()}
        named = self.options.name or dataset_name(self.train, None)
        texts = None if explicit else without_labels(raws, named, space)
        if texts is not None:
            columns = texts.report.recognised["text"]
            note = f"Read without labels: every text in {columns} is searched for."
            return replace(texts, report=replace(texts.report, notes=(note,)))
        if data is None:
            assert problem is not None
            raise problem
        return data

    @property
    def sources(self) -> list[Source]:
        """The sources that are given, without the names of presets."""
        given = (self.train, self.dev, self.test)
        return [without_preset(source)[1] for source in given if source is not None]

    @property
    def is_files(self) -> bool:
        """Whether all sources are files, folders or globs."""
        return all(map(is_files, self.sources))

    def fits(self, memory: int) -> bool:
        """Return whether a run that sees everything fits in this many bytes, by the sizes of the files."""
        if not self.is_files or self.options.limit is not None:
            return True
        try:
            return memory_needed(path for source in self.sources for path in file_paths(source)) <= memory
        except (InputError, TypeError):  # told about where it is read
            return True

    def chunk_rows(self, memory: int) -> int:
        """Return how many rows a chunk has, of which some bytes of memory hold all that is made."""
        chunks = self.file_chunks(MOST_ROWS).chunks
        first = chunks[0].path
        known = [chunk.rows for chunk in chunks if chunk.path == first]
        n_bytes = text_bytes([first])
        n_rows = n_bytes // 300 if None in known else sum(n or 0 for n in known)
        rows = max(1, int(memory * AT_A_TIME / PER_BYTE / max(1, n_bytes // max(1, n_rows))))
        # A power of two: a little more or less memory changes no chunk, and an interrupted run finds what it has read.
        return min(MOST_ROWS, max(FEWEST_ROWS, 1 << rows.bit_length() - 1))

    def _space(self) -> Space:
        memory = free_memory() // 2
        return MEMORY if self.fits(memory) else temporary_space(self.chunk_rows(memory), self.options.seed)

    def file_chunks(self, rows: int) -> FileChunks:
        """Return the files of the dataset in chunks of about this many rows."""
        options = self.options
        return FileChunks.of(self.sources, rows=rows, on_error=options.on_error, header=options.header)

    def _tables(self, space: Space) -> dict[str, RawTable]:
        """Return the table of every split as it is, train first, with the labels of other files."""
        options = self.options
        on_disk = (
            self.file_chunks(space.rows).read(space)
            if space.folder is not None and options.limit is None
            else None
        )
        read = partial(
            read_as_is, on_error=options.on_error, limit=options.limit, header=options.header, on_disk=on_disk
        )
        tables = read(without_preset(self.train)[1])
        for split, source in (("dev", self.dev), ("test", self.test)):
            if source is not None:
                parts = read(without_preset(source)[1])
                tables[split] = parts.get(split, parts["train"])
        if options.holdout is not None and "test" in tables:
            raise UsageError(
                "holdout splits off a test set, but there already is one: leave one of them out."
            )
        checked = _checked(tables)
        if options.limit is not None:
            checked = {split: table.head(options.limit) for split, table in checked.items()}
        return _with_label_files(checked, options.label_file)

    def _instances(
        self, tables: Mapping[str, RawTable], space: Space, row_column: str | None = None
    ) -> LoadedRows:
        """Return the instances of raw tables; `row_column` is an extra column for the number of each one's row."""
        preset, _ = without_preset(self.train)
        options = replace(self.options, preset=preset)
        if isinstance(options.labels, Membership):
            options = replace(options, labels=options.labels.learned(tables["train"].flat()))
        raws = {split: options.cut(table.flat()) for split, table in tables.items()}
        roles, threshold = _columns_or_scores(raws, options)
        if threshold is not None:
            options, raws = replace(options, labels=threshold), cut_at_median(raws, threshold)
            roles = columns_of(raws, options, _works)
        if "label" in roles["train"]:
            raws = with_one_label(raws, {split: columns.one("label") for split, columns in roles.items()})
        if row_column is not None:
            starts = np.cumsum([0, *(raw.frame.height for raw in raws.values())])
            raws = {
                split: raw.numbered(row_column, int(start))
                for (split, raw), start in zip(raws.items(), starts, strict=False)
            }
        raws = with_all_pairs(raws, roles)
        paired = WEIGHT_OF_PAIR in raws["train"].frame.columns
        schemes = learn(raws, roles, options)
        shaped = {split: shape_split(raw, split, schemes[split], space) for split, raw in raws.items()}
        for split, raw in raws.items():
            check_skipped(shaped[split].dropped, raw.n_read, options.max_skipped, raw.where, len(raw.files))
        named = {s for s, source in (("dev", self.dev), ("test", self.test)) if source is not None}
        shaped = _with_rows(shaped, raws, named)
        files = {split: raw.files for split, raw in raws.items()}
        data = Instances(
            stack_tables([part.table for part in shaped.values()]),
            roles["train"].task,
            schemes["train"].labels.names,
            options.name or dataset_name(self.train, preset),
            load_report(raws.values(), roles["train"], shaped.values(), which_files(files, named)),
            weight=WEIGHT_OF_PAIR if paired else None,
            space=space,
        )
        if options.labels is None and data.task in ("pair", "text"):
            _check_labels_shared(data, schemes["train"].labels.mapping)
        cluster = options.cluster or (ROW_OF_PAIR if paired else None)
        data = data.clustered_by(cluster) if cluster is not None else data
        if options.holdout is not None:
            from cuecard.data.splits import hold_out

            data = hold_out(data, options.holdout, seed=options.seed)
        frames = {split: table.frame for split, table in tables.items()}
        if row_column is None:
            return LoadedRows(data, frames, np.empty(0, dtype=np.int64))
        numbers = data.table[row_column].to_numpy()
        return LoadedRows(replace(data, table=data.table.drop(row_column)), frames, numbers)


#: Label of texts that have none, and the characters that a column of texts has on average.
WITHOUT_LABEL, TEXT_LENGTH = "text", 12


def without_labels(raws: Mapping[str, RawTable], name: str, space: Space) -> Instances | None:
    """Return every row with its texts, the first as hypothesis and others as extra columns; None without texts.

    `report.recognised["text"]` names the columns.
    """
    frame = raws["train"].frame.head(SAMPLE)
    columns = [c for c, dtype in frame.schema.items() if dtype == pl.String or is_text_list(dtype)]
    lengths = {c: text(replace(raws["train"], frame=frame), c).str.len_chars().mean() for c in columns}
    columns = [c for c, length in lengths.items() if isinstance(length, float) and length >= TEXT_LENGTH]
    if not columns:
        return None
    tables = []
    for split, raw in raws.items():
        there = [c for c in columns if c in raw.frame.columns]
        texts = {f"text_{i}" if i else "hypothesis": text(raw, c) for i, c in enumerate(there)}
        tables.append(
            pl.DataFrame({**texts, "example_id": raw.numbers_throughout}).with_columns(
                pl.col("example_id").cast(pl.String),
                split=pl.lit(split, dtype=pl.String),
                premise=pl.lit("", dtype=pl.String),
                position=pl.lit(0, dtype=pl.Int32),
                label=pl.lit(WITHOUT_LABEL).cast(pl.Enum([WITHOUT_LABEL])),
            )
        )
    files = tuple(f for raw in raws.values() for f in raw.files)
    report = LoadReport(files=files, recognised={"text": " + ".join(columns)})
    return Instances(stack_tables(tables), "text", (WITHOUT_LABEL,), name, report, space=space)


def _columns_or_scores(
    raws: Mapping[str, RawTable], options: ReadOptions
) -> tuple[dict[str, Columns], Threshold | None]:
    """Return the roles of columns, and where labels that are scores are cut."""
    try:
        roles = columns_of(raws, options, _works)
    except InputError:
        explicit = options.columns or options.labels
        threshold = None if explicit else threshold_without_labels(raws["train"], options.task)
        if threshold is None:
            raise
        return {}, threshold
    scored = "label" in roles["train"] and options.labels is None and "label" not in (options.columns or {})
    return roles, median_threshold(raws["train"].frame[roles["train"].one("label")]) if scored else None


#: Rows that a proposed reading is tried on.
TRIED = 200


def _works(raw: RawTable, roles: Mapping[Role, tuple[str, ...]]) -> bool:
    """Return whether rows all over a table can be read with some roles."""
    frame = raw.frame.gather_every(max(1, raw.frame.height // TRIED))
    rows = {"train": RawTable(frame, raw.files[:1], (frame.height,), class_names=raw.class_names)}
    options = ReadOptions(columns={role: list(names) for role, names in roles.items()})
    try:
        columns = columns_of(rows, options)
        if "label" in columns["train"]:
            rows = with_one_label(rows, {"train": columns["train"].one("label")})
        rows = with_all_pairs(rows, columns)
        shaped = shape(rows["train"], "train", learn(rows, columns, options)["train"])
    except (InputError, UsageError):
        return False
    return shaped.table.height > 0


def _check_labels_shared(data: Instances, names_by_value: Mapping[str, str]) -> None:
    """Raise if a label seems to have other names in another split than in train."""
    counted = data.table.group_by("split", "label").len().cast({"split": pl.String, "label": pl.String})
    counts: dict[str, dict[str, int]] = {}
    for split, label, n in counted.drop_nulls("label").sort("split", "label").iter_rows():
        counts.setdefault(split, {})[label] = n
    for split in counts.keys() - {"train"}:
        check_labels_shared(counts, names_by_value, split)


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
GENERIC_NAMES = frozenset({"dataset", "eval", "evalset", "original", "testset", "trainset"})


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
    return (path.parent.name if own.lower() in GENERIC_NAMES else own) or path.parent.name or own or "data"
