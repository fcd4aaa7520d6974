"""What a paper prints and how it is regenerated, as one TOML file per paper declares it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Literal

from cuecard.documents import checked
from cuecard.registry import unknown_name

#: result: numbers that a method gives; statement: what a paper says or draws without a number; description: sizes,
#: shares of labels, and correlations of printed columns, which no method of the paper gives.
Kind = Literal["result", "statement", "description"]
CI = "95 % CI"
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
    """A cell of a table of a card: the value of a column in the one row with these values, or a sum `A + B` of columns.

    `low` and `high` are the columns of its confidence interval, where the table has them.
    """

    table: str
    column: str
    where: Mapping[str, str]
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class WordList:
    """Words that the paper lists, beside as many rows of highest value in a table of a card.

    They are in a file of the authors by label, or `listed` here. `where` are values that a row must have, and
    columns of counts must be `at_least` so large.
    """

    table: str
    column: str
    file: str = ""
    label: str = ""
    listed: tuple[str, ...] = ()
    where: Mapping[str, str] = field(default_factory=dict)
    at_least: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Correlation:
    """Two printed columns, by their keys, over the rows of the paper's tables that have both.

    `same` names rows of one table as they are called in another.
    """

    x: str
    y: str
    same: Mapping[str, str] = field(default_factory=dict)


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
    `row` and `column` place a number in the printed table, with `{key}` in one of them; by default, the key is the
    column. `correlate` takes the rows, and needs no run; `plot` only draws them, printed and ours. `missing` says why
    an item cannot be regenerated, `why` what explains a difference. `described` marks what describes the data, such
    as its size, and is no result of a method.
    """

    where: str
    what: str
    run: str = ""
    measure: str = ""
    cell: Cell | None = None
    value: str = ""
    words: WordList | None = None
    correlate: Correlation | None = None
    plot: Correlation | None = None
    chart: str = ""
    row: str = ""
    column: str = "{key}"
    described: bool = False
    printed: Mapping[str, str] = field(default_factory=dict)
    scale: float = 1.0
    interval: bool = False
    tolerance: float | None = None
    missing: str = ""
    why: str = ""
    note: str = ""

    @property
    def kind(self) -> Kind:
        """What the item holds: numbers of a method, or only words or a drawing, or what describes the data."""
        if self.described or self.correlate is not None:
            return "description"
        return "result" if any(text[0] not in "<>" for text in self.printed.values()) else "statement"

    @property
    def criterion(self) -> str:
        """When a number counts as the printed one, in words."""
        if not self.printed:
            return "the figure is drawn" if self.chart else ""
        exact = "the last printed digit" if self.tolerance is None else f"±{self.tolerance:g}"
        return f"{exact}, or our {CI}" if self.interval else exact


@dataclass(frozen=True)
class Paper:
    """A paper with its items.

    `headings` are the printed names of keys, rows and columns; `order` has the rows of a table in their printed order,
    where the items are in another.
    """

    name: str
    title: str
    reference: str
    items: tuple[Item, ...]
    runs: Mapping[str, Run] = field(default_factory=dict)
    headings: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_paper(name: str) -> Paper:
    """Return what one of the papers prints, and how it is regenerated."""
    if name not in PAPERS:
        raise unknown_name("paper", name, list(PAPERS))
    file = files("cuecard_papers") / "printed" / f"{name}.toml"
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    paper: Paper = checked(Paper, {"name": name, **document}, file.name, "mend the file")
    return paper
