"""What the caller points at (a path, folder, glob, table, public dataset) becomes raw tables by split."""

from __future__ import annotations

import glob
import io
import re
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from cuecard.data.presets import Preset, split_preset
from cuecard.data.reading.files import OnError, parquet_table, parse, read_file
from cuecard.data.reading.formats import (
    EXTENSIONS,
    check_regular,
    checked_format,
    content,
    format_of,
    guarded,
    is_address,
    magic,
    shown,
    stem,
    text_format,
    typed_path,
)
from cuecard.data.reading.json_files import read_splits
from cuecard.data.reading.raw import RawTable, stacked
from cuecard.data.reading.remote import (
    fetched_path,
    from_dataset,
    is_saved_dataset,
    preset_sources,
    read_hub,
    read_saved,
    saved_splits,
)
from cuecard.errors import InputError, UsageError
from cuecard.wording import DAMAGED_FILE, listed

#: Folders of texts that nobody labelled.
UNLABELLED = ("unsup", "unlabeled", "unlabelled")


def class_folders(folder: Path) -> list[Path]:
    """Return the subfolders that are classes, none if the folder is not laid out so.

    Every subfolder must hold text files (.txt or without an extension) and nothing else but hidden files.
    """
    try:
        folders = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
        laid_out = len(folders) > 1 and all(_holds_texts(p) for p in folders)
    except OSError:
        return []
    return folders if laid_out else []


def _holds_texts(folder: Path) -> bool:
    listed = [p for p in folder.iterdir() if not p.name.startswith(".")]
    return bool(listed) and all(p.suffix.lower() in (".txt", "") and p.is_file() for p in listed)


def read_class_folder(folder: Path) -> RawTable:
    """Return one row per file: its text, the name of its folder as label, and `folder/file` as id."""
    rows = []
    for part in class_folders(folder):
        label = None if part.name.lower() in UNLABELLED else shown(part.name)
        files = sorted(p for p in part.iterdir() if not p.name.startswith("."))
        rows += [(f"{shown(part.name)}/{shown(path.stem)}", _text(path), label) for path in files]
    frame = pl.DataFrame(rows, schema={"id": pl.String, "text": pl.String, "label": pl.String}, orient="row")
    return RawTable(frame, (shown(folder),), (frame.height,))


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{shown(path)} is not valid UTF-8 (byte {error.start:,}): save the file as UTF-8."
        ) from None
    except OSError as error:
        raise InputError(
            f"{shown(path)} cannot be opened ({error.strerror}): check its permissions."
        ) from None


#: A path, folder, glob, `hf:` or `preset:` name, or a polars, pandas or pyarrow table or list of dicts.
Source: TypeAlias = Any

SPLITS = ("train", "dev", "test")
#: What a split is called in a sentence, and how many of its files are named.
_SETS = {"train": "training set", "dev": "validation split", "test": "test set"}
_FILES_NAMED = 4
#: The path that means what is piped in.
STDIN = "-"
#: JSON documents that describe a dataset and hold none of its rows.
_DESCRIPTIONS = frozenset(
    {"dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json", "config.json"}
)
_SPLIT_WORD = re.compile(
    r"(?:^|[-_.])(train|training|dev|valid|validation|val|test)(?=$|[-_.])", re.IGNORECASE
)
#: A shorter part of a file's name, such as r1 or v2, tells datasets apart only within its folder.
SHORTEST_NAME = 3
_SPLIT_NAMES = {"train": "train", "training": "train", "test": "test"}


def without_preset(source: Source) -> tuple[Preset | None, Source]:
    """Return the preset a source names, if any, and what is left to read: a path, or the preset itself."""
    if not isinstance(source, str) or not source.startswith("preset:"):
        return None, source
    preset, path = split_preset(source)
    return preset, path if path is not None else preset


