"""The measures of leakage-neutral weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "neutral_weights"
SIZE = MeasureKind("effective_sample_size", "effective sample size", "share", "lower")
LARGEST = MeasureKind("largest_weight", "largest weight (mean 1)", "score", "higher")
LEAKAGE = MeasureKind("leakage.{when}", "pair-graph accuracy, {when}", "share", "higher")
KINDS = (SIZE, LARGEST, LEAKAGE)


def neutral_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return what the weights cost, and how well the pair graph predicts the label without and with them."""
    n = summary["examples"]
    return [
        SIZE.of(NAME, summary["effective_share"], n=n),
        LARGEST.of(NAME, summary["largest"], n=n),
        *(
            LEAKAGE.of(
                NAME,
                part["accuracy"],
                low=part["low"],
                high=part["high"],
                chance=summary["majority"][when],
                when=when,
            )
            for when, part in summary["leakage_accuracy"].items()
        ),
    ]
