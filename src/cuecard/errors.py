"""Errors meant for people: what happened, what was expected, what to type.

Every error a user can cause derives from `CueCardError`; the command line prints it as one sentence and ends
with exit code 2, or 1 where an analysis failed. Anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

#: Characters of the longest message; of a longer one, the middle is left out.
LONGEST_MESSAGE = 1200
#: Printed though Python does not count them as printable: spaces that do not break, joiners of Persian and Hindi.
_PRINTED = frozenset("\u00a0\u2007\u2009\u202f\u3000\u200c\u200d")


def printable(text: object, limit: int = LONGEST_MESSAGE) -> str:
    """Return a text as one line of at most `limit` characters that cannot steer a terminal.

    Names of columns and files and replies of servers end up in messages: what is not printable (escape sequences,
    characters that turn the direction of writing, halves of characters) is written as its code.
    """
    line = " ".join(str(text).split("\n"))
    if len(line) > limit:
        half = (limit - 3) // 2
        line = f"{line[:half]} … {line[-half:]}"
    if line.isprintable():
        return line
    shown = "".join(
        c if c.isprintable() or c in _PRINTED else " " if c in "\t\r" else c.encode("unicode_escape").decode()
        for c in line
    )
    # Codes are longer than the characters they stand for.
    return shown if len(shown) <= 2 * limit else shown[: 2 * limit - 1] + "…"


class CueCardError(Exception):
    """Base of all errors that the input or the call causes; anything else is a bug."""

    def __init__(self, message: object = "") -> None:
        super().__init__(printable(message))


class InputError(CueCardError):
    """The data cannot be used as it is; the message names the file, the row and the remedy."""


class UsageError(CueCardError):
    """An argument or option is unknown, or does not fit the others."""


class FailedError(CueCardError):
    """The analysis that a command is about failed, as plug-ins may; the message ends with what it raised."""


class MissingExtraError(CueCardError):
    """An optional package is missing; the message ends with the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: pip install 'cuecard[{extra}]'"
        )