def read_as_is(
    source: Source,
    *,
    on_error: OnError = "stop",
    limit: int | None = None,
    header: str | None = None,
    on_disk: Mapping[Path, RawTable] | None = None,
) -> dict[str, RawTable]:
    """Return the tables of a source as they are; one that does not name splits is all `train`.

    `on_disk` has the tables of files that have been read chunk by chunk.
    """
    if isinstance(source, Preset):
        return {split: read_hub(name) for split, name in preset_sources(source).items()}
    if isinstance(source, Mapping) and source and all(_is_dataset(part) for part in source.values()):
        return _dictionary(source)
    if not isinstance(source, str | Path):
        return {"train": from_memory(source)}
    if str(source).startswith("hf:"):
        return {"train": read_hub(str(source))}
    if str(source) == STDIN:
        table = read_stdin(on_error=on_error, header=header)
        return {"train": table if limit is None else table.head(limit)}

    def read(path: Path) -> RawTable:
        if on_disk is not None and path in on_disk:
            return on_disk[path]
        if path.is_dir():
            return read_saved(path) if is_saved_dataset(path) else read_class_folder(path)
        return read_file(path, on_error=on_error, limit=limit, header=header)

    by_split = paths_by_split(source)
    if list(by_split) == ["train"] and len(by_split["train"]) == 1:
        tables = _in_document(by_split["train"][0])
        if tables:
            return {split: table if limit is None else table.head(limit) for split, table in tables.items()}
    return {split: _readable(stacked([read(p) for p in paths])) for split, paths in by_split.items()}


def _readable(table: RawTable) -> RawTable:
    if not table.frame.width and any(reason.startswith(DAMAGED_FILE) for reason in table.dropped):
        raise InputError(f"No row of {table.where} can be read: copy or export it again.")
    return table


def _in_document(path: Path) -> dict[str, RawTable]:
    """Return the tables of a JSON document that has one per split; empty for any other file."""
    named = format_of(path) if path.is_file() else None
    if named is None or named[0] != "json" or checked_format(path) != named:
        return {}
    tables = read_splits(content(path, named[1])[0], shown(path), split_in_name)
    names = {Path(name): name for name in tables}
    by_split = _by_split(list(names), [split_in_name(name) for name in tables]) if tables else {}
    return {split: stacked([tables[names[p]] for p in paths]) for split, paths in by_split.items()}


def paths_by_split(source: str | Path) -> dict[str, list[Path]]:
    """Return the data files (or folders of saved datasets) a path, folder or glob names, by split.

    The files of a folder are split by name only if every one names its split and one of them is train.
    """
    path = fetched_path(source) if is_address(source) else typed_path(source)
    if path.is_file():
        return {"train": [path]}
    if path.is_dir():
        return _folder(path)
    listed = sorted(Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file())
    if listed:
        return {"train": listed}
    check_regular(path)
    kind = "No file matches" if glob.has_magic(str(path)) else "There is no file or folder"
    raise InputError(f"{kind} {shown(source)}; check the path (the current folder is {shown(Path.cwd())}).")


def _folder(path: Path) -> dict[str, list[Path]]:
    if is_saved_dataset(path):
        parts = list(saved_splits(path).items())
        if len(parts) == 1:
            return {"train": [parts[0][1]]}
        return _by_split([p for _, p in parts], [split_in_name(name) for name, _ in parts])
    files = _data_files(path.iterdir())
    if not files:
        folders = sorted(p for p in path.iterdir() if p.is_dir() and split_in_name(p.name))
        if folders and all(class_folders(p) for p in folders):
            return _by_split(folders, [split_in_name(p.name) for p in folders])
        if class_folders(path):
            return {"train": [path]}
        files = _data_files(p for p in path.rglob("*") if not _hidden(p.relative_to(path)))
    if not files:
        raise InputError(
            f"The folder {shown(path)} contains no data file: expected {EXTENSIONS}, or a folder of .txt files "
            "for every class."
        )
    splits = [split_in_name(p.name) for p in files]
    return {"train": files} if None in splits or "train" not in splits else _by_split(files, splits)


def _hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def _data_files(paths: Iterable[Path]) -> list[Path]:
    """Return the data files among paths; JSON documents count only where there is no other format.

    They often describe the data beside them. Plain text is read where it is named, never picked up.
    """
    kinds = {p: format_of(p) for p in sorted(paths) if not p.name.startswith(".")}
    files = {p: kind[0] for p, kind in kinds.items() if kind is not None and kind[0] != "txt" and p.is_file()}
    tables = [p for p, kind in files.items() if kind != "json"]
    return tables or [p for p in files if p.name not in _DESCRIPTIONS]


def _by_split(paths: Sequence[Path], splits: Sequence[str | None]) -> dict[str, list[Path]]:
    """Return the paths of each split; without a test split, the development split replaces it."""
    by_split = {s: [p for p, named in zip(paths, splits, strict=True) if named == s] for s in SPLITS}
    by_split = {s: listed for s, listed in by_split.items() if listed}
    if "train" not in by_split:
        names = ", ".join(p.name for p in paths)
        raise InputError(
            f"{paths[0].parent} has no training split, only {names}: give one of these files as TRAIN."
        )
    if "test" not in by_split and "dev" in by_split:
        by_split["test"] = by_split.pop("dev")
    return by_split


