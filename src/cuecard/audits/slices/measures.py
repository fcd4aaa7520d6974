"""The measures of slices: how many rules work on some slice, and how far each goes at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "slices"
SIGNIFICANT = MeasureKind("significant", "shortcuts on slices that differ from chance", "count", "higher")
EXCESS = MeasureKind("{shortcut}.excess", "{shortcut} above chance, strongest slice", "points")
KINDS = (SIGNIFICANT, EXCESS)


def slice_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return the number of significant tests, and for each shortcut the excess of its strongest slice."""
    measures = [SIGNIFICANT.of(NAME, summary["significant"], n=summary["tests"])]
    measures += [
        EXCESS.of(
            NAME,
            row["excess"],
            low=row["low"] - row["chance"],
            high=row["high"] - row["chance"],
            chance=0.0,
            n=row["n"],
            shortcut=row["rule"],
        )
        for row in summary["strongest"]
    ]
    return measures
