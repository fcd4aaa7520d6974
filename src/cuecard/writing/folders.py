"""Folders that are all old or all new, whatever stops the run that writes them.

A folder that holds nothing but what an earlier run wrote is exchanged as a whole, in one step of the system. Where that
cannot be (there are files of the user's, it is a mount point or where the user works, or the system has no such step),
the files are moved one by one, in the order of a plan on disk: a run that is killed before the plan stands has changed
nothing, and what a later one has begun is completed when the folder is next opened.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path, PurePosixPath

from cuecard.errors import InputError
from cuecard.writing.exchange import exchanged
from cuecard.writing.faults import STAGING, writing_to
from cuecard.writing.files import Staged, Write, made_folders
from cuecard.writing.locks import locked

_PLAN, _NEW, _OLD = "plan.json", "new", "old"


def write_together(
    folder: Path, files: Mapping[str, Write], *, stale: Callable[[Path], Iterable[str]] = lambda _: ()
) -> None:
    """Write files into a folder, all of them or none, and remove those that are stale."""
    with staged_folder(folder, files, stale=stale):
        pass


@contextmanager
def staged_folder(
    folder: Path,
    files: Mapping[str, Write],
    *,
    stale: Callable[[Path], Iterable[str]] = lambda _: (),
    last: Staged | None = None,
) -> Iterator[None]:
    """Have files written beside their places, and move all of them there after the body, unless the body raises.

    Args:
        folder: where they belong; it is made where it is missing. Other writers wait meanwhile.
        files: what writes the file of each name, in their order.
        stale: names the files of an earlier run, which go if they are not written again; called with the folder.
        last: a file elsewhere that takes its place with these, or not at all. Where a run is killed between the two, it
            does so when the folder is next opened.
    """
    folder = Path(os.path.realpath(folder))
    with made_folders(folder), locked(folder) as alone:
        _complete(folder)
        if alone:
            _sweep(folder)
        old = [name for name in stale(folder) if name not in files]
        whole = _all_ours(folder, {*files, *old})
        staging = _staging(folder, beside=whole)
        try:
            _stage(folder, staging, files)
            yield
            with writing_to(folder):
                if not (whole and _exchange(folder, staging, last)):
                    if whole:  # the system has no exchange for this folder, and files beside it may be on another disk
                        shutil.rmtree(staging, ignore_errors=True)
                        staging = _staging(folder, beside=False)
                        _stage(folder, staging, files)
                    _move(folder, staging, list(files), old, last)
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def recover(folder: Path) -> None:
    """Complete what a run that was killed had begun to move into a folder; nothing, if there is no such thing."""
    folder = Path(os.path.realpath(folder))
    if not any(_plans(folder)):
        return
    with locked(folder):
        try:
            _complete(folder)
        except OSError as error:
            raise InputError(
                f"{folder}: a run was stopped while it wrote this folder, and its files cannot be moved into place "
                f"({error.strerror}); make the folder writable, or run the command again."
            ) from None


def _staging(folder: Path, *, beside: bool) -> Path:
    """Return the name of a new folder inside a folder or beside it, where the folder's own name goes before.

    A name alone leaves nothing to be removed.
    """
    parent, prefix = (folder.parent, f".{folder.name[:100]}{STAGING}") if beside else (folder, STAGING)
    return parent / f"{prefix}{secrets.token_hex(4)}"


def _stage(folder: Path, staging: Path, files: Mapping[str, Write]) -> None:
    """Have all the files of a folder written into a new one."""
    with writing_to(folder):
        staging.mkdir(mode=0o700)
        (staging / _NEW).mkdir()
        for name, write in files.items():
            (staging / _NEW / name).parent.mkdir(parents=True, exist_ok=True)
            write(staging / _NEW / name)
        shutil.copymode(folder, staging / _NEW)


def _all_ours(folder: Path, names: set[str]) -> bool:
    """Return whether a folder may be exchanged as a whole: nothing in it is the user's, and nobody works in it."""
    if Path.cwd().is_relative_to(folder) or not os.access(folder.parent, os.W_OK) or folder.is_mount():
        return False
    ours = names | {parent.as_posix() for name in names for parent in PurePosixPath(name).parents}
    for place, folders, inside in os.walk(folder):
        for entry in (Path(place, name) for name in (*folders, *inside)):
            if entry.is_symlink() or entry.relative_to(folder).as_posix() not in ours:
                return False
    return True


