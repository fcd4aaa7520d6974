"""Groups of options that several verbs share: declared once as a dataclass, written into every signature that has one.

typer reads the options of a verb from its signature. A parameter whose type is a group means the group's fields::

    @dataclass(frozen=True)
    class Output:
        json: Annotated[bool, typer.Option("--json")] = False

    @grouped
    def audit(output: Output, top: int = 10) -> None: ...  # cuecard audit --json --top 3
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints

import typer

_NAMED = Parameter.KEYWORD_ONLY


def option(*texts: str, panel: str | None = None, default: str | bool = True, **more: Any) -> Any:
    """Return an option of the command line: its names, what stands for its value (unless it is a flag), and its help.

    Args:
        texts: such as "--out", "-o", "DIR", "Write the card here.".
        panel: the panel of the help that lists it.
        default: what the help says about the default, where it is not declared here; or whether it says so.
        more: what else `typer.Option` takes, such as ``min=1``.
    """
    names = [text for text in texts if text.startswith("-")]
    *metavar, explanation = [text for text in texts if not text.startswith("-")]
    return typer.Option(
        *names,
        metavar=metavar[0] if metavar else None,
        help=explanation,
        rich_help_panel=panel,
        show_default=default,
        **more,
    )


def grouped(verb: Callable[..., None]) -> Callable[..., None]:
    """Return the verb with a parameter for every field of its groups; it is called with the groups themselves."""
    hints = get_type_hints(verb, include_extras=True)
    groups: dict[str, type[Any]] = {}
    parameters: dict[str, Parameter] = {}
    for name, parameter in signature(verb).parameters.items():
        if is_dataclass(hints[name]):
            groups[name] = hints[name]
            parameters |= _of_group(groups[name])
        else:
            parameters[name] = parameter.replace(kind=_NAMED, annotation=hints[name])

    @wraps(verb)
    def flat(**values: Any) -> None:
        made = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        verb(**made, **values)

    flat.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    flat.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
    return flat


def _of_group(group: type[Any]) -> dict[str, Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return {
        field.name: Parameter(
            field.name,
            _NAMED,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    }


def explicit_options(**options: Any) -> dict[str, Any]:
    """Return the options that the user typed: those that are not None. Defaults live with what they are defaults of."""
    return {name: value for name, value in options.items() if value is not None}
