"""Tables that other programs made for the clusters: training dynamics, clusterings of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from cuecard.errors import InputError

READERS: dict[str, Callable[[Path], pl.DataFrame]] = {
    ".parquet": pl.read_parquet,
    ".csv": pl.read_csv,
    ".jsonl": pl.read_ndjson,
}


def read_table(path: str | Path, needed: Sequence[str], what: str, *, hint: str = "") -> pl.DataFrame:
    """Return the table in a file, which must have the needed columns.

    `what` names the table in messages, and `hint` says what to type where columns are missing.
    """
    file = Path(path)
    if file.suffix not in READERS:
        raise InputError(f"{path}: cannot read {what} from this kind of file; expected {', '.join(READERS)}.")
    if not file.is_file():
        raise InputError(f"{path}: this file does not exist; expected a file of {what}.")
    try:
        table = READERS[file.suffix](file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: cannot be read as {what} ({error}).") from None
    if not set(needed) <= set(table.columns):
        raise InputError(
            f"{path}: {what} need the columns {' and '.join(needed)}; found {', '.join(table.columns)}.{hint}"
        )
    return table
