"""What starts late or apart: names imported when they are first used, and processes of our own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any


def lazy_names(package: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports its names under ``if TYPE_CHECKING:`` only.

    Type checkers, editors and this function read the same import statements, so there is one list of names. A name
    that is also the name of a submodule cannot be lazy: importing the submodule would hide it.
    """
    homes: dict[str, tuple[str, str]] = {}

    def attribute(name: str) -> Any:
        if not homes:
            source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
            homes.update(_imported_for_types(source))
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, original = homes[name]
        value = getattr(import_module(module), original)
        if (
            package == "cuecard"
            and isinstance(value, FunctionType)
            and not module.startswith("cuecard.stats")
        ):
            value = import_module("cuecard.errors").naming_arguments(value)
        setattr(sys.modules[package], name, value)
        return value

    return attribute


def drawing() -> ModuleType:
    """Return the package that draws: it lives above what it draws, and is imported when something is shown."""
    return import_module("cuecard.report")


def _imported_for_types(source: str) -> dict[str, tuple[str, str]]:
    """Return for every name imported under ``if TYPE_CHECKING:`` its module and its name there."""
    blocks = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    ]
    return {
        alias.asname or alias.name: (statement.module, alias.name)
        for block in blocks
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }


#: The interpreter that runs us, without the current folder among the places of modules: that is where users keep data,
#: and a file of theirs that is called `polars.py` must not be run.
PYTHON = (sys.executable, "-P")
