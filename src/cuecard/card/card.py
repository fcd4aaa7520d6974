"""The result of an audit: one JSON document with its tables, which every view and tool reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from cuecard._lazy import drawing
from cuecard.analysis import (
    SEVERITIES,
    About,
    Finding,
    Measure,
    Status,
    most_serious_first,
    severity_of,
)
from cuecard.errors import UsageError
from cuecard.registry import unknown_name
from cuecard.wording import plural

#: Version of the card's schema; grows when a reader of older cards would be misled.
SCHEMA_VERSION: Literal["2"] = "2"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SplitInfo(_Frozen):
    """Size and label balance of one split."""

    examples: int
    instances: int
    labels: dict[str, int] = Field(description="Instances per label.")


class DatasetInfo(_Frozen):
    """What was audited."""

    name: str
    task: Literal["pair", "choice", "preference", "text", "open"]
    labels: list[str]
    splits: dict[str, SplitInfo]
    fingerprint: str = Field(description="Content hash of texts, labels and splits.")
    files: list[str] = Field(default_factory=list)
    columns: dict[str, str] = Field(default_factory=dict, description="Role to the column it was read from.")
    dropped: dict[str, int] = Field(
        default_factory=dict, description="Reason to the number of rows left out."
    )
    notes: list[str] = Field(default_factory=list)


class Section(BaseModel):
    """One analysis on the card: done, skipped (why) or failed (error), never silently missing."""

    model_config = ConfigDict(extra="forbid")

    title: str
    status: Status
    about: About = Field(default="data", description="What it is about.")
    caveat: str = Field(default="", description="How to read its numbers.")
    reason: str = Field(default="", description="Why it was skipped, or the error it failed with.")
    parameters: dict[str, Any] = Field(default_factory=dict)
    settled: dict[str, str | int | float] = Field(
        default_factory=dict, description="What it chose where the parameters left it open."
    )
    measures: list[Measure] = Field(
        default_factory=list, description="What comparisons, gates and charts read: one number each."
    )
    summary: dict[str, Any] = Field(
        default_factory=dict, description="For the section's own view; its shape may change between versions."
    )
    tables: list[str] = Field(default_factory=list, description="Names of its tables, tables/<name>.parquet.")
    sampled: dict[str, int] = Field(
        default_factory=dict,
        description="Split to the number of randomly drawn examples it is about, where it is not about all.",
    )

    _frames: Mapping[str, pl.DataFrame] = PrivateAttr(default_factory=dict)
    _card: Card | None = PrivateAttr(default=None)

    @property
    def extras(self) -> list[str]:
        """The optional parts of CueCard that had a part in its numbers."""
        return [extra for extra in str(self.settled.get("extras", "")).split(",") if extra]

    @property
    def table(self) -> pl.DataFrame:
        """Its first table, as a polars frame."""
        if not self.tables:
            why = f" ({self.status}: {self.reason})" if self.reason else ""
            raise KeyError(f"The section {self.title!r} has no table{why}.")
        return self._frames[self.tables[0]]

    def chart(self, name: str) -> Any:
        """Return one of its charts as an Altair chart; a name that it does not have is answered with the list."""
        if self._card is None:
            raise KeyError(f"The section {self.title!r} is not on a card that has its tables.")
        here = next(key for key, section in self._card.sections.items() if section is self)
        return drawing().draw_chart(self._card, here, name)

    def __getitem__(self, name: str) -> pl.DataFrame:
        if name not in self.tables:
            raise unknown_name("table", name, self.tables)
        return self._frames[name]


class Provenance(BaseModel):
    """When, with what and how long; the only part of a card that differs between equal runs."""

    model_config = ConfigDict(extra="forbid")

    created: str = ""
    command: str = ""
    versions: dict[str, str] = Field(default_factory=dict)
    seconds: dict[str, float] = Field(default_factory=dict)
    engine: str = Field(default="", description="Where it ran, if the dataset was read in chunks.")
    files: dict[str, str] = Field(
        default_factory=dict, description="SHA-256 of every file that was written with the card, by its name."
    )


#: Columns of `Card.measures`.
MEASURE_SCHEMA: dict[str, Any] = {
    "name": pl.String,
    "section": pl.String,
    "label": pl.String,
    **dict.fromkeys(("value", "low", "high", "chance"), pl.Float64),
    "n": pl.Int64,
    "unit": pl.String,
    "worse": pl.String,
}

#: What `dir(card)` lists.
_OWN_NAMES = (
    "dataset",
    "extras",
    "findings",
    "measure",
    "measures",
    "provenance",
    "report",
    "verdict",
    "save",
    "sections",
    "tables",
)


class Card(BaseModel):
    """Everything CueCard has to say about a dataset."""

    model_config = ConfigDict(extra="forbid")

    cuecard: Literal["2"] = Field(default=SCHEMA_VERSION, description="Version of this schema.")
    dataset: DatasetInfo
    findings: list[Finding] = Field(default_factory=list)
    sections: dict[str, Section] = Field(default_factory=dict)
    provenance: Provenance = Field(default_factory=Provenance)

    _tables: dict[str, pl.DataFrame] = PrivateAttr(default_factory=dict)
    _read_from: str = PrivateAttr(default="")

    @property
    def read_from(self) -> str:
        """The file that the card was read from; empty for one that was made in this process."""
        return self._read_from

    @property
    def tables(self) -> Mapping[str, pl.DataFrame]:
        """All tables of the card by name."""
        return self._tables

    @property
    def tokenisers(self) -> dict[str, str]:
        """How the sections cut texts into tokens, with the language of the texts."""
        chosen = [section.settled for section in self.sections.values() if "tokens" in section.settled]
        return {str(one["tokens"]): str(one.get("language", "")) for one in chosen}

    @property
    def measures(self) -> pl.DataFrame:
        """The measures of every section that ran: name, section, label, value, low, high, chance, n, unit, worse."""
        rows = [[getattr(m, name) for name in MEASURE_SCHEMA] for m in self.all_measures()]
        return pl.DataFrame(rows, schema=MEASURE_SCHEMA, orient="row")

    def all_measures(self) -> list[Measure]:
        """Return the measures of every section that ran, in the card's order."""
        return [m for section in self.sections.values() for m in section.measures if section.status == "done"]

    @property
    def extras(self) -> list[str]:
        """The optional parts of CueCard that had a part in its numbers, such as "english"."""
        return sorted({extra for section in self.sections.values() for extra in section.extras})

    @property
    def verdict(self) -> str:
        """What the card says in one sentence: that of the report's first line."""
        headline: str = import_module("cuecard.report.verdict").verdict(self).headline
        return headline

    def measure(self, name: str) -> Measure:
        """Return the measure of that name, such as "partial_input.hypothesis_only.accuracy"."""
        measures = {m.name: m for m in self.all_measures()}
        if name not in measures:
            raise unknown_name("measure", name, list(measures))
        return measures[name]

    def save(self, folder: str | Path) -> Path:
        """Write card.json, tables/ and report.html into a folder, all of them or none, and return its report."""
        from cuecard.card.files import REPORT_FILE, staged_card

        with staged_card(self, Path(folder), drawing().render_html(self, folder)):
            return Path(folder) / REPORT_FILE

    def report(self, file: str | Path) -> Path:
        """Write the report as one HTML file that opens offline, and return its path."""
        written: Path = drawing().write_report(self, file)
        return written

    def __dir__(self) -> list[str]:
        """Return what a user calls, without the machinery of the model."""
        return [*_OWN_NAMES]

    def attach(self, tables: Mapping[str, pl.DataFrame]) -> None:
        """Give the card its tables; sections see them too."""
        self._tables = dict(tables)
        for section in self.sections.values():
            section._frames = self._tables
            section._card = self

    def __repr__(self) -> str:
        states = ", ".join(f"{name} {section.status}" for name, section in self.sections.items())
        remarks = sum(finding.severity == "info" for finding in self.findings)
        counted = f"{plural(len(self.findings) - remarks, 'finding')}, {plural(remarks, 'remark')}"
        return f"Card({self.dataset.name!r}, {counted}; {states})"

    __str__ = __repr__

    def _repr_html_(self) -> str:
        html: str = drawing().notebook_html(self)
        return html

    def __getitem__(self, name: str) -> Section:
        if name not in self.sections:
            raise unknown_name("section", name, list(self.sections))
        return self.sections[name]


