"""Files and folders that appear whole or not at all, whatever stops the run that writes them.

A folder that holds nothing but what an earlier run wrote is exchanged as a whole, by one rename. Where that cannot be
(there are files of the user's, it is a mount point or where the user works, or the system cannot exchange), the files
are moved one by one, in the order of a plan on disk: a run that is killed before the plan stands has changed nothing,
and what a later one has begun is completed when the folder is next opened.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from cuecard.errors import CueCardError, InputError

#: Writes the file of that name, which does not exist yet.
Write = Callable[[Path], object]
#: How the names of what a run stages begin, inside the folder that it writes.
STAGING = ".cuecard-writing-"
#: Packages that write files for us and raise errors of their own where the disk is full.
_WRITERS = {"polars", "pyarrow", "safetensors", "pyo3_runtime"}
#: Bytes written to learn what is wrong with a disk.
_PROBE = 1 << 16
#: Seconds to wait for another run that is writing its card, and between two looks.
PATIENCE, _PAUSE = 60.0, 0.05
#: Seconds after which a folder without a lock is considered abandoned: it is locked as soon as it is made.
_ABANDONED = 60.0
_PLAN, _NEW, _OLD = "plan.json", "new", "old"
#: The flag of `renameat2` (Linux) and `renamex_np` (macOS) that exchanges two names, and the working folder's handle.
_EXCHANGE, _HERE = 2, -100
#: The system, or the file system, cannot exchange names, or not these.
_IMPOSSIBLE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EXDEV, errno.EBUSY, errno.EPERM, errno.EACCES)


@contextmanager
def writing_to(place: Path) -> Iterator[None]:
    """Raise an `InputError` that names the place, whatever the system or a library raises while it is written."""
    try:
        yield
    except CueCardError:
        raise
    except OSError as error:
        raise unwritable(place, error.strerror or str(error).partition(" (os error")[0]) from None
    except MemoryError:
        raise InputError(
            f"{place} cannot be written: the memory is full. Give the command more memory."
        ) from None
    except BaseException as error:
        if type(error).__module__.split(".")[0] not in _WRITERS:
            raise
        raise unwritable(place, _reason(place, error)) from None


def unwritable(place: Path, reason: str) -> InputError:
    """Return the error about a place that cannot be written."""
    return InputError(f"{place} cannot be written ({reason}): choose another path.")


def try_writing(folder: Path, size: int) -> None:
    """Write a file of that many bytes to a folder and remove it; what the system refuses is an `OSError`."""
    # Named first, so that no interrupt leaves it behind; what a kill leaves, the next run that writes there removes.
    probe = folder / f"{STAGING}{secrets.token_hex(4)}"
    try:
        with probe.open("xb", buffering=0) as file:
            left = memoryview(bytes(size))
            while left:
                left = left[file.write(left) :]
    finally:
        probe.unlink(missing_ok=True)


def _reason(place: Path, error: BaseException) -> str:
    """Return what the system says, as libraries often do not; or the first line of the library's error."""
    try:
        try_writing(place if place.is_dir() else place.absolute().parent, _PROBE)
    except OSError as refusal:
        return refusal.strerror or str(refusal)
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:200]


@contextmanager
def locked(folder: Path, *, patience: float = PATIENCE) -> Iterator[bool]:
    """Hold the lock of a folder, which must exist, while the body runs; say whether there is one to hold.

    The folder itself is locked, so no file is left behind, not even by a run that is killed. Where the file system has
    no locks, the body runs without one. After `patience` seconds of waiting for another writer, this is an error.
    """
    until = time.monotonic() + patience
    while True:
        try:
            handle = _lock(folder)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise InputError(
                    f"{folder} is being written by another run: wait until it ends, or choose another folder."
                ) from None
            time.sleep(_PAUSE)
    try:
        yield handle is not None
    finally:
        if handle is not None:
            os.close(handle)


def _lock(folder: Path) -> int | None:
    """Return a handle of the folder that holds its lock, None where it has no locks; raise if another run has it."""
    from filelock import lock_descriptor  # imported where something is written: a short command does not

    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:  # the writer before us has failed and has removed what it made
        with suppress(FileExistsError):
            folder.mkdir(parents=True)
        raise BlockingIOError from None
    except OSError:
        return None
    try:
        held = lock_descriptor(handle, blocking=False)
        # Another writer may have exchanged the folder of that name for a new one.
        if held and os.path.samestat(os.stat(folder), os.fstat(handle)):
            return handle
    except FileNotFoundError:
        pass
    except OSError:
        os.close(handle)
        return None
    os.close(handle)
    raise BlockingIOError


def _is_abandoned(folder: Path) -> bool:
    """Return whether a folder, which a run locks as long as it lives, was left by one that was killed."""
    with suppress(OSError):
        handle = _lock(folder)
        if handle is not None:
            age = time.time() - os.fstat(handle).st_mtime
            os.close(handle)
            return age > _ABANDONED
    return False


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


def write_json(file: Path, content: Mapping[str, object]) -> None:
    """Write an object as JSON, whole or not at all."""
    write_text(file, json.dumps(content, indent=1) + "\n")


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
                    if _is_abandoned(left):
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
        if alone:  # no living run has anything staged here
            for left in [*folder.glob(f"{STAGING}*"), *folder.parent.glob(f"{_escaped(_beside(folder))}*")]:
                _remove(left)
        old = [name for name in stale(folder) if name not in files]
        whole = _is_all_ours(folder, {*files, *old})
        name = f"{STAGING}{secrets.token_hex(4)}"
        staging = folder.parent / f"{_beside(folder)}{name[-8:]}" if whole else folder / name
        try:
            _stage(folder, staging, files)
            yield
            with writing_to(folder):
                if whole and _exchange(folder, staging, last):
                    return
                if whole:  # the system cannot exchange this folder
                    staging = staging.rename(folder / name)
                _Plan(list(files), old, last).follow(folder, staging)
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


