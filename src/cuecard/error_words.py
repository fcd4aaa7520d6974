"""Errors name what the reader can change: options on the command line, arguments in Python, fields in the app."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from cuecard.errors import CueCardError

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
