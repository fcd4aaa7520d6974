"""Files that appear whole or not at all: written beside their place, then moved there."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from cuecard.errors import InputError

#: Writes the file of that name, which does not exist yet.
Write = Callable[[Path], object]


def write_whole(file: Path, write: Write) -> None:
    """Have a file written beside its place and moved there, so that it is never seen half-written."""
    file = Path(file)
    staged = file.with_name(f".{file.stem}-{secrets.token_hex(4)}{file.suffix}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        write(staged)
        os.replace(staged, file)
    except OSError as error:
        raise _unwritable(file, error) from None
    finally:
        with suppress(OSError):
            staged.unlink(missing_ok=True)


def write_text(file: Path, text: str, *, errors: str = "strict") -> None:
    """Write a text as UTF-8, whole or not at all."""
    write_whole(file, lambda staged: staged.write_text(text, encoding="utf-8", errors=errors, newline="\n"))


def write_json(file: Path, content: Mapping[str, Any]) -> None:
    """Write an object as JSON, whole or not at all."""
    write_text(file, json.dumps(content, indent=1) + "\n")


def write_together(folder: Path, files: Mapping[str, Write], *, stale: Sequence[str] = ()) -> None:
    """Write files into a folder, all of them or none, the last one named last; remove those that are `stale`.

    All are written to a folder of their own first. Whatever stops them from being moved into place, an interrupt too,
    puts the old files back.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".writing-", dir=folder))
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        new, old = staging / "new", staging / "old"
        for name, write in files.items():
            for place in (new, old, folder):
                (place / name).parent.mkdir(parents=True, exist_ok=True)
            write(new / name)
        for name in stale:
            (old / name).parent.mkdir(parents=True, exist_ok=True)
        _exchange(folder, new, old, list(files), [name for name in stale if name not in files])
    except OSError as error:
        raise _unwritable(folder, error) from None
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _exchange(folder: Path, new: Path, old: Path, names: list[str], stale: list[str]) -> None:
    """Move the old files out and the new ones in, in this order; or, if anything stops it, none of them."""
    try:
        for name in [*stale, *names]:
            if (folder / name).is_file():
                os.replace(folder / name, old / name)
            if name in names:
                os.replace(new / name, folder / name)
    except BaseException:
        for name in [*stale, *names]:
            if (old / name).exists():
                os.replace(old / name, folder / name)
            elif name in names and not (new / name).exists():
                (folder / name).unlink()
        raise


def _unwritable(place: Path, error: OSError) -> InputError:
    return InputError(f"{place} cannot be written ({error.strerror or error}): choose another path.")
