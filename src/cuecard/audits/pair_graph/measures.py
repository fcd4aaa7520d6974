"""The measures of the pair-graph audit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "pair_graph"
LEAKAGE = MeasureKind("leakage.accuracy", "pair-graph accuracy", "share", "higher")
EXCESS = MeasureKind("leakage.excess", "pair-graph accuracy above chance", "points", "higher")
TRAIN_ONLY = MeasureKind(
    "train_only.accuracy", "pair-graph accuracy, graph of the training set only", "share", "higher"
)
#: Parts and extensions of the graph explain the leak; they are not leaks of their own.
FEATURES = MeasureKind("{features}.accuracy", "accuracy of the graph features {features}", "share")
MAJORITY = MeasureKind("majority.accuracy", "majority baseline of the pair graph", "share")
KINDS = (LEAKAGE, EXCESS, TRAIN_ONLY, FEATURES, MAJORITY)


def pair_graph_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return the accuracy of the leakage features against chance, and of their parts."""
    accuracy, intervals = summary["accuracy"], summary["intervals"]
    chance, n = accuracy["majority"], summary["n"]
    leak = intervals["leakage"]
    excess = accuracy["leakage"] - chance
    measures = [
        LEAKAGE.of(NAME, accuracy["leakage"], **_ends(leak), chance=chance),
        EXCESS.of(NAME, excess, low=leak["low"] - chance, high=leak["high"] - chance, chance=0.0, n=n),
        MAJORITY.of(NAME, chance, n=n),
    ]
    if summary["parts"] is not None:
        part = summary["parts"]["train_only"]
        measures.append(TRAIN_ONLY.of(NAME, part["accuracy"], **_ends(part), chance=chance))
    measures += [
        FEATURES.of(NAME, accuracy[name], **_ends(interval), chance=chance, features=name)
        for name, interval in intervals.items()
        if name != "leakage"
    ]
    return measures


def _ends(interval: Mapping[str, Any]) -> dict[str, Any]:
    return {end: interval[end] for end in ("low", "high", "n")}
