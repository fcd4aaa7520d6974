"""A row of the calibration page: how often something happened in a number of simulated datasets."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal["level", "power", "coverage"]


@dataclass(frozen=True)
class Row:
    """One simulation: what was counted in which kind of data, over how many datasets, before and now."""

    kind: Kind
    what: str
    """What was counted, such as "a significant cue"."""
    data: str
    """The shape of the data."""
    n: str
    runs: int
    share: float
    """Share of runs in which it happened."""
    before: str = ""
    """The figure under earlier versions, or of the simpler method that the same run has beside."""

    @property
    def interval(self) -> tuple[float, float]:
        """95 % Wilson interval of the share: simulations are samples as well."""
        z2, n = 1.96**2, self.runs
        centre = (self.share + z2 / (2 * n)) / (1 + z2 / n)
        half = 1.96 / (1 + z2 / n) * math.sqrt(self.share * (1 - self.share) / n + z2 / (4 * n * n))
        return max(0.0, centre - half), min(1.0, centre + half)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def how_often(happens: Callable[[int], bool], runs: int, *, seed: int = 0) -> float:
    """Return the share of seeds for which something happens."""
    return sum(bool(happens(seed + i)) for i in range(runs)) / runs
