"""Cells of a long simulation that are stored one by one, so that an interrupted run continues."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Cell:
    """A part of a simulation: its name, and what computes its figures."""

    name: str
    compute: Callable[[], dict[str, Any]]


def resumed(cells: Iterable[Cell], path: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of every cell; those in the file are not computed again, and the file ends with the run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    stored = {cell["name"]: cell["figures"] for cell in map(json.loads, lines)}
    for cell in cells:
        if cell.name not in stored:
            stored[cell.name] = cell.compute()
            with path.open("a", encoding="utf-8") as file:
                line = {"name": cell.name, "figures": stored[cell.name]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
        yield stored[cell.name]
    path.unlink(missing_ok=True)
