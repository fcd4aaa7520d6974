"""The contract of an audit, a probe and a remedy: declared needs, parameters, `run`, a frozen result.

Whatever happens to an analysis is written on the card as done, skipped (why) or failed (error): it is never
silently missing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, runtime_checkable

import polars as pl

from cuecard.data import Instances, Task

Severity = Literal["high", "medium", "low", "info"]
Status = Literal["done", "skipped", "failed"]
#: From the most to the least serious.
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Evidence:
    """One real example shown beside a finding."""

    example_id: str
    split: str
    label: str
    hypothesis: str
    premise: str = ""
    highlight: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finding:
    """A sentence with numbers: what, how strong, against which chance level, on how many examples."""

    section: str
    severity: Severity
    title: str
    text: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    chance: float | None = None
    n: int | None = None
    evidence: tuple[Evidence, ...] = ()
    cue: str = ""  # as `cuecard explain` takes it


class Graded(Protocol):
    """Anything with a severity: a finding, here or on a card."""

    @property
    def severity(self) -> Severity:
        """How serious it is."""
        ...


G = TypeVar("G", bound=Graded)


def most_serious_first(findings: Iterable[G]) -> list[G]:
    """Return the findings by severity, otherwise in the order they came in."""
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


@dataclass(frozen=True)
class Result:
    """What an analysis learned: numbers (JSON), tables (parquet) and findings (sentences).

    `summary` holds only what JSON can hold; rates in it are fractions. `examples` are columns about examples,
    keyed by `example_id` and `split`, that are joined into the card's table of examples.
    """

    summary: Mapping[str, Any]
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    findings: Sequence[Finding] = ()
    examples: pl.DataFrame | None = None


class Skip(Exception):
    """Raised by `run` when the data turns out not to allow the question; the reason goes on the card."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@runtime_checkable
class Question(Protocol):
    """What can be asked by name and gets a section on the card.

    Implementations are frozen dataclasses: their fields are the parameters, written to the card as they are.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    tasks: ClassVar[frozenset[Task]]


@runtime_checkable
class Analysis(Question, Protocol):
    """A question about data."""

    def run(self, data: Instances) -> Result:
        """Answer the question for this dataset."""
        ...


A = TypeVar("A", bound=Analysis)


def parameters(analysis: Question) -> dict[str, Any]:
    """Return the parameters of an analysis as they are written on the card: only what JSON can hold.

    A field declared with ``metadata={"parameter": False}``, such as who to tell of progress, is none.
    """
    values = {
        f.name: getattr(analysis, f.name)
        for f in fields(analysis)  # type: ignore[arg-type]
        if f.metadata.get("parameter", True)
    }
    plain: dict[str, Any] = json.loads(
        json.dumps(values, default=lambda value: getattr(value, "name", str(value)))
    )
    return plain
