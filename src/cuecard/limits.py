"""What is checked before any work: numbers that parameters can be, and places to write to."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import MISSING, fields
from fnmatch import fnmatch
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from cuecard.errors import InputError, UsageError
from cuecard.writing import try_writing, unwritable, writing_to

#: What every library that draws numbers accepts.
LARGEST_SEED = 2**32 - 1
#: Whole numbers that a parameter of that name can be, in every analysis.
_RANGES = {"seed": (0, LARGEST_SEED), "folds": (2, 1000), "ngrams": (1, 10), "components": (2, 10**6)}
#: Numbers that must be above zero.
_POSITIVE = {"strength"}
#: Whole numbers beyond this do not fit into the arrays that they size.
_LARGEST = 2**53


def check_seed(seed: object) -> None:
    """Raise if a number is not a random seed."""
    _check_range("seed", seed, "seed")


def check_numbers(analyses: Iterable[Any]) -> None:
    """Raise if a parameter of an analysis is a number that it cannot be, or no number where it must be one."""
    for analysis in analyses:
        for field in fields(analysis):
            value, name = getattr(analysis, field.name), f"{analysis.name}.{field.name}"
            default = field.default if field.default is not MISSING else None
            whole = isinstance(default, int) and not isinstance(default, bool)
            if value is None or isinstance(value, bool) or not (whole or isinstance(value, Real)):
                continue
            if whole or isinstance(value, Integral):
                _check_range(field.name, value, name)
            elif not math.isfinite(float(value)) and value != default:
                raise UsageError(f"{name} must be a finite number, not {value}.")
            elif field.name in _POSITIVE and value <= 0:
                raise UsageError(f"{name} must be above 0, not {value}.")


def _check_range(parameter: str, value: object, shown: str) -> None:
    low, high = _RANGES.get(parameter, (-_LARGEST, _LARGEST))
    if isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real) and float(value).is_integer():
        number = int(float(value))
    else:
        raise UsageError(f"{shown} must be a whole number, not {value!r}.")
    if not low <= number <= high:
        expected = f"from {low} to {high}" if parameter in _RANGES else f"of at most {high}"
        raise UsageError(f"{shown} must be a whole number {expected}, not {value}.")


#: Bytes that must fit: a report with its charts is not smaller, a file may be.
_ROOM_OF_FOLDER, _ROOM_OF_FILE = 2 << 20, 1 << 16
#: Bytes of the longest name that file systems take.
_LONGEST = 255


def check_file(path: Path, *, inputs: Iterable[object] = (), option: str = "--out") -> None:
    """Raise if a file cannot be written to a path, or if it is one of the inputs.

    Args:
        path: where the file belongs.
        inputs: what is read, as the user named it; what is not a path of a file or folder is passed over.
        option: the option that names the path.
    """
    with writing_to(path):
        _follow(path)
        if path.is_dir():
            raise UsageError(f"{path} is a folder: choose a file as {option}.")
        if path.exists() and not path.is_file():
            raise UsageError(f"{path} is not a regular file: choose another {option}.")
        for source in _paths(inputs):
            if source.is_file() and path.exists() and source.samefile(path):
                raise UsageError(f"{path} is an input file: choose another {option}.")
        if path.exists() and not os.access(path, os.W_OK):
            raise unwritable(path, "Permission denied")
        _check_room(path, path.absolute().parent, _ROOM_OF_FILE)


def check_folder(
    path: Path, names: Sequence[str] = ("*",), *, inputs: Iterable[object] = (), option: str = "--out"
) -> None:
    """Raise if files cannot be written to a folder, if it lies in an input, or if they would replace an input.

    Args:
        path: the folder, which need not exist.
        names: patterns of the files' names, such as "tables/*".
        inputs: what is read, as the user named it; what is not a path of a file or folder is passed over.
        option: the option that names the path.
    """
    with writing_to(path):
        _follow(path)
        if path.exists() and not path.is_dir():
            raise UsageError(f"{path} is a file: choose a folder as {option}.")
        here = Path(os.path.realpath(path))
        for source in (Path(os.path.realpath(source)) for source in _paths(inputs)):
            if source.is_dir() and here.is_relative_to(source):
                raise UsageError(f"{path} lies in the input folder {source}: choose another {option}.")
            if not source.is_dir() and source.is_relative_to(here):
                inside = source.relative_to(here).as_posix()
                if any(fnmatch(inside, name) for name in names):
                    raise UsageError(
                        f"{source} would be replaced by the files in {path}: choose another {option}."
                    )
        for name in names:
            if "*" not in name and (path / name).is_dir():
                raise UsageError(f"{path / name} is a folder: choose another {option}.")
            if "/" in name and (path / name).parent.is_file():
                raise UsageError(f"{(path / name).parent} is a file: choose another {option}.")
        _check_room(path, path.absolute(), _ROOM_OF_FOLDER)


def _follow(path: Path) -> None:
    """Raise what the system says of a path that cannot be followed, such as links in a circle."""
    with suppress(FileNotFoundError, NotADirectoryError):
        path.stat()


def _paths(inputs: Iterable[object]) -> list[Path]:
    """Return the inputs that can be paths of files or folders."""
    paths = []
    for source in inputs:
        if isinstance(source, str | Path) and str(source).strip() and "\0" not in str(source):
            try:
                path = Path(source).expanduser()
                path.exists()
                paths.append(path)
            except (OSError, RuntimeError):
                continue  # its reader says what is wrong with it
    return paths


def _check_room(path: Path, folder: Path, room: int) -> None:
    """Raise if no file of that many bytes can be written to a folder, or to the nearest one above it that exists."""
    for part in path.parts:
        if len(os.fsencode(part)) > _LONGEST:
            raise InputError(
                f"…{path.name[-40:]} has a name longer than {_LONGEST} bytes: choose a shorter one."
            )
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        raise UsageError(f"{folder} is a file, so {path} cannot be created: choose another path.")
    try_writing(folder, room)