_KEYS = ["example_id", "split"]


def join_cards(cards: Sequence[Card], *, command: str = "") -> Card:
    """Return one card with the sections, findings and tables of several about the same data.

    What is on more than one card is taken from the first; columns about examples are put side by side.
    """
    if len({card.dataset.fingerprint for card in cards}) != 1:
        raise UsageError("Only cards about the same data can be joined.")
    sections = {name: section for card in reversed(cards) for name, section in card.sections.items()}
    order = list(dict.fromkeys(name for card in cards for name in card.sections))
    owner = {name: card for card in reversed(cards) for name in card.sections}
    tables = {name: table for card in reversed(cards) for name, table in card.tables.items()}
    tables["examples"] = _examples([card.tables["examples"] for card in cards])
    first = cards[0]
    joined = Card(
        dataset=first.dataset,
        findings=[f for card in cards for f in card.findings if owner.get(f.section, card) is card],
        sections={name: sections[name].model_copy() for name in order},
        provenance=Provenance(
            created=first.provenance.created,
            command=command or first.provenance.command,
            versions=first.provenance.versions,
            seconds={
                name: value for card in reversed(cards) for name, value in card.provenance.seconds.items()
            },
        ),
    )
    joined.attach(tables)
    return joined


def _examples(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    whole = tables[0]
    for table in tables[1:]:
        new = [column for column in table.columns if column not in whole.columns]
        if new:
            whole = whole.join(table.select(*_KEYS, *new), on=_KEYS, how="left", maintain_order="left")
    return whole


def slices(card: Card, name: str) -> dict[str, Measure]:
    """Return the measures named `name.SLICE` by their slice, such as those of every model by the model's name."""
    prefix = f"{name}."
    return {m.name.removeprefix(prefix): m for m in card.all_measures() if m.name.startswith(prefix)}


def value_of(card: Card, name: str) -> float | None:
    """Return the value of a measure, or None where the card does not have it."""
    return next((m.value for m in card.all_measures() if m.name == name), None)


def measures_about(card: Card, about: Sequence[About]) -> list[Measure]:
    """Return the measures of sections that ran and are about one of these."""
    return [
        m
        for section in card.sections.values()
        if section.status == "done" and section.about in about
        for m in section.measures
    ]


def shortcuts(card: Card, about: Sequence[About] = ("data",)) -> list[Measure]:
    """Return the measures that give something away, the largest gain over chance first."""
    giving = [m for m in measures_about(card, about) if m.gain > 0]
    return sorted(giving, key=lambda m: -m.gain)


def largest_shortcut(card: Card) -> Measure | None:
    """Return the measure of the data that gives most away, if any does.

    That is the accuracy with the largest gain over chance (of equal ones, that of a finding), or what the first finding
    is about that is more serious than this gain: a model may rank answers well (AUC) and still always predict the most
    frequent label.
    """
    largest = next(iter(shortcuts(card)), None)
    worst = SEVERITIES.index(severity_of(largest.gain) if largest else "info")
    of_data = measures_about(card, ("data",))
    for finding in most_serious_first(card.findings):
        measured = finding.unit in ("score", "share") and finding.chance is not None
        if measured and finding.coverage == 1.0 and not finding.cue and finding.role == "cue":
            rank = SEVERITIES.index(finding.severity)
            stated = [m for m in of_data if states(finding, m)]
            if not stated:
                continue
            # Several guesses may have one accuracy, of which the finding names one.
            measure = next((m for m in stated if f".{finding.key}." in m.name), stated[0])
            same = largest is not None and measure.value == largest.value
            if rank < worst or (rank == worst and same):
                largest, worst = measure, rank
    return largest


def states(finding: Finding, measure: Measure) -> bool:
    """Return whether a finding states this measure."""
    stated = finding.section, finding.unit, finding.value
    return stated == (measure.section, measure.unit, measure.value) and measure.worse == "higher"
