"""Parameters of single analyses, written as SECTION.PARAMETER=VALUE."""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from cuecard.errors import UsageError
from cuecard.registry import unknown_name

#: Section → parameter → value.
Settings = Mapping[str, Mapping[str, Any]]
A = TypeVar("A")

_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class _Unreadable(ValueError):
    """A text is no value of a type; the message says what would be."""


def parse_settings(texts: Sequence[str], kinds: Mapping[str, type[Any]]) -> dict[str, dict[str, Any]]:
    """Return the values that texts such as "pair_graph.forest=paper" give to parameters of analyses.

    A value is read by the parameter's type: true or false, a number, one of the names it may have, parts divided by
    commas, or none.

    Args:
        texts: as the user typed them.
        kinds: the dataclass behind every section that can be set.
    """
    settings: dict[str, dict[str, Any]] = {}
    for text in texts:
        path, equals, value = text.partition("=")
        section, dot, parameter = (part.strip() for part in path.partition("."))
        if not (section and dot and parameter and equals):
            raise UsageError(
                f"--set takes SECTION.PARAMETER=VALUE, such as pair_graph.forest=paper, not {text!r}."
            )
        hint = check_setting(section, parameter, kinds)
        try:
            parsed = _read(value.strip(), hint[parameter])
        except _Unreadable as reason:
            raise UsageError(f"--set {section}.{parameter}: {reason}, not {value!r}.") from None
        if parameter in settings.setdefault(section, {}):
            raise UsageError(f"--set {section}.{parameter} is repeated; set it once.")
        settings[section][parameter] = parsed
    return settings


def check_setting(section: str, parameter: str, kinds: Mapping[str, type[Any]]) -> dict[str, Any]:
    """Return the types of a section's parameters, or raise if the section or the parameter does not exist."""
    if section not in kinds:
        raise unknown_name("section in --set", section, list(kinds))
    hints = get_type_hints(kinds[section])
    declared = [field.name for field in fields(kinds[section]) if field.metadata.get("parameter", True)]
    hints_by_name = {name: hints[name] for name in declared}
    if parameter not in hints_by_name:
        raise unknown_name(f"parameter of {section}", parameter, list(hints_by_name))
    return hints_by_name


def with_settings(
    analyses: Iterable[A], settings: Settings | None, kinds: Mapping[str, type[Any]]
) -> list[A]:
    """Return the analyses with their settings; one for a section that does not run is an error."""
    named = {getattr(analysis, "name", ""): analysis for analysis in analyses}
    for section, values in (settings or {}).items():
        for parameter in values:
            check_setting(section, parameter, kinds)
        if section not in named:
            raise UsageError(f"--set {section}.{next(iter(values), '…')}: {section} is not selected to run.")
        named[section] = replace(named[section], **values)  # type: ignore[type-var]
    return list(named.values())


def _read(text: str, hint: Any) -> Any:
    """Return a text as a value of a type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return _first_that_reads(text, arguments)
    if origin is Literal:
        if text in arguments:
            return text
        raise _Unreadable(f"expected one of {', '.join(map(str, arguments))}")
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return tuple(_read(part.strip(), arguments[0]) for part in text.split(",") if part.strip())
    if hint is type(None):
        if text.lower() == "none":
            return None
        raise _Unreadable("expected none")
    if hint is bool:
        if text.lower() in _TRUTH:
            return _TRUTH[text.lower()]
        raise _Unreadable("expected true or false")
    if hint in (int, float):
        try:
            return hint(text.replace("_", ""))
        except ValueError:
            raise _Unreadable("expected a whole number" if hint is int else "expected a number") from None
    if hint is str:
        return text
    raise _Unreadable("expected a value set from Python")


def _first_that_reads(text: str, hints: Sequence[Any]) -> Any:
    """Return the text as the first of several types that it is a value of; text itself comes last."""
    reasons = []
    for hint in sorted(hints, key=lambda hint: (hint is str, hint is not type(None))):
        try:
            return _read(text, hint)
        except _Unreadable as reason:
            reasons.append(str(reason).removeprefix("expected "))
    raise _Unreadable("expected " + " or ".join([*reasons[1:], reasons[0]]))
