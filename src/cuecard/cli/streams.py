"""Standard streams that may be closed, full, read no further, or that cannot show every character."""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
import sys
import unicodedata
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from cuecard.errors import InputError

_STANDARD = (0, 1, 2)
_OUT = 1
#: Less than this on the disk of a file that standard output goes to is no room for a result.
_ROOM = 4096


@contextmanager
def standard_streams(*, quiet: bool) -> Iterator[None]:
    """Run the body with a standard output that ends in one sentence where it cannot be written.

    Raises before the body where it is clear at once that nothing can be printed. A reader that goes away
    (`cuecard … | head`) is no error: the rest is printed nowhere, and the exit code is that of the command.

    Args:
        quiet: whether nothing will be printed.
    """
    closed = sys.stdout is None
    _fill_closed()
    before = sys.stdout
    if not quiet:
        _check_room(closed)
    if before is not None and before is sys.__stdout__ and isinstance(before, io.TextIOWrapper):
        sys.stdout = _Guarded(
            before.buffer,
            encoding=before.encoding,
            errors=before.errors,
            line_buffering=before.line_buffering,
        )
    try:
        yield
    finally:
        try:
            if sys.stdout is not None:
                sys.stdout.flush()
        finally:
            if isinstance(sys.stdout, _Guarded):
                sys.stdout.detach()
                sys.stdout = before


class _Guarded(io.TextIOWrapper):
    """Standard output whose errors are sentences, and which nobody need read to the end."""

    def write(self, text: str, /) -> int:
        """Write a text; what cannot be written is an `InputError`, a reader that is gone is none."""
        with _one_sentence():
            return super().write(text)
        return len(text)

    def isatty(self) -> bool:
        """Return whether this is a terminal; libraries ask when the process ends, and it is closed then."""
        try:
            return super().isatty()
        except ValueError:
            return False

    def flush(self) -> None:
        """Write what is left."""
        with _one_sentence():
            super().flush()


@contextmanager
def _one_sentence() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        # What is still to be written would fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), _OUT)
        if error.errno != errno.EPIPE:
            raise _unwritable(error.strerror or str(error)) from None


def _unwritable(reason: str) -> InputError:
    return InputError(f"Standard output cannot be written ({reason}): redirect it elsewhere, or add --quiet.")


def _fill_closed() -> None:
    """Open nothing in the place of closed streams, so that no file of ours gets their numbers."""
    for number in _STANDARD:
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = _nowhere()
    if sys.stdout is None:
        sys.stdout = _nowhere()


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _check_room(closed: bool) -> None:
    """Raise if standard output is closed or on a full disk."""
    if closed:
        raise _unwritable("it is closed")
    if sys.stdout is not sys.__stdout__:
        return
    try:
        os.write(_OUT, b"")  # a device that is always full refuses even that
        if stat.S_ISREG(os.fstat(_OUT).st_mode):
            disk = os.fstatvfs(_OUT)
            if disk.f_bavail * disk.f_frsize < _ROOM:
                raise _unwritable(os.strerror(errno.ENOSPC))
    except OSError as error:
        raise _unwritable(error.strerror or str(error)) from None


#: The name under which the error handler is registered.
READABLE = "cuecard.readable"
#: Narrower than this, no line of ours can be laid out.
NARROWEST = 20
_LOOKS_LIKE = {
    "…": "...", "–": "-", "—": "-", "−": "-", "·": "-", "•": "*", "→": "->", "←": "<-", "↑": "^", "↓": "v", "×": "x",
    "“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "≤": "<=", "≥": ">=", "≈": "~", "≠": "!=", "±": "+-", "✓": "ok",
    "✗": "x", "Δ": "Delta ", "ρ": "rho", "κ": "kappa", "χ": "chi", "α": "alpha", "█": "#", "▇": "#", "■": "#",
}  # fmt: skip


def prepare() -> None:
    """Have standard output and error print what their encoding has no character for, and ignore impossible widths.

    JSON keeps its texts: it is printed with the escapes of JSON. What a library says of shared memory that cannot be
    written to is not printed: it works in one process then, as we have it do in any case.
    """
    warnings.filterwarnings("ignore", ".*joblib will operate in serial mode", UserWarning)
    columns = os.environ.get("COLUMNS")
    if columns is not None and not (columns.isdecimal() and int(columns) >= NARROWEST):
        del os.environ["COLUMNS"]
    codecs.register_error(READABLE, _escaped if "--json" in sys.argv[1:] else _readable)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure") and stream.errors != READABLE:
            stream.reconfigure(errors=READABLE)


def _readable(error: UnicodeError) -> tuple[str, int]:
    """Return what looks like the characters that cannot be encoded, or their codes."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    shown = []
    for char in error.object[error.start : error.end]:
        plain = (
            _LOOKS_LIKE.get(char) or unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
        )
        shown.append(plain or char.encode("unicode_escape").decode())
    return "".join(shown), error.end


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Return the characters that cannot be encoded as JSON writes them."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    from json import dumps

    return dumps(error.object[error.start : error.end])[1:-1], error.end
