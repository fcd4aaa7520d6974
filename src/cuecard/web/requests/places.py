"""What lies below the root: every path that a request, a card or a setting names is resolved, or refused, here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from cuecard.errors import InputError, UsageError
from cuecard.web.state import AppSettings

#: Characters of a path that systems take.
LONGEST_PATH = 1_000
_OUTSIDE = "is not below the folder that the app was started with"
#: Section and parameter, or the parameter of a model; nothing that could carry a value of its own.
_PARAMETER = re.compile(r"[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)?")
#: What divides the parts of a setting's value, each of which may be a path.
_DIVIDED = re.compile(r"[,;=:\s]")


def inside(root: Path, path: str) -> Path | None:
    """Return a path below the root, whole; None where it, or a link in the folder that it names, leads outside.

    Only files may be read that the user put below the root: a card, or a page, that names another one gets nothing.
    """
    if not path or "\0" in path or len(path) > LONGEST_PATH + len(str(root)):
        return None
    try:
        base, whole = root.resolve(), (root / path).resolve()
        if not whole.is_relative_to(base):
            return None
        linked = _links(whole) if whole.is_dir() else ()
        return whole if all(link.resolve().is_relative_to(base) for link in linked) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _links(folder: Path) -> Iterator[Path]:
    """Give the symbolic links below a folder."""
    for place, folders, files in os.walk(folder):
        yield from (path for name in (*folders, *files) if (path := Path(place, name)).is_symlink())


class Places:
    """The places below the root of an app, but for the app's own folder."""

    def __init__(self, settings: AppSettings) -> None:
        self.root, self.own = settings.root, settings.own.resolve()

    def existing(self, path: str, field: str = "") -> Path:
        """Return a file or folder that a page names, or raise; `field` is what the page calls it."""
        said = f"{field}: " if field else ""
        if len(path) > LONGEST_PATH:
            raise InputError(f"{said}a path of {len(path):,} characters is too long to be one.")
        place = inside(self.root, path)
        if place is None or place.is_relative_to(self.own):
            raise InputError(f"{said}{path!r} {_OUTSIDE}.")
        try:
            exists = place.exists()
        except OSError:
            exists = False
        if not exists:
            raise InputError(f"{said}{path!r} does not exist below the folder that the app was started with.")
        return place

    def target(self, folder: Path) -> Path:
        """Return a folder to write to, made where it is absent, or raise if a link leads from it to elsewhere."""
        whole = folder.resolve()
        if not whole.is_relative_to(self.root.resolve()):
            raise InputError(f"{folder.name!r} {_OUTSIDE}: it is a link. Remove it, or move it.")
        whole.mkdir(parents=True, exist_ok=True)
        return whole

    def check_settings(self, settings: Mapping[str, str]) -> None:
        """Raise if a parameter of an analysis names a file, a folder or an address outside the root.

        Whatever the parameter is called: those of plug-ins may be opened as files, too. Jobs run in the root, so that
        a path is resolved from there.
        """
        for name, value in settings.items():
            if not _PARAMETER.fullmatch(name):
                raise UsageError(f"{name!r} is not a parameter: expected SECTION.PARAMETER.")
            if "://" in value or any(map(self._leads_outside, _possible_paths(value))):
                raise UsageError(f"{name}: {value!r} {_OUTSIDE}.")

    def _leads_outside(self, text: str) -> bool:
        try:
            path = Path(text).expanduser()
        except RuntimeError:  # of no user's home
            path = Path(text)
        looks_like_one = path.is_absolute() or len(path.parts) > 1 or text == ".."
        if not looks_like_one and not os.path.lexists(self.root / path):
            return False
        place = inside(self.root, str(path))
        return place is None or place.is_relative_to(self.own)


def _possible_paths(value: str) -> set[str]:
    """Return the parts of a setting that an analysis could open: all of it, NAME=PATH, and the items of a list.

    >>> sorted(_possible_paths("a=b/c,d"))
    ['a', 'a=b/c', 'a=b/c,d', 'b/c', 'b/c,d', 'd']
    """
    items = {value, *value.split(",")}
    after = {item.partition(mark)[2] for item in items for mark in "=:"}
    parts = {*items, *after, *_DIVIDED.split(value)}
    return {part.strip() for part in parts if part.strip()}


def own_file(root: Path, file: Path) -> bool:
    """Return whether a file may be sent: there is one, and no link leads from it out of the root."""
    return file.is_file() and inside(root, str(file)) is not None
