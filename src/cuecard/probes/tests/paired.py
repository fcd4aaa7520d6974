"""Paired comparison: which of two models is better on the same test examples, in all and per cue?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import About, Finding, Measure, MeasureKind, Need, Result, Skip
from cuecard.data import TASKS, Instances, Task
from cuecard.probes.cues.cue_set import CueSet
from cuecard.probes.naming import q_of
from cuecard.probes.predictions import Predictions
from cuecard.probes.shared_texts import effect_on_mean, effects_of
from cuecard.stats import format_p
from cuecard.stats.models.design_effect import deflated_log10_p, widened
from cuecard.stats.models.paired import paired_by_cue, paired_comparison
from cuecard.wording import percent, points

DIFFERENCE = MeasureKind("difference.{model}.{other}", "accuracy of {model} minus that of {other}", "points")
P_VALUE = MeasureKind("p.{model}.{other}", "p-value of the difference of {model} and {other}", "p")


def paired_measures(summary: Mapping[str, Any]) -> list[Measure]:
    """Return the accuracy difference of every two models with its interval and p-value."""
    measures = []
    for pair in summary["pairs"]:
        name, two = "paired_comparison", {"model": pair["model_a"], "other": pair["model_b"]}
        ends = {"low": pair["low"], "high": pair["high"], "n": pair["n"]}
        measures.append(DIFFERENCE.of(name, pair["difference"], **ends, chance=0.0, **two))
        measures.append(P_VALUE.of(name, pair["log10_p"], n=pair["n"], **two))
    return measures


@dataclass(frozen=True)
class PairedComparison:
    """Exact McNemar test and bootstrap interval of the accuracy difference of every two models.

    Args:
        draws: resamples behind the intervals.
        alpha: a difference within a cue is significant if its q-value is at most this.
        seed: seed of the resamples.
    """

    name: ClassVar[str] = "paired_comparison"
    title: ClassVar[str] = "Paired comparison"
    tasks: ClassVar[frozenset[Task]] = frozenset(TASKS)
    needs: ClassVar[frozenset[Need]] = frozenset({"test", "predictions", "cues"})
    measures: ClassVar[tuple[MeasureKind, ...]] = (DIFFERENCE, P_VALUE)
    about: ClassVar[About] = "models"
    measured = staticmethod(paired_measures)

    draws: int = 2000
    alpha: float = 0.05
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return one row per two models, and one per two models and cue."""
        if len(predictions) < 2:
            raise Skip("needs at least two models, found one")
        rows: list[dict[str, Any]] = []
        tables, findings = [], []
        for a, b in combinations(predictions, 2):
            right_a, right_b = a.correct(cues.examples), b.correct(cues.examples)
            whole = paired_comparison(right_a, right_b, draws=self.draws, seed=self.seed)
            effect = effect_on_mean(right_a.astype(np.int64) - right_b, cues.shared)
            rows.append(
                {
                    "model_a": a.model,
                    "model_b": b.model,
                    "n": whole.n,
                    "accuracy_a": whole.accuracy_a,
                    "accuracy_b": whole.accuracy_b,
                    "difference": whole.difference,
                    "low": max(float(widened(whole.difference, whole.low, effect)), -1.0),
                    "high": min(float(widened(whole.difference, whole.high, effect)), 1.0),
                    "only_a": whole.only_a,
                    "only_b": whole.only_b,
                    "log10_p": float(deflated_log10_p(whole.log10_p, effect)),
                }
            )
            findings.append(_finding(rows[-1]))
            tables.append(self._by_cue(a, b, cues))
        summary = {"pairs": rows}
        frames = {"paired_comparison": pl.DataFrame(rows), "paired_by_cue": pl.concat(tables)}
        return Result(summary, frames, findings, measures=paired_measures(summary))

    def _by_cue(self, a: Predictions, b: Predictions, cues: CueSet) -> pl.DataFrame:
        right_a, right_b, having = a.correct(cues.examples), b.correct(cues.examples), cues.members.having
        comparison = paired_by_cue(right_a, right_b, having, draws=self.draws, seed=self.seed)
        effects = effects_of(right_a.astype(np.int64) - right_b, having, cues.shared)
        low = np.maximum(widened(comparison.difference, comparison.low, effects), -1.0)
        high = np.minimum(widened(comparison.difference, comparison.high, effects), 1.0)
        log_p = deflated_log10_p(comparison.log10_p, effects)
        q = q_of(log_p)
        return cues.names.select(
            pl.lit(a.model).alias("model_a"), pl.lit(b.model).alias("model_b"), pl.all()
        ).with_columns(
            n=comparison.n,
            only_a=comparison.only_a,
            only_b=comparison.only_b,
            difference=pl.Series(comparison.difference, dtype=pl.Float64).fill_nan(None),
            low=pl.Series(low, dtype=pl.Float64).fill_nan(None),
            high=pl.Series(high, dtype=pl.Float64).fill_nan(None),
            log10_p=log_p,
            q_value=pl.Series(q, dtype=pl.Float64),
            significant=pl.Series(q <= self.alpha, dtype=pl.Boolean),
        )


def _finding(row: dict[str, Any]) -> Finding:
    a, b, difference = str(row["model_a"]), str(row["model_b"]), float(row["difference"])
    low, high, log10_p = (float(row[key]) for key in ("low", "high", "log10_p"))
    p = format_p(log10_p)
    better, worse = (a, b) if difference >= 0 else (b, a)
    clear = log10_p <= -1.30103
    title = f"{better} is more accurate than {worse}" if clear else f"{a} and {b} do not differ significantly"
    text = (
        f"{a} has an accuracy of {percent(float(row['accuracy_a']))} and {b} of {percent(float(row['accuracy_b']))} on "
        f"the same {int(row['n']):,} test examples: a difference of {points(difference)} points (95 % CI "
        f"{points(low)} to {points(high)}; exact McNemar p = {p})."
    )
    return Finding(
        "paired_comparison", "info", title, text, difference, low, high, 0.0, int(row["n"]),
        unit="points", key=f"{a}/{b}",
    )  # fmt: skip
