"""Terminals that cannot show every character, or say an impossible width."""

from __future__ import annotations

import codecs
import os
import sys
import unicodedata
import warnings

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
