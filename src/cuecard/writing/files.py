"""Files that appear whole or not at all: written beside their place, then moved there."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from cuecard.writing.faults import writing_to

#: Writes the file of that name, which does not exist yet.
Write = Callable[[Path], object]


def write_whole(file: Path, write: Write) -> None:
    """Have a file written beside its place and moved there, so that it is never seen half-written."""
    with staged_file(file, write):
        pass


@contextmanager
def staged_file(file: Path, write: Write) -> Iterator[None]:
    """Have a file written beside its place, and move it there after the body, unless the body raises."""
    file = Path(os.path.realpath(file))  # what a link points to is written, and the link stays
    # A short name of its own: a long name would be too long with anything added to it.
    staged = file.with_name(f".cuecard-{secrets.token_hex(4)}{file.suffix if len(file.suffix) < 10 else ''}")
    try:
        with made_folders(file.parent, for_=file):
            with writing_to(file):
                write(staged)
            yield
            with writing_to(file):
                os.replace(staged, file)
    finally:
        with suppress(OSError):
            staged.unlink(missing_ok=True)


@contextmanager
def made_folders(folder: Path, *, for_: Path | None = None) -> Iterator[None]:
    """Make a folder and those above it where they are missing; if the body raises, remove them as far as empty.

    An error names `for_`, which is to be written there, or the folder.
    """
    missing = []
    above = folder
    with writing_to(for_ or folder):
        while not above.exists():
            missing.append(above)
            above = above.parent
        folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for made in missing:
                made.rmdir()
        raise


def write_text(file: Path, text: str, *, errors: str = "strict") -> None:
    """Write a text as UTF-8, whole or not at all."""
    write_whole(file, lambda staged: staged.write_text(text, encoding="utf-8", errors=errors, newline="\n"))


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write an object as JSON, whole or not at all."""
    write_text(file, json.dumps(content, indent=1) + "\n")