def _stage(folder: Path, staging: Path, files: Mapping[str, Write]) -> None:
    """Have all the files of a folder written into a new one."""
    with writing_to(folder):
        staging.mkdir(mode=0o700)
        (staging / _NEW).mkdir()
        for name, write in files.items():
            (staging / _NEW / name).parent.mkdir(parents=True, exist_ok=True)
            write(staging / _NEW / name)
        shutil.copymode(folder, staging / _NEW)


def _is_all_ours(folder: Path, names: set[str]) -> bool:
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
        return _exchanged(staging / _NEW, folder)
    # The plan comes with the new folder: from then on, the file's place is to be taken.
    name = f"{STAGING}{secrets.token_hex(4)}"
    (staging / _NEW / name).mkdir(mode=0o700)
    _Plan([], [], last).write(staging / _NEW / name)
    try:
        if _exchanged(staging / _NEW, folder):
            last.take_place()
            return True
    except BaseException:
        if (folder / name).exists() and last.file.exists():
            _exchanged(staging / _NEW, folder)  # back
        raise
    finally:
        for place in (folder, staging / _NEW):
            shutil.rmtree(place / name, ignore_errors=True)
    return False


def _exchanged(new: Path, folder: Path) -> bool:
    """Put a new folder in the place of another by one rename, and the other in its place; whether that is possible."""
    one, other = os.fsencode(new), os.fsencode(folder)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            refused = system.renamex_np(one, other, _EXCHANGE)
        else:
            refused = system.renameat2(_HERE, one, _HERE, other, _EXCHANGE)
    except (AttributeError, TypeError):
        return False
    if refused and ctypes.get_errno() not in _IMPOSSIBLE:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return not refused


@dataclass(frozen=True)
class _Plan:
    """What is to be moved from a staging folder into the folder around it, removed there, and moved elsewhere."""

    files: list[str]
    stale: list[str]
    last: Staged | None

    def write(self, staging: Path) -> None:
        """Write the plan, which is in force from then on."""
        draft = staging / f"{_PLAN}.draft"
        draft.write_text(json.dumps(asdict(self), default=str), encoding="utf-8")
        os.replace(draft, staging / _PLAN)

    @classmethod
    def read(cls, file: Path) -> _Plan | None:
        """Return the plan in a file, None where it is none of ours."""
        try:
            document = json.loads(file.read_text(encoding="utf-8"))
            files, stale = ([str(name) for name in document[key]] for key in ("files", "stale"))
            last = document.get("last")
            return cls(files, stale, Staged(Path(last["file"]), Path(last["place"])) if last else None)
        except (ValueError, TypeError, LookupError):
            return None

    def follow(self, folder: Path, staging: Path) -> None:
        """Move everything to its place, or nothing if that fails."""
        new, old, names = staging / _NEW, staging / _OLD, [*self.stale, *self.files]
        for name in names:
            (old / name).parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as made:
            for place in sorted({(folder / name).parent for name in self.files}):
                made.enter_context(made_folders(place))
            try:
                self.write(staging)
                for name in names:
                    if (folder / name).is_file():
                        os.replace(folder / name, old / name)
                    if name in self.files:
                        os.replace(new / name, folder / name)
                if self.last is not None:
                    self.last.take_place()
                (staging / _PLAN).unlink()
            except BaseException:
                with suppress(OSError):
                    (staging / _PLAN).unlink(missing_ok=True)
                if self.last is not None and not self.last.file.exists():
                    raise  # everything is in its place
                for name in names:
                    if (old / name).exists():
                        os.replace(old / name, folder / name)
                    elif name in self.files and not (new / name).exists():
                        (folder / name).unlink()
                raise

    def complete(self, folder: Path, staging: Path) -> None:
        """Do what a killed run has left to do; a plan from elsewhere moves nothing out of the folder."""
        new = staging / _NEW
        places = [*self.files, *self.stale, *(f"{staging.name}/{_NEW}/{name}" for name in self.files)]
        if not all(_is_inside(folder, name) for name in places):
            return
        for name in self.files:
            if (new / name).is_file():
                os.replace(new / name, folder / name)
        for name in self.stale:
            (folder / name).unlink(missing_ok=True)
        if self.last is not None and self.last.is_ours():
            self.last.take_place()
            shutil.rmtree(self.last.file.parent, ignore_errors=True)
        shutil.rmtree(staging, ignore_errors=True)


def _plans(folder: Path) -> Iterator[Path]:
    """Return the plans that killed runs have left in a folder."""
    with suppress(OSError):
        yield from folder.glob(f"{STAGING}*/{_PLAN}")


def _complete(folder: Path) -> None:
    """Do what is left of the plans in a folder; the lock must be held."""
    for file in sorted(_plans(folder)):
        plan = _Plan.read(file)
        if plan is not None:
            plan.complete(folder, file.parent)


def _is_inside(folder: Path, name: str) -> bool:
    """Return whether a name stays inside the folder, without links: a plan may come with a folder from elsewhere."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        return False
    return not any((folder / parent).is_symlink() for parent in path.parents if parent.name)


def _beside(folder: Path) -> str:
    """Return how the names begin of what is staged beside a folder."""
    return f".{folder.name[:100]}{STAGING}"


def _remove(left: Path) -> None:
    if left.is_dir():
        shutil.rmtree(left, ignore_errors=True)
    else:
        with suppress(OSError):
            left.unlink()


def _escaped(name: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)
