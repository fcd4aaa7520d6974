"""The measures of lexical weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "lexical_weights"
SIZE = MeasureKind("effective_sample_size", "effective sample size", "share", "lower")
LARGEST = MeasureKind("largest_weight", "largest weight (mean 1)", "score", "higher")
CONSTRAINED = MeasureKind("constrained", "features balanced", "count")
ERROR = MeasureKind(
    "error.{features}.{when}", "distance of {features} from the target {when}", "points", "higher"
)
SIGNIFICANT = MeasureKind("significant.{when}", "significant features {when}", "count", "higher")
STRONG = MeasureKind("strong.{when}", "strong cues {when}", "count", "higher")
HELD_OUT = MeasureKind("held_out_error", "distance from the target on held-out examples", "points", "higher")
KINDS = (SIZE, LARGEST, CONSTRAINED, ERROR, SIGNIFICANT, STRONG, HELD_OUT)
WHEN = ("before", "after")


def lexical_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return what the weights cost, and what they leave of the features and of the cues."""
    n = summary["examples"]
    measures = [
        SIZE.of(NAME, summary["ess"], n=n),
        LARGEST.of(NAME, summary["max_weight"], n=n),
        CONSTRAINED.of(NAME, summary["constrained"]),
    ]
    measures += [
        ERROR.of(NAME, part[when], chance=part[f"chance_{when}"], features=features, when=when)
        for features, part in summary["err"].items()
        for when in WHEN
    ]
    if held_out := summary.get("held_out"):
        measures.append(HELD_OUT.of(NAME, held_out["err"], chance=held_out["floor"], n=n))
    if cues := summary["cues"]:
        for when in WHEN:
            measures.append(SIGNIFICANT.of(NAME, cues[when]["significant"], when=when))
            measures.append(STRONG.of(NAME, cues[when]["strong"], when=when))
    return measures
