"""Uploaded files: streamed to disk under a name of ours, within limits of size and time."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path

from cuecard.errors import InputError
from cuecard.web.settings import AppSettings
from cuecard.web.state import State, Upload

#: Endings of files that are read; an archive or a pickle is none of them.
ENDINGS = (
    ".parquet", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt", ".csv.gz", ".tsv.gz", ".jsonl.gz", ".json.gz",
    ".csv.zst", ".tsv.zst", ".jsonl.zst", ".json.zst",
)  # fmt: skip


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
    file = folder / f"{stem_of(name)}{ending}"
    size, begun = 0, time.monotonic()
    try:
        with file.open("wb") as out:
            async for chunk in stream:
                size += len(chunk)
                if size > limits.upload_bytes:
                    raise InputError(
                        f"The file is larger than the limit of {limits.upload_bytes / 2**30:g} GiB."
                    )
                if time.monotonic() - begun > limits.upload_seconds:
                    raise InputError(f"The upload took longer than {limits.upload_seconds:g} seconds.")
                out.write(chunk)
        if size == 0:
            raise InputError("The file is empty.")
    except BaseException:
        _remove(file)
        raise
    return state.add_upload(shown_name(name), str(file.relative_to(settings.root)), size)


def _remove(file: Path) -> None:
    file.unlink(missing_ok=True)
    file.parent.rmdir()
