"""The measures of the cluster audit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "clusters"
PECO = MeasureKind("peco", "PECO", "score", "higher")
EXCESS = MeasureKind("excess", "PECO above chance", "score", "higher")
INFORMATION = MeasureKind("information", "label information of the clusters", "bits", "higher")
P_VALUE = MeasureKind("p", "p-value of PECO", "p", "lower")
RELEASED = MeasureKind("peco_released", "PECO as released", "score", "higher")
LEANING = MeasureKind("leaning_share", "texts in clusters that predict a label", "share", "higher")
SIGNIFICANT = MeasureKind("significant", "significant clusters", "count", "higher")
LARGEST = MeasureKind("largest_cluster", "texts in the largest cluster", "share")
KINDS = (PECO, EXCESS, INFORMATION, P_VALUE, RELEASED, LEANING, SIGNIFICANT, LARGEST)


def cluster_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return PECO against shuffled labels, and how much of the set lies in clusters that lean to a label."""
    n = summary["instances"]
    ends = {"low": summary["excess_low"], "high": summary["excess_high"]}
    return [
        PECO.of(NAME, summary["peco_exact_l2"], chance=summary["null_mean"], n=n),
        EXCESS.of(NAME, summary["excess"], **ends, chance=0.0, n=n),
        *_information(summary, n),
        P_VALUE.of(NAME, math.log10(summary["p_value"]), n=n),
        RELEASED.of(NAME, summary["peco_released_l2"], n=n),
        LEANING.of(NAME, summary["leaning_share"], n=n),
        SIGNIFICANT.of(NAME, summary["significant_clusters"], n=n),
        LARGEST.of(NAME, summary["largest_cluster"], n=n),
    ]


def _information(summary: Mapping[str, Any], n: int) -> list[Measure]:
    if "information" not in summary:  # a card of an earlier version
        return []
    ends = {end: summary[f"information_{end}"] for end in ("low", "high")}
    return [INFORMATION.of(NAME, summary["information"], **ends, chance=0.0, n=n)]
