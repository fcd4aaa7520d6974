"""The measures of style: how well it predicts the choice, how much it explains, and every coefficient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "style"
ACCURACY = MeasureKind("accuracy", "style-only accuracy", "share", "higher", key=True)
PSEUDO_R2 = MeasureKind("pseudo_r2", "McFadden's pseudo-R² of style", "score", "higher")
INFORMATION = MeasureKind("information", "pointwise V-information of style", "bits", "higher")
COEFFICIENT = MeasureKind(
    "{feature}.coefficient", "log odds ratio of {feature} per standard deviation", "score"
)
RANK_CHANGE = MeasureKind("{model}.rank_change", "rank of {model} gained at equal style", "count")
KINDS = (ACCURACY, PSEUDO_R2, INFORMATION, COEFFICIENT, RANK_CHANGE)


def style_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return the measures of a summary."""
    n = summary["n"]
    accuracy, bits = summary["accuracy"], summary["information"]
    measures = [
        ACCURACY.of(
            NAME, accuracy["value"], low=accuracy["low"], high=accuracy["high"], chance=summary["chance"], n=n
        ),
        PSEUDO_R2.of(NAME, summary["pseudo_r2"], chance=0.0, n=n),
        INFORMATION.of(NAME, bits["value"], low=bits["low"], high=bits["high"], chance=0.0, n=n),
    ]
    measures += [
        COEFFICIENT.of(
            NAME,
            row["coefficient"],
            low=row["low"],
            high=row["high"],
            chance=0.0,
            n=row["differing"],
            feature=row["feature"],
        )
        for row in summary["coefficients"]
    ]
    measures += [
        RANK_CHANGE.of(
            NAME,
            row["rank_change"],
            low=row["rank_change_low"],
            high=row["rank_change_high"],
            chance=0.0,
            n=row["n"],
            model=row["model"],
        )
        for row in summary.get("models", [])
    ]
    return measures
