"""Uploaded files: streamed to disk under a name of ours, within limits of size and time."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from cuecard.data import load, parse_columns
from cuecard.data.layout.roles import TASK_ROLES
from cuecard.data.reading.sources import read_as_is, without_preset
from cuecard.errors import CueCardError, InputError, UnrecognisedError, in_form
from cuecard.web.requests.bodies import Json
from cuecard.web.state import AppSettings, State, Upload
from cuecard.web.tables import rows_of
from cuecard.wording import display_text

#: Endings of files that are read; an archive or a pickle is none of them.
ENDINGS = (
    ".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".json.gz",
    ".csv.zst", ".tsv.zst", ".jsonl.zst", ".json.zst",
)  # fmt: skip


#: Beginnings of archives and pickles, whatever a file is called.
REFUSED = (
    b"PK\x03\x04",
    b"7z\xbc\xaf",
    b"Rar!",
    b"BZh",
    b"\xfd7zXZ",
    b"\x80\x02",
    b"\x80\x03",
    b"\x80\x04",
    b"\x80\x05",
)
#: Endings of files whose rows are lines.
_LINES = (".csv", ".tsv", ".jsonl", ".ndjson", ".txt")


def ending_of(name: str) -> str:
    """Return the ending of a file that can be read, or raise.

    >>> ending_of("My data.CSV")
    '.csv'
    """
    lower = name.lower()
    fitting = [ending for ending in ENDINGS if lower.endswith(ending)]
    if not fitting:
        raise InputError(f"Files ending in {', '.join(ENDINGS)} are read, not {shown_name(name)!r}.")
    return max(fitting, key=len)


def shown_name(name: str) -> str:
    """Return a user's file name as it may be shown: its last part, without what is not printable."""
    last = re.split(r"[\\/]", name)[-1]
    return "".join(c for c in last if c.isprintable())[:120] or "file"


def stem_of(name: str) -> str:
    """Return a user's file name as a plain word, for the name of a dataset: letters, digits, - and _.

    >>> stem_of("../My data (2).csv.gz")
    'My-data-2'
    """
    stem = shown_name(name)[: -len(ending_of(name))]
    return re.sub(r"[^A-Za-z0-9_]+", "-", stem).strip("-")[:60] or "data"


async def receive(stream: AsyncIterator[bytes], name: str, settings: AppSettings, state: State) -> Upload:
    """Write an upload to disk and remember it; one that is too large or too slow leaves nothing behind."""
    ending, limits = ending_of(name), settings.limits
    folder = settings.uploads / secrets.token_hex(8)
    folder.mkdir(parents=True)
    file = folder / f"data{ending}"  # the user's name is only shown
    size, lines, begun = 0, 0, time.monotonic()
    try:
        with file.open("wb") as out:
            async for chunk in stream:
                if size == 0 and chunk.startswith(REFUSED):
                    raise InputError("The file is an archive or a pickle: upload the data file itself.")
                size += len(chunk)
                lines += chunk.count(b"\n") if ending in _LINES else 0
                if size > limits.upload_bytes:
                    raise InputError(
                        f"The file is larger than the limit of {limits.upload_bytes / 2**30:g} GiB."
                    )
                _check_rows(lines, limits.upload_rows)
                if time.monotonic() - begun > limits.upload_seconds:
                    raise InputError(f"The upload took longer than {limits.upload_seconds:g} seconds.")
                out.write(chunk)
        if size == 0:
            raise InputError("The file is empty.")
        if ending == ".parquet":
            _check_rows(_parquet_rows(file), limits.upload_rows)
    except BaseException:
        _remove(file)
        raise
    return state.add_upload(shown_name(name), str(file.relative_to(settings.root)), size)


def remove_unfinished(settings: AppSettings, state: State) -> None:
    """Remove uploads that a killed server left half written."""
    kept = {Path(file).parent.name for file in state.upload_files()}
    for folder in settings.uploads.glob("*"):
        if folder.name not in kept:
            shutil.rmtree(folder, ignore_errors=True)


def _check_rows(rows: int, most: int) -> None:
    if rows > most:
        raise InputError(f"The file has more rows than the limit of {most:,}.")


def _parquet_rows(file: Path) -> int:
    try:
        return rows_of(file)
    except (OSError, pl.exceptions.PolarsError):
        raise InputError("The file is not a Parquet file, or it is damaged.") from None


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.parent.rmdir()


ROWS = 6
#: Rows that are read to recognise columns and labels.
LIMIT = 400
WIDTH = 160


@dataclass(frozen=True)
class PreviewRequest:
    """A file and how it shall be read."""

    train: str
    test: str | None = None
    task: str | None = None
    columns: str | None = None
    labels: str | None = None
    header: str | None = None


def preview(request: PreviewRequest) -> Json:
    """Return the columns and first rows of a file, how they are understood, and what is wrong with that."""
    _, source = without_preset(request.train)
    tables = {
        split: table.flat()
        for split, table in read_as_is(source, on_error="skip", limit=LIMIT, header=request.header).items()
    }
    frame = tables["train"].frame.head(ROWS)
    answer: Json = {
        "columns": frame.columns,
        "rows": [[display_text(value, WIDTH) for value in row] for row in frame.iter_rows()],
        "roles": {task: [*roles, "id"] for task, roles in TASK_ROLES.items()},
        "splits": list(tables),
        "recognised": {},
        "task": request.task,
        "labels": [],
        "problem": "",
    }
    try:
        data = load(
            request.train,
            test=request.test,
            task=request.task,  # type: ignore[arg-type]
            columns=parse_columns(request.columns) if request.columns else None,
            labels=request.labels or None,
            header=request.header,
            on_error="skip",
            max_skipped=1.0,
            limit=LIMIT,
        )
    except UnrecognisedError as error:
        said = f"The columns {', '.join(map(repr, frame.columns))} are not recognised."
        suggested = {role: "+".join(columns) for role, columns in error.roles.items()}
        return answer | {"problem": said, "task": request.task or error.task, "suggested": suggested}
    except CueCardError as error:
        return answer | {"problem": in_form(str(error))}
    counts = dict(data.train.table["label"].cast(str).value_counts().iter_rows())
    return answer | {
        "recognised": dict(data.report.recognised),
        "task": data.task,
        "labels": [{"label": label, "count": counts.get(label, 0)} for label in data.labels],
        "notes": list(data.report.notes),
        "name": data.name,
    }


def main() -> int:
    """Answer the request on standard input."""
    try:
        answer = preview(PreviewRequest(**json.load(sys.stdin)))
    except CueCardError as error:
        answer = {"columns": [], "rows": [], "problem": in_form(str(error))}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
