"""The measures of the cue audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "cues"
FEATURES = MeasureKind("features", "features tested", "count")
SIGNIFICANT = MeasureKind("significant", "significant features", "count", "higher")
CUES = MeasureKind("cues", "cues", "count", "higher", key=True)
OF_FAMILY = MeasureKind("cues.{family}", "cues, {family}", "count", "higher")
GIVEN_LENGTH = MeasureKind("given_length", "significant features given length", "count", "higher")
KINDS = (FEATURES, SIGNIFICANT, CUES, OF_FAMILY, GIVEN_LENGTH)


def cue_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return how many features were tested, are significant and are cues, overall and by family."""
    by_family = [
        OF_FAMILY.of(NAME, family["cues"], family=name)
        for name, family in summary["families"].items()
        if not family["skipped"]
    ]
    tested = summary["features"]
    whole = [FEATURES.of(NAME, tested)]
    whole += [kind.of(NAME, summary[kind.name], n=tested) for kind in (SIGNIFICANT, CUES)]
    by_length = summary.get("by_length")
    left = [] if by_length is None else [GIVEN_LENGTH.of(NAME, summary["significant"] - by_length)]
    return [*whole, *left, *by_family]
