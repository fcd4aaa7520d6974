"""Folders named after classes, with one text per file: `pos/0_9.txt`, `neg/0_2.txt`."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from cuecard.data.files.paths import shown
from cuecard.data.files.raw import RawTable
from cuecard.errors import InputError

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
