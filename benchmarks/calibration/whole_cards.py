"""False alarms of whole cards: audits of datasets in which nothing gives the label away."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.calibration.clean_sets import CleanSet, claims


@dataclass(frozen=True)
class CardOf:
    """The high and medium findings of the card of one clean dataset."""

    task: str
    shape: str
    n: int
    findings: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def audited(cases: Iterable[CleanSet], *, skip: tuple[str, ...] = ()) -> Iterator[CardOf]:
    """Yield what the whole audit of every dataset claims."""
    for case in cases:
        yield CardOf(case.task, case.shape, case.n, tuple(claims(case, skip=skip)))
