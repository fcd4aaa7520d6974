"""The measures of the debiased evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuecard.analysis import Measure, MeasureKind

NAME = "debiased_evaluation"
SIZE = MeasureKind("effective_sample_size", "effective sample size of the test set", "share", "lower")
ACCURACY = MeasureKind("accuracy.{model}", "unweighted accuracy of {model}", "share", "lower")
WEIGHTED = MeasureKind("weighted_accuracy.{model}", "reweighted accuracy of {model}", "share", "lower")
CHANGE = MeasureKind("change.{model}", "change of accuracy of {model} after reweighting", "points", "lower")
BASELINE = MeasureKind("baseline.{model}", "unweighted accuracy of the baseline {model}", "share")
WEIGHTED_BASELINE = MeasureKind(
    "weighted_baseline.{model}", "reweighted accuracy of the baseline {model}", "share"
)
KINDS = (SIZE, ACCURACY, WEIGHTED, CHANGE, BASELINE, WEIGHTED_BASELINE)


def evaluation_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return the accuracy of every model and baseline, unweighted and under the weights."""
    n = summary["n"]
    measures = [SIZE.of(NAME, summary["effective_share"], n=n)]
    for model, part in summary["models"].items():
        plain, weighted = (BASELINE, WEIGHTED_BASELINE) if part["baseline"] else (ACCURACY, WEIGHTED)
        for kind, prefix in ((plain, ""), (weighted, "weighted_")):
            ends = {"low": part[f"{prefix}low"], "high": part[f"{prefix}high"]}
            measures.append(kind.of(NAME, part[f"{prefix}accuracy"], **ends, n=n, model=model))
        if not part["baseline"]:
            ends = {"low": part["change_low"], "high": part["change_high"]}
            measures.append(CHANGE.of(NAME, part["change"], **ends, chance=0.0, n=n, model=model))
    return measures
