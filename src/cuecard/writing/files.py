"""Files that appear whole or not at all: written beside their place, then moved there."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuecard.writing.faults import writing_to
from cuecard.writing.locks import abandoned, locked

#: Writes the file of that name, which does not exist yet.
Write = Callable[[Path], object]


def write_whole(file: Path, write: Write) -> None:
    """Have a file written beside its place and moved there, so that it is never seen half-written."""
    with staged_file(file, write):
        pass


@dataclass(frozen=True)
class Staged:
    """A file that was written beside its place, and the place."""

    file: Path
    place: Path

    def take_place(self) -> None:
        """Move the file to its place, unless that was done."""
        if self.file.exists():
            os.replace(self.file, self.place)

    def is_ours(self) -> bool:
        """Return whether the names are such as `staged_file` gives: they may come with a folder from elsewhere."""
        folder = self.file.parent
        return folder.name.startswith(_prefix(self.place)) and folder.parent == self.place.parent


@contextmanager
def staged_file(file: Path, write: Write) -> Iterator[Staged]:
    """Have a file written beside its place, and move it there after the body, unless the body raises.

    It lies in a folder of its own, which is locked as long as the run lives; what killed runs have left of this file is
    removed.
    """
    file = Path(os.path.realpath(file))  # what a link points to is written, and the link stays
    # Short names: a long name would be too long with anything added to it.
    folder = file.with_name(f"{_prefix(file)}{secrets.token_hex(4)}")
    staged = Staged(folder / f"new{file.suffix if len(file.suffix) < 10 else ''}", file)
    try:
        with made_folders(file.parent, for_=file):
            with writing_to(file):
                for left in file.parent.glob(f"{_prefix(file)}*"):
                    if abandoned(left):
                        shutil.rmtree(left, ignore_errors=True)
                folder.mkdir(mode=0o700)
            with locked(folder):
                with writing_to(file):
                    write(staged.file)
                    staged.file.stat()  # a writer that wrote nothing must not pass for one that did
                yield staged
                with writing_to(file):
                    staged.take_place()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _prefix(file: Path) -> str:
    """Return how the names of folders begin in which a file is staged."""
    return f".cuecard-file-{hashlib.sha256(os.fsencode(file.name)).hexdigest()[:8]}-"


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
