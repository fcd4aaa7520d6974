"""What the caller points at (a path, folder, glob, table, saved dataset) becomes raw tables by split."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from cuecard.data.formats import EXTENSIONS, format_of
from cuecard.data.raw import RawTable, stacked
from cuecard.data.reading import OnError, read_file
from cuecard.errors import InputError, UsageError

#: A path, folder, glob, `hf:` or `preset:` name, or a polars, pandas or pyarrow table or list of dicts.
Source: TypeAlias = Any

_SPLIT_IN_NAME = re.compile(
    r"(?:^|[-_.])(train|training|dev|valid|validation|val|test)(?=$|[-_.])", re.IGNORECASE
)
_SPLIT_NAMES = {"train": "train", "training": "train", "test": "test"}


def read_source(source: Source, *, on_error: OnError, limit: int | None) -> dict[str, RawTable]:
    """Return the raw tables of a source by split; a source that does not name splits is all `train`."""
    if not isinstance(source, str | Path):
        return {"train": _from_memory(source)}
    return {
        split: stacked([read_file(path, on_error=on_error, limit=limit) for path in paths])
        for split, paths in files_by_split(source).items()
    }


def files_by_split(source: str | Path) -> dict[str, list[Path]]:
    """Return the data files a path, folder or glob stands for, by the split their names tell.

    The files of a folder are split by name only if every one names its split and one of them is train.
    """
    path = Path(source).expanduser()
    if path.is_file():
        return {"train": [path]}
    if path.is_dir():
        files = sorted(p for p in path.iterdir() if p.is_file() and format_of(p))
        files = files or sorted(p for p in path.rglob("*") if p.is_file() and format_of(p))
        if not files:
            raise InputError(f"The folder {source} holds no data file; expected {EXTENSIONS}.")
        splits = [split_in_name(p) for p in files]
        if "train" in splits and None not in splits:
            return {
                s: [p for p, named in zip(files, splits, strict=True) if named == s]
                for s in ("train", "dev", "test")
                if s in splits
            }
        return {"train": files}
    found = sorted(Path(p) for p in glob.glob(str(path), recursive=True) if Path(p).is_file())
    if found:
        return {"train": found}
    kind = "No file matches" if glob.has_magic(str(path)) else "There is no file or folder"
    raise InputError(f"{kind} {source}; check the path (the current folder is {Path.cwd()}).")


def split_in_name(path: Path) -> str | None:
    """Return the split that a file's name tells: train, dev (also valid, validation, val) or test."""
    match = _SPLIT_IN_NAME.search(path.name.split(".")[0])
    return _SPLIT_NAMES.get(match.group(1).lower(), "dev") if match else None


def _from_memory(source: object) -> RawTable:
    """Return a table that is already in memory."""
    where = "the given table"
    if isinstance(source, pl.LazyFrame):
        source = source.collect()
    if isinstance(source, pl.DataFrame):
        frame = source
    elif isinstance(source, Mapping) or (
        isinstance(source, Sequence)
        and not isinstance(source, str | bytes)
        and all(isinstance(r, dict) for r in source)
    ):
        frame = _from_records(source)
    elif hasattr(source, "__arrow_c_stream__") or type(source).__module__.startswith("pandas."):
        frame = _from_arrow(source)
    else:
        raise UsageError(
            f"Cannot read data from {type(source).__name__}: give a path, or a polars, pandas or pyarrow table, "
            "or a list of dicts."
        )
    return RawTable(frame, (where,), (frame.height,))


def _from_records(records: Any) -> pl.DataFrame:
    try:
        return pl.DataFrame(records, infer_schema_length=None)
    except (TypeError, pl.exceptions.PolarsError) as error:
        raise InputError(
            f"The given rows are no table ({str(error).splitlines()[0]}): give every row the same types."
        ) from None


def _from_arrow(source: Any) -> pl.DataFrame:
    frame = pl.from_pandas(source) if type(source).__module__.startswith("pandas.") else pl.DataFrame(source)
    return frame