def which_files(files: Mapping[str, Sequence[str]], named: Collection[str] = ()) -> tuple[str, ...]:
    """Return which files were read as which split, where a folder or glob chose them; `named` are the user's choice.

    >>> which_files({"train": ["x/a.csv", "x/b.csv"]})
    ('The training set is read from 2 files: a.csv and b.csv.',)
    """
    chosen = {split: list(dict.fromkeys(paths)) for split, paths in files.items() if split not in named}
    if len({path for paths in chosen.values() for path in paths}) < 2:
        return ()
    notes = []
    for split, paths in chosen.items():
        names = [Path(path).name for path in paths]
        more = len(names) - _FILES_NAMED
        some = [*names[:_FILES_NAMED], *([f"{more:,} more"] if more > 0 else [])]
        count = f"{len(names):,} files: " if len(names) > 1 else ""
        note = f"The {_SETS[split]} is read from {count}{listed(some)}."
        if len({split_in_name(name) for name in names} - {None}) > 1:
            note += " If they are different splits, give one of them as TRAIN and another with --test."
        notes += [note] if names else []
    return tuple(notes)


def split_in_name(name: str) -> str | None:
    """Return the split that a file's name indicates: train, dev (also valid, validation, val) or test."""
    match = _SPLIT_WORD.search(stem(name))
    return _SPLIT_NAMES.get(match.group(1).lower(), "dev") if match else None


def name_before_split(name: str) -> str:
    """Return what stands before the split in a file's name ("mynli" of "mynli_train.csv"), or nothing."""
    match = _SPLIT_WORD.search(stem(name))
    before = stem(name)[: match.start()].strip("*?[]-_.") if match else ""
    return before if len(before) >= SHORTEST_NAME else ""


@cache
def _stdin() -> bytes:
    return sys.stdin.buffer.read()


def read_stdin(*, on_error: OnError = "stop", header: str | None = None) -> RawTable:
    """Return the rows that are piped in, in the format that the first bytes are in; they are read once and kept."""
    data = _stdin()
    if not data.strip():
        raise InputError("Standard input (the path -) is empty: pipe a file with rows into it.")
    kind = magic(data)
    if kind == "parquet":
        return parquet_table(io.BytesIO(data), "standard input")
    if kind is not None:
        raise InputError(f"Standard input is a {kind} file: pipe parquet, csv, tsv, jsonl or json into it.")
    return parse(data, text_format(data), "standard input", on_error=on_error, header=header)


def _is_dataset(source: object) -> bool:
    return type(source).__module__.split(".")[0] == "datasets" and hasattr(source, "with_format")


def _dictionary(datasets: Mapping[str, Any]) -> dict[str, RawTable]:
    """Return the tables of a `DatasetDict` by split."""
    names = {Path(name): name for name in datasets}
    if len(names) == 1:
        return {"train": from_dataset(next(iter(datasets.values())), "the given dataset")}
    by_split = _by_split(list(names), [split_in_name(name) for name in datasets])
    return {
        split: stacked([from_dataset(datasets[names[p]], f"the split {names[p]}") for p in paths])
        for split, paths in by_split.items()
    }


def from_memory(source: object) -> RawTable:
    """Return a table that is in memory already: polars, pandas, pyarrow, dict of columns, list of dicts."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if _is_dataset(source):
        return from_dataset(source, "the given dataset")
    frame = guarded(lambda: _frame(source), "The given table", "give every row the same columns and types")
    return RawTable(frame, ("the given table",), (frame.height,))


def _frame(source: Any) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if type(source).__module__.split(".")[0] == "pandas":
        frame: pl.DataFrame = pl.from_pandas(source)
        return frame
    if hasattr(source, "__arrow_c_stream__"):
        return pl.DataFrame(source)
    rows = isinstance(source, Sequence) and not isinstance(source, str | bytes)
    if isinstance(source, Mapping) or (rows and all(isinstance(row, Mapping) for row in source)):
        return pl.DataFrame(source, infer_schema_length=None)
    raise UsageError(
        f"Cannot read data from {type(source).__name__}: give a path, a polars, pandas or pyarrow table, "
        "a list of dicts, or texts with their labels: cuecard.audit(texts, labels)."
    )
