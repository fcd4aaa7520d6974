"""What the caller points at (a path, folder, glob, table, public dataset) becomes raw tables by split."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from cuecard.data.files.formats import EXTENSIONS, format_of
from cuecard.data.files.hub import from_dataset, is_saved, preset_sources, read_hub, read_saved, saved_splits
from cuecard.data.files.raw import RawTable, stacked
from cuecard.data.files.reading import OnError, read_file
from cuecard.data.presets import Preset, split_preset
from cuecard.errors import InputError, UsageError

#: A path, folder, glob, `hf:` or `preset:` name, or a polars, pandas or pyarrow table or list of dicts.
Source: TypeAlias = Any

SPLITS = ("train", "dev", "test")
_SPLIT_WORD = re.compile(
    r"(?:^|[-_.])(train|training|dev|valid|validation|val|test)(?=$|[-_.])", re.IGNORECASE
)
_SPLIT_NAMES = {"train": "train", "training": "train", "test": "test"}


def without_preset(source: Source) -> tuple[Preset | None, Source]:
    """Return the preset a source names, if any, and what is left to read: a path, or the preset itself."""
    if not isinstance(source, str) or not source.startswith("preset:"):
        return None, source
    preset, path = split_preset(source)
    return preset, path if path is not None else preset


def read_source(
    source: Source, *, on_error: OnError = "stop", limit: int | None = None
) -> dict[str, RawTable]:
    """Return the raw tables of a source by split, fields of structs as columns of their own."""
    tables = read_as_is(source, on_error=on_error, limit=limit)
    return {split: table.flat() for split, table in tables.items()}


def read_as_is(
    source: Source, *, on_error: OnError = "stop", limit: int | None = None
) -> dict[str, RawTable]:
    """Return the tables of a source as they stand there; one that does not name splits is all `train`."""
    if isinstance(source, Preset):
        return {split: read_hub(name) for split, name in preset_sources(source).items()}
    if not isinstance(source, str | Path):
        return {"train": from_memory(source)}
    if str(source).startswith("hf:"):
        return {"train": read_hub(str(source))}
    tables = {}
    for split, paths in paths_by_split(source).items():
        read = [read_saved(p) if p.is_dir() else read_file(p, on_error=on_error, limit=limit) for p in paths]
        tables[split] = stacked(read)
    return tables


def paths_by_split(source: str | Path) -> dict[str, list[Path]]:
    """Return the data files (or folders of saved datasets) a path, folder or glob stands for, by split.

    The files of a folder are split by name only if every one names its split and one of them is train.
    """
    path = Path(source).expanduser()
    if path.is_file():
        return {"train": [path]}
    if path.is_dir():
        return _folder(path)
    found = sorted(Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file())
    if found:
        return {"train": found}
    kind = "No file matches" if glob.has_magic(str(path)) else "There is no file or folder"
    raise InputError(f"{kind} {source}; check the path (the current folder is {Path.cwd()}).")


def _folder(path: Path) -> dict[str, list[Path]]:
    if is_saved(path):
        parts = list(saved_splits(path).items())
        if len(parts) == 1:
            return {"train": [parts[0][1]]}
        return _by_split([p for _, p in parts], [split_in_name(name) for name, _ in parts])
    files = sorted(p for p in path.iterdir() if p.is_file() and format_of(p))
    files = files or sorted(p for p in path.rglob("*") if p.is_file() and format_of(p))
    if not files:
        raise InputError(f"The folder {path} holds no data file; expected {EXTENSIONS}.")
    splits = [split_in_name(p.name) for p in files]
    return {"train": files} if None in splits or "train" not in splits else _by_split(files, splits)


def _by_split(paths: Sequence[Path], splits: Sequence[str | None]) -> dict[str, list[Path]]:
    """Return the paths of each split; where there is no test split, the development split takes its place."""
    found = {s: [p for p, named in zip(paths, splits, strict=True) if named == s] for s in SPLITS}
    found = {s: listed for s, listed in found.items() if listed}
    if "train" not in found:
        names = ", ".join(p.name for p in paths)
        raise InputError(
            f"{paths[0].parent} has no train split, only {names}: give the folder of one of them."
        )
    if "test" not in found and "dev" in found:
        found["test"] = found.pop("dev")
    return found


def split_in_name(name: str) -> str | None:
    """Return the split that a file's name tells: train, dev (also valid, validation, val) or test."""
    match = _SPLIT_WORD.search(name.split(".")[0])
    return _SPLIT_NAMES.get(match.group(1).lower(), "dev") if match else None


def from_memory(source: object) -> RawTable:
    """Return a table that is in memory already: polars, pandas, pyarrow, dict of columns, list of dicts."""
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if type(source).__module__.split(".")[0] == "datasets" and hasattr(source, "with_format"):
        return from_dataset(source, "the given dataset")
    try:
        frame = _frame(source)
    except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"The given rows are no table ({reason}): give every row the same columns and types."
        ) from None
    return RawTable(frame, ("the given table",), (frame.height,))


def _frame(source: Any) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if type(source).__module__.split(".")[0] == "pandas":
        return pl.from_pandas(source)
    if hasattr(source, "__arrow_c_stream__"):
        return pl.DataFrame(source)
    rows = isinstance(source, Sequence) and not isinstance(source, str | bytes)
    if isinstance(source, Mapping) or (rows and all(isinstance(row, Mapping) for row in source)):
        return pl.DataFrame(source, infer_schema_length=None)
    raise UsageError(
        f"Cannot read data from {type(source).__name__}: give a path, a polars, pandas or pyarrow table, "
        "or a list of dicts."
    )
