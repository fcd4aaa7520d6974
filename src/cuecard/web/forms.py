"""The options of analyses as a form: made from the parameters that they declare.

`python -m cuecard.web.forms` prints all of them. The server asks a process for them, so that it never loads the
libraries that analyses need.
"""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import MISSING, fields
from functools import cache
from threading import Lock
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from cuecard._processes import PYTHON
from cuecard.analysis import Analysis

_LOADING = Lock()


def all_forms() -> dict[str, Any]:
    """Return the forms of all audits and remedies, and the models that can be trained; a process looks once."""
    with _LOADING:
        return _loaded()


@cache
def _loaded() -> dict[str, Any]:
    words = [*PYTHON, "-m", "cuecard.web.forms"]
    output = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    answer: dict[str, Any] = json.loads(output)
    return answer


def names_in(kind: str) -> list[str]:
    """Return the names of the audits, remedies or models."""
    return [one if isinstance(one, str) else one["name"] for one in all_forms()[kind]]


def forms(kinds: Mapping[str, type[Analysis]]) -> list[dict[str, Any]]:
    """Return for every analysis, by the name users type: title, first sentence, and parameters as fields."""
    return [
        {
            "name": name,
            "title": kind.title,
            "about": _sentence(kind),
            "tasks": sorted(kind.tasks),
            "fields": _fields(kind),
        }
        for name, kind in kinds.items()
    ]


def _sentence(kind: type[Any]) -> str:
    text = inspect.getdoc(kind) or ""
    return text.split("\n\n", 1)[0].replace("\n", " ")


def _fields(kind: type[Any]) -> list[dict[str, Any]]:
    hints, help_of = get_type_hints(kind), _help(kind)
    shown = []
    for one in fields(kind):
        if not one.metadata.get("parameter", True):
            continue
        control = _control(hints[one.name])
        if control is None:
            continue
        default = None if one.default is MISSING else one.default
        written = ",".join(map(str, default)) if isinstance(default, tuple) else default
        shown.append({"name": one.name, "help": help_of.get(one.name, ""), "default": written, **control})
    return shown


def _control(hint: Any) -> dict[str, Any] | None:
    """Return the kind of field that takes a value of a type, None where a page cannot offer one."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        rest = [a for a in arguments if a is not NoneType]
        literal = [a for a in rest if get_origin(a) is Literal]
        inner = _control((literal or rest)[0]) if rest else None
        return None if inner is None else inner | {"optional": NoneType in arguments}
    if origin is Literal:
        return {"kind": "choice", "choices": [str(a) for a in arguments]}
    if hint is bool:
        return {"kind": "flag"}
    if hint in (int, float):
        return {"kind": "number", "whole": hint is int}
    if hint is str:
        return {"kind": "text"}
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        return {"kind": "text", "several": True} if _control(arguments[0]) else None
    return None


def _help(kind: type[Any]) -> dict[str, str]:
    """Return what a class' docstring says of each parameter."""
    _, _, listed = (inspect.getdoc(kind) or "").partition("Args:\n")
    described = re.findall(r"^ {4}(\w+): ((?:.+\n?)(?: {8}.+\n?)*)", listed, re.MULTILINE)
    return {name: re.sub(r"\s+", " ", text).strip() for name, text in described}


def main() -> None:
    """Print what can be chosen, as JSON and nothing else, whatever plug-ins print when they are imported."""
    with redirect_stdout(sys.stderr):
        from cuecard.audits import AUDITS
        from cuecard.models import MODELS
        from cuecard.remedies import REMEDIES

        audits, remedies = ({n: kinds.get(n) for n in kinds.names()} for kinds in (AUDITS, REMEDIES))
        answer = {"audits": forms(audits), "remedies": forms(remedies), "models": MODELS.names()}
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
