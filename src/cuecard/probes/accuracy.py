"""Accuracy test: is a model more often right where a cue is? (ICQ 3.3.1)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Row, Severity, interval
from cuecard.data import Instances
from cuecard.features.cue_names import spoken_cue
from cuecard.probes.cue_set import CueSet
from cuecard.probes.cue_views import accuracy_view
from cuecard.probes.examples import (
    effects_of,
    for_model,
    share_interval,
    tested_columns,
    versus,
    widened_within,
)
from cuecard.probes.predictions import Predictions, Probe
from cuecard.stats.arrays import Bools, Floats
from cuecard.stats.models.paired import deflated_log10_p
from cuecard.stats.models.weakness import accuracy_gaps, model_weakness
from cuecard.wording import percent, plural, points

#: A gap gets a sentence if its interval lies this far from zero.
NOTABLE_GAP = 0.05
FINDINGS_PER_MODEL = 3

NAME = "accuracy_test"
ACCURACY = MeasureKind("accuracy.{model}", "accuracy of {model}", "share", "lower")
WEAKNESS = MeasureKind("weakness.{model}", "weakness of {model}, corrected for noise", "points", "higher")


def accuracy_measures(summary: Row) -> list[Measure]:
    """Return the accuracy of every model, and the sum of its gaps over the cues."""
    measures = []
    for model, part in summary["models"].items():
        measures.append(ACCURACY.of(NAME, **interval(part, "accuracy"), n=part["n"], model=model))
        if "weakness_corrected" in part:
            weakness = interval(part, "weakness_corrected", "weakness_")
            measures.append(WEAKNESS.of(NAME, **weakness, chance=0.0, n=part["n"], model=model))
    return measures


@dataclass(frozen=True)
class AccuracyTest(Probe):
    """ΔAcc(f) = acc(S_f) − acc(S_¬f) for every cue and model, and the model weakness Σ|Δ|.

    Args:
        alpha: a gap is significant if its q-value over the cues is at most this.
        draws: resamples behind the interval of the weakness.
        seed: seed of the resamples.
    """

    name: ClassVar[str] = NAME
    title: ClassVar[str] = "Accuracy test"
    view = staticmethod(accuracy_view)
    measures: ClassVar[tuple[MeasureKind, ...]] = (ACCURACY, WEAKNESS)

    alpha: float = 0.05
    draws: int = 500
    seed: int = 0

    def run(self, data: Instances, predictions: Sequence[Predictions], cues: CueSet) -> Result:
        """Return one row per model and cue, and the weakness of every model."""
        tables = [accuracy_table(model, cues, alpha=self.alpha) for model in predictions]
        summaries = {model.model: self._summary(model, cues) for model in predictions}
        findings = [f for table in tables for f in _findings(table)]
        if len(predictions) > 1 and len(cues):
            findings.append(_ranking(summaries, len(cues)))
        summary = {"models": summaries, "cues": len(cues), "alpha": self.alpha}
        measures = accuracy_measures(summary)
        return Result(summary, {NAME: pl.concat(tables)}, findings, measures=measures)

    def _summary(self, model: Predictions, cues: CueSet) -> Row:
        right = model.correct(cues.examples)
        share, low, high = share_interval(right, cues.shared)
        scores: dict[str, Any] = {
            "accuracy": share,
            "low": low,
            "high": high,
            "n": len(right),
            "unanswered": model.unanswered,
            "source": model.source,
            "read_as": model.read_as,
            "notes": list(model.notes),
        }
        if len(cues):
            weak = model_weakness(
                right, cues.members.having, draws=self.draws, seed=self.seed, effects=_effects(right, cues)
            )
            scores |= {
                "weakness": weak.weakness,
                "weakness_corrected": weak.corrected,
                "weakness_low": weak.low,
                "weakness_high": weak.high,
            }
        return scores


def accuracy_table(model: Predictions, cues: CueSet, *, alpha: float = 0.05) -> pl.DataFrame:
    """Return a model's accuracy with and without every cue, with interval, exact test and q-value."""
    right = model.correct(cues.examples)
    gaps, effects = accuracy_gaps(right, cues.members.having), _effects(right, cues)
    # Every example has a choice in the first place, so that nothing can be compared with it.
    log_p = np.where((gaps.with_cue > 0) & (gaps.without_cue > 0), gaps.log10_p, np.nan)
    low, high = widened_within(gaps.gap, gaps.low, gaps.high, effects)
    return for_model(cues.names, model.model).with_columns(
        with_cue=gaps.with_cue,
        without_cue=gaps.without_cue,
        accuracy_with=gaps.accuracy_with,
        accuracy_without=gaps.accuracy_without,
        gap=gaps.gap,
        gap_low=low,
        gap_high=high,
        **tested_columns(deflated_log10_p(log_p, effects), alpha),
    )


def _effects(right: Bools, cues: CueSet) -> Floats:
    """Return for every cue how many times the variance of the gap is that of examples that share no text."""
    if not cues.shared:
        return np.ones(len(cues))
    having = np.asarray(cues.members.having.todense())
    return effects_of(right, versus(having, 1 - having), cues.shared)


def _findings(table: pl.DataFrame) -> list[Finding]:
    """Return a sentence for the largest gaps of a model that are significant and not small."""
    notable = table.filter(
        pl.col("significant") & (pl.max_horizontal("gap_low", -pl.col("gap_high")) >= NOTABLE_GAP)
    ).sort(pl.col("gap").abs(), descending=True, maintain_order=True)
    findings = []
    for row in notable.head(FINDINGS_PER_MODEL).iter_rows(named=True):
        name = spoken_cue(row["family"], row["feature"])
        change = "higher" if row["gap"] > 0 else "lower"
        nearest = row["gap_low"] if row["gap"] > 0 else -row["gap_high"]
        severity: Severity = "medium" if nearest >= 2 * NOTABLE_GAP else "low"
        text = (
            f"{row['model']} has an accuracy of {percent(row['accuracy_with'])} on the "
            f"{plural(row['with_cue'], 'test example')} with {name}, and {percent(row['accuracy_without'])} on the "
            f"others: a gap of {points(row['gap'])} points "
            f"(95 % CI {points(row['gap_low'])} to {points(row['gap_high'])}). "
            "Different labels in the two groups can also cause a gap; see the distribution test."
        )
        title = f"Accuracy of {row['model']} is {change} with {name}"
        key = f"{row['model']}/{row['family']}:{row['feature']}"
        gap = interval(row, "gap", "gap_") | {"chance": 0.0, "n": row["with_cue"]}
        findings.append(Finding(NAME, severity, title, text, **gap, unit="points", key=key))
    return findings


def _ranking(summaries: Mapping[str, Row], cues: int) -> Finding:
    order = sorted(summaries, key=lambda name: summaries[name]["weakness_corrected"])
    sums = ", ".join(
        f"{name} {100 * summaries[name]['weakness']:.1f} ({100 * summaries[name]['weakness_corrected']:z.1f} corrected "
        f"for noise, 95 % CI {100 * summaries[name]['weakness_low']:z.1f} to "
        f"{100 * summaries[name]['weakness_high']:z.1f})"
        for name in order
    )
    text = (
        f"Sum of absolute accuracy gaps over {plural(cues, 'cue')}, in points, smallest first: {sums}. "
        "The raw sum grows with noise, so compare the corrected sums and their CIs."
    )
    return Finding(NAME, "info", "Model weakness", text, n=cues, key="weakness", counted="cues")
