"""What a paper prints and how it is regenerated, as one TOML file per paper declares it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from cuecard.documents import checked
from cuecard.registry import unknown_name

PAPERS = ("icq", "stubborn", "selection", "peco")
_FILE = re.compile(r"\{(?:data|authors)\}/([^\s]+)")


@dataclass(frozen=True)
class Run:
    """A command of ours; `{data}` is the folder of datasets, `{authors}` that of the authors' files, `{out}` its own.

    `partial` says which part of the paper's data it reads, `slow` that it takes more than a minute or two. `card` is
    the option that names the folder of its card; with `json` it writes none, and prints JSON.
    """

    command: str
    partial: str = ""
    slow: bool = False
    card: str = "--out"
    json: bool = False

    @property
    def files(self) -> list[str]:
        """The files it reads, relative to their folders."""
        return _FILE.findall(self.command)


@dataclass(frozen=True)
class Cell:
    """A cell of a table of a card: the value of a column in the one row with these values."""

    table: str
    column: str
    where: Mapping[str, str]


@dataclass(frozen=True)
class Item:
    """A table, a row of a table or a figure of a paper.

    `printed` holds the numbers as they are printed, by a key that takes the place of `{key}` in what is read: a
    measure or a sum of measures, a cell of a table, a value of printed JSON, or a chart of a section. `scale` turns
    our numbers into the printed unit. An item is reproduced if every number agrees to its last printed digit or, with
    `interval`, if the printed number lies in our confidence interval. `missing` says why it cannot be regenerated,
    `why` what explains a difference.
    """

    where: str
    what: str
    run: str = ""
    measure: str = ""
    cell: Cell | None = None
    value: str = ""
    chart: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)
    scale: float = 1.0
    interval: bool = False
    missing: str = ""
    why: str = ""
    note: str = ""


@dataclass(frozen=True)
class Paper:
    """A paper with its items."""

    name: str
    title: str
    reference: str
    items: tuple[Item, ...]
    runs: Mapping[str, Run] = field(default_factory=dict)


def read_paper(name: str) -> Paper:
    """Return what one of the papers prints, and how it is regenerated."""
    if name not in PAPERS:
        raise unknown_name("paper", name, list(PAPERS))
    file = files("cuecard.reproduce.papers") / f"{name}.toml"
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    paper: Paper = checked(Paper, {"name": name, **document}, file.name, "mend the file")
    return paper
