"""JSON documents become values of declared types; whatever is wrong with one is said in the same shape.

The shape is: where (file, line or field), what was expected, what is there, what to do. Logs of other tools, cards
and any other file of settings are read through here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from cuecard.errors import InputError, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

#: Characters of a value, or of the path of a field, that are shown in a message.
SHOWN_VALUE, SHOWN_FIELD = 60, 120
#: How pydantic names the alternatives of a union within a path.
_ALTERNATIVE = re.compile(
    r"^(?:str|int|float|bool|constrained-\w+|(?:list|dict|tuple|union|literal|function-\w+)\[.*)$"
)
#: Reasons of the parser that need other words.
_REASONS = {
    "recursion limit exceeded": "it is nested too deeply",
    "number out of range": "it has a number of more than 4,300 digits",
    "lone leading surrogate in hex escape": "it has half of a character, a lone surrogate",
    "unexpected end of hex escape": "it has half of a character, a lone surrogate",
}


def parse_json(data: bytes | str, where: str, remedy: str) -> Any:
    """Return the value of a JSON text; bytes must be UTF-8, and nesting is limited to 200 levels."""
    from pydantic_core import from_json

    one_line = ("\n" if isinstance(data, str) else b"\n") not in data  # type: ignore[operator]
    try:
        return from_json(data.removeprefix(b"\xef\xbb\xbf") if isinstance(data, bytes) else data)
    except (ValueError, RecursionError) as error:
        reason = re.sub(r" at line (1 )?column", ", column", str(error)) if one_line else str(error)
        for theirs, ours in _REASONS.items():
            reason = reason.replace(theirs, ours)
        raise InputError(f"{where} is not valid JSON ({printable(reason, 200)}): {remedy}.") from None


def checked(kind: type[T] | Any, document: Any, where: str, remedy: str) -> T:
    """Return a document as a value of a type that pydantic knows, or raise an error about its first wrong field.

    Args:
        kind: a pydantic model, a dataclass or any annotation, such as ``list[str]``.
        document: what was parsed.
        where: the file, and the line if it has several documents.
        remedy: what to type or to do.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        value: T = TypeAdapter(kind).validate_python(document)
    except ValidationError as error:
        # Of the alternatives of a union, the one that got furthest says what was meant.
        first = max(error.errors(include_url=False), key=lambda fault: _depth(fault["loc"]))
        raise InputError(f"{where}: {_fault(first)}: {remedy}.") from None
    except RecursionError:
        raise InputError(f"{where} is nested too deeply: {remedy}.") from None
    return value


def _depth(place: Sequence[int | str]) -> int:
    return len(place) and sum(isinstance(part, int) or part.isidentifier() for part in place)


def _fault(fault: Any) -> str:
    """Return what is wrong with a field: "samples[3].id should be a valid string, not a list"."""
    field = field_path(fault["loc"]) or "the document"
    if fault["type"] == "missing":
        return f"{field} is missing"
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"{field} is not a field that is read here"
    # "Input should be a valid integer, unable to parse …" and "… or instance of X" say more than a user needs.
    message = re.split(r", unable| or instance of", printable(fault["msg"], 200))[0]
    expected = message.removeprefix("Input ").removeprefix("Value error, ")
    if not expected.startswith("should"):
        expected = f"is not valid ({expected[:1].lower()}{expected[1:]})"
    return f"{field} {expected}, not {_described(fault['input'])}"


def field_path(place: Sequence[int | str]) -> str:
    """Return the path of a field as it is written: samples[3].scores.match.answer."""
    kept = [part for part in place if not (isinstance(part, str) and _ALTERNATIVE.match(part))]
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in kept]
    return printable("".join(parts).removeprefix("."), SHOWN_FIELD)


def _described(value: Any) -> str:
    """Return what a value is: short ones as they are, others by their kind."""
    if value is None:
        return "null"
    if isinstance(value, list | tuple):
        return f"a list of {len(value):,}"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, int | float) and abs(value) >= 10**15:
        return "a number beyond 10^15"
    return printable(repr(value), SHOWN_VALUE)
