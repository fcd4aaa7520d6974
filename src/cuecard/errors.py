"""Errors meant for people: what happened, what was expected, what to type.

Every error a user can cause derives from `CueCardError`; the command line prints it as one sentence and ends
with exit code 2, or 1 where an analysis failed. Anything else is a bug and keeps its traceback.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

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


class UnrecognisedError(InputError):
    """Columns fill the roles of no task; `roles` are those that they may have in `task`, for a form to propose."""

    def __init__(self, message: str, task: str | None, roles: Mapping[Any, tuple[str, ...]]) -> None:
        super().__init__(message)
        self.task, self.roles = task, {**roles}


class UsageError(CueCardError):
    """An argument or option is unknown, or does not fit the others."""


class FailedError(CueCardError):
    """The analysis that a command is about failed, as plug-ins may; the message ends with what it raised."""


#: How the command begins that installs an optional part.
INSTALL = "pip install 'cuecard["


class MissingExtraError(CueCardError):
    """An optional package is missing; the message ends with the command that installs it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: {INSTALL}{extra}]'"
        )


P = ParamSpec("P")
T = TypeVar("T")

#: Options of the reader, each with what follows it up to the next space outside quotes.
_OPTION = re.compile(
    r"--(columns|labels|label-file|header|on-error|max-skipped|holdout|task)(?: (?=\S*[=…'\"\w])('[^']*'|[^\s']+))?"
    r"|--(keep-unlabelled)"
)


def in_python(message: str) -> str:
    """Return a message with arguments of `cuecard.load` in place of the options of the command line.

    >>> in_python("type --columns premise=a,label=b, or --on-error skip.")
    'type columns={"premise": "a", "label": "b"}, or on_error="skip".'
    """
    return _OPTION.sub(_argument, message)


def in_form(message: str) -> str:
    """Return a message with the fields of the app's form in place of the options of the command line.

    >>> in_form("type --columns premise=a,label=b.")
    'choose premise for a, label for b in the table of columns.'
    """
    return re.sub(r"\btype (?=choose|enter)", "", _OPTION.sub(_field, message))


def naming_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function whose errors name arguments of Python."""

    @wraps(function)
    def called(*args: P.args, **options: P.kwargs) -> T:
        try:
            return function(*args, **options)
        except CueCardError as error:
            error.args = (in_python(str(error)), *error.args[1:])
            raise

    called.__module__, called.__qualname__ = "cuecard", function.__name__  # what pickle looks it up by
    return called


def _value(text: str | None) -> tuple[str, str]:
    """Return what follows an option without quotes, and the punctuation of the sentence behind it."""
    bare = (text or "").rstrip(".,;:")
    end = (text or "")[len(bare) :]
    try:
        return (shlex.split(bare) or [""])[0], end
    except ValueError:
        return bare, end


def _pairs(value: str) -> list[tuple[str, str]]:
    return [(key, name) for key, _, name in (part.partition("=") for part in value.split(",") if part)]


def _argument(match: re.Match[str]) -> str:
    if match[3]:
        return "keep_unlabelled=True"
    name, (value, end) = match[1].replace("-", "_"), _value(match[2])
    if not match[2]:
        return name
    if name == "columns" or (name == "labels" and "=" in value and not re.search("[<>]| has ", value)):
        return f"{name}={{{', '.join(f'{_quoted(k)}: {_quoted(v)}' for k, v in _pairs(value))}}}{end}"
    return f"{name}={value if _is_number(value) else _quoted(value)}{end}"


def _quoted(text: str) -> str:
    return f'"{text}"'


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


_FIELDS = {"labels": "Names of label values", "header": "Header line", "task": "Task"}


def _field(match: re.Match[str]) -> str:
    name, (value, end) = match[1], _value(match[2])
    if name == "columns" and value:
        chosen = ", ".join(f"{role} for {column}" for role, column in _pairs(value))
        return f"choose {chosen} in the table of columns{end}"
    if name in _FIELDS and value:
        return f"{'enter' if name == 'labels' else 'choose'} {value} in the field {_FIELDS[name]}{end}"
    return match[0]
