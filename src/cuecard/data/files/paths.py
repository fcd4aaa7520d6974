"""Paths as they are typed, and as they are shown, and the files that they name."""

from __future__ import annotations

from pathlib import Path

from cuecard.errors import InputError, UsageError

#: Longer paths are shown by their end.
SHOWN = 300


def typed_path(source: str | Path) -> Path:
    """Return the path that was typed, with `~` expanded, or raise an error if it can be no path."""
    if not str(source).strip():
        raise UsageError("The path is empty: name a file or folder (the current folder is ./).")
    if "\0" in str(source):
        raise InputError(f"{shown(source)} is not a valid path (it has a NUL character): check the spelling.")
    try:
        path = Path(source).expanduser()
        path.exists()
    except RuntimeError:
        raise InputError(
            f"{shown(source)} names a user without a home folder: write the full path."
        ) from None
    except OSError as error:
        raise InputError(
            f"{shown(source)} cannot be read ({error.strerror}): check the path and its permissions."
        ) from None
    return path


def check_regular(path: Path, *, rows: bool = True) -> None:
    """Raise if a path names a pipe, a socket or a device: files are read more than once, and these cannot be.

    Args:
        path: what is to be read.
        rows: whether it holds rows of data, which can be piped in.
    """
    if path.exists() and not path.is_file() and not path.is_dir():
        instead = ", or pipe the rows in as - instead" if rows else ""
        raise InputError(f"{shown(path)} is a pipe or a device: save its content as a file{instead}.")


def shown(path: str | Path) -> str:
    """Return a path as text that can be printed and written: bytes that are no UTF-8 appear as `\\udc..`."""
    text = str(path).encode("utf-8", "backslashreplace").decode()
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= SHOWN else "…" + text[-SHOWN:]


def files_below(path: Path) -> list[Path]:
    """Return the files of a folder, or the file itself, in the order of their names."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
