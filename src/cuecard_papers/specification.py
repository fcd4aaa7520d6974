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

    `before` is a command that writes what it reads from `{out}`. `partial` says which part of the paper's data it
    reads, `slow` that it takes more than a minute or two. `card` is the option that names the folder of its card; with
    `json` it writes none, and prints JSON.
    """

    command: str
    before: str = ""
    partial: str = ""
    slow: bool = False
    card: str = "--out"
    json: bool = False

    @property
    def files(self) -> list[str]:
        """The files it reads, relative to their folders."""
        return list(dict.fromkeys(_FILE.findall(f"{self.before} {self.command}")))


@dataclass(frozen=True)
class Cell:
    """A cell of a table of a card: the value of a column in the one row with these values.

    `low` and `high` are the columns of its confidence interval, where the table has them.
    """

    table: str
    column: str
    where: Mapping[str, str]
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class WordList:
    """A list of words in a file of the authors, beside the rows of highest value in a table of a card."""

    file: str
    table: str
    column: str
    label: str


@dataclass(frozen=True)
class Correlation:
    """Two printed columns, by their keys, over the rows of the paper's tables that have both."""

    x: str
    y: str


@dataclass(frozen=True)
class Item:
    """A table, a row of a table or a figure of a paper.

    `printed` holds the numbers as they are printed, by a key that takes the place of `{key}` in what is read: a
    measure, a sum `A + B` of measures, a ratio `A / B` or a relative change `A / B - 1`, a cell of a table, how many
    words of a list are ours too, or a value of printed JSON.
    A figure also names its `chart`, which must be drawn; what the text says of it without a number is printed as
    ">0.5" or "<1". `scale` turns our numbers into the printed unit. An item is reproduced if every number agrees to its
    last printed digit or to `tolerance`; with `interval`, it is also judged by whether the others lie in our confidence
    intervals.
    `row` names the row of the paper's tables, for `correlate`, which needs no run. `missing` says why an item cannot be
    regenerated, `why` what explains a difference.
    """

    where: str
    what: str
    run: str = ""
    measure: str = ""
    cell: Cell | None = None
    value: str = ""
    words: WordList | None = None
    correlate: Correlation | None = None
    chart: str = ""
    row: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)
    scale: float = 1.0
    interval: bool = False
    tolerance: float | None = None
    missing: str = ""
    why: str = ""
    note: str = ""

    @property
    def criterion(self) -> str:
        """When a number counts as the printed one, in words."""
        if not self.printed:
            return "the figure is drawn" if self.chart else ""
        exact = "the last printed digit" if self.tolerance is None else f"±{self.tolerance:g}"
        return f"{exact}, or our 95 % CI" if self.interval else exact


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
    file = files("cuecard_papers") / "printed" / f"{name}.toml"
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    paper: Paper = checked(Paper, {"name": name, **document}, file.name, "mend the file")
    return paper