def _exchange(folder: Path, staging: Path, last: Staged | None) -> bool:
    """Exchange a folder for the staged one and have the last file follow; whether that is possible."""
    if last is None:
        return exchanged(staging / _NEW, folder)
    # The plan comes with the new folder: from then on, the file's place is to be taken.
    name = f"{STAGING}{secrets.token_hex(4)}"
    (staging / _NEW / name).mkdir(mode=0o700)
    _write_plan(staging / _NEW / name, [], [], last)
    try:
        if exchanged(staging / _NEW, folder):
            last.take_place()
            return True
    except BaseException:
        if (folder / name).exists() and last.file.exists():
            exchanged(staging / _NEW, folder)
        raise
    finally:
        shutil.rmtree(folder / name, ignore_errors=True)
    return False


def _move(folder: Path, staging: Path, names: list[str], stale: list[str], last: Staged | None) -> None:
    """Move the old files out and the new ones in, in this order; or, if anything stops it, none of them."""
    for name in (*stale, *names):
        (staging / _OLD / name).parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as made:
        for place in sorted({(folder / name).parent for name in names}):
            made.enter_context(made_folders(place))
        _follow_plan(folder, staging, names, stale, last)


def _write_plan(staging: Path, names: list[str], stale: list[str], last: Staged | None) -> None:
    """Write a plan, which is in force from then on."""
    draft = staging / f"{_PLAN}.draft"
    moved = [str(last.file), str(last.place)] if last is not None else []
    draft.write_text(json.dumps({"files": names, "stale": stale, "last": moved}), encoding="utf-8")
    os.replace(draft, staging / _PLAN)


def _follow_plan(
    folder: Path, staging: Path, names: list[str], stale: list[str], last: Staged | None
) -> None:
    new, old = staging / _NEW, staging / _OLD
    try:
        _write_plan(staging, names, stale, last)
        for name in (*stale, *names):
            if (folder / name).is_file():
                os.replace(folder / name, old / name)
            if name in names:
                os.replace(new / name, folder / name)
        if last is not None:
            last.take_place()
        (staging / _PLAN).unlink()
    except BaseException:
        with suppress(OSError):
            (staging / _PLAN).unlink(missing_ok=True)
        if last is not None and not last.file.exists():
            raise  # everything is in its place
        for name in (*stale, *names):
            if (old / name).exists():
                os.replace(old / name, folder / name)
            elif name in names and not (new / name).exists():
                (folder / name).unlink()
        raise


def _plans(folder: Path) -> Iterator[Path]:
    """Return the plans that killed runs have left in a folder."""
    with suppress(OSError):
        yield from folder.glob(f"{STAGING}*/{_PLAN}")


def _complete(folder: Path) -> None:
    """Do what is left of the plans in a folder; the lock must be held."""
    for plan in sorted(_plans(folder)):
        try:
            steps = json.loads(plan.read_text(encoding="utf-8"))
            names, stale = ([str(name) for name in steps[key]] for key in ("files", "stale"))
            last = Staged(*map(Path, steps.get("last", ()))) if steps.get("last") else None
        except (ValueError, TypeError, LookupError):
            continue  # no plan of ours
        new = plan.parent / _NEW
        places = [*names, *stale, *(f"{plan.parent.name}/{_NEW}/{name}" for name in names)]
        if not all(_inside(folder, name) for name in places):
            continue
        for name in names:
            if (new / name).is_file():
                os.replace(new / name, folder / name)
        for name in stale:
            (folder / name).unlink(missing_ok=True)
        if last is not None and last.is_ours():
            last.take_place()
            shutil.rmtree(last.file.parent, ignore_errors=True)
        shutil.rmtree(plan.parent, ignore_errors=True)


def _inside(folder: Path, name: str) -> bool:
    """Return whether a name stays inside the folder, without links: a plan may come with a folder from elsewhere."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        return False
    return not any((folder / parent).is_symlink() for parent in path.parents if parent.name)


def _sweep(folder: Path) -> None:
    """Remove what killed runs have staged; the lock must be held, so that no living run has anything there."""
    left = [*folder.glob(f"{STAGING}*"), *folder.parent.glob(f".{_escaped(folder.name[:100])}{STAGING}*")]
    for staging in left:
        if staging.is_dir():
            shutil.rmtree(staging, ignore_errors=True)
        else:
            with suppress(OSError):
                staging.unlink()


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
