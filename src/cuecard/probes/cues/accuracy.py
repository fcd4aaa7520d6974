"""Accuracy test: is a model more often right where a cue is? (ICQ 3.3.1)"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cuecard.analysis import Finding, Measure, MeasureKind, Result, Row, Severity, Summary, interval
from cuecard.data import Instances
from cuecard.features.family import spoken_cue
from cuecard.probes.cues.cue_set import CueSet
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
from cuecard.view import (
    Axis,
    Bars,
    Column,
    HeatMap,
    KeyFigure,
    Outcome,
    Table,
    View,
    interval_columns,
)
from cuecard.wording import (
    ci,
    display_text,
    percent,
    plural,
    points,
)

MOST_ROWS = 300
_ADJUSTED = "p-value adjusted for multiple tests (false discovery rate)"


def accuracy_view(outcome: Outcome) -> View:
    """Return accuracy gaps per model and cue, and the weakness of every model."""
    models, table = outcome.summary["models"], outcome.tables["accuracy_test"]
    notes = [
        f"{display_text(name, 60)}: {display_text(note, 300)}"
        for name, scores in models.items()
        for note in ([f"read as {scores['read_as']}."] if scores.get("read_as") else []) + scores["notes"]
    ]
    figures = [
        KeyFigure(
            f"{display_text(name, 40)} accuracy",
            percent(scores["accuracy"]),
            ci(scores["low"], scores["high"]),
        )
        for name, scores in models.items()
    ]
    return View(
        lead=[_accuracy(name, scores, outcome.summary["cues"]) for name, scores in models.items()],
        figures=figures,
        charts=[_gap_map(table), _weakness(models)] if table.height else [],
        tables=[_gaps(table)] if table.height else [],
        notes=notes,
    )


def _accuracy(name: str, scores: Summary, cues: int) -> str:
    right = percent(scores["accuracy"])
    accuracy = f"{display_text(name, 60)} has an accuracy of {right} on {scores['n']:,} test examples"
    if "weakness" not in scores:
        return f"{accuracy}."
    corrected = scores["weakness_corrected"]
    # The estimate has no bias, so it is below zero where chance alone would give a larger sum.
    left = (
        f"{100 * corrected:z.1f} corrected for noise" if corrected > 0 else "no more than expected from noise"
    )
    return (
        f"{accuracy}. Its absolute accuracy gaps over {plural(cues, 'cue')} sum to "
        f"{100 * scores['weakness']:z.1f} points, {left} (95 % CI of the true sum "
        f"{100 * scores['weakness_low']:z.1f} to {100 * scores['weakness_high']:z.1f})."
    )


def _gap_map(table: pl.DataFrame) -> HeatMap:
    """Return ΔAcc as a map of models × cues."""
    cells = table.drop_nans("gap")
    rows = cells.rows(named=True)
    cells = cells.with_columns(
        text=pl.Series(
            [f"{points(row['gap'])}{'' if row['significant'] else '°'}" for row in rows], dtype=pl.String
        ),
    )
    return HeatMap(
        title="Accuracy gap by cue",
        data=cells,
        x="model",
        y="feature",
        value=Axis("gap", kind="points"),
        middle=0.0,
        text="text",
        tooltip={
            "gap_low": Column("CI low", "points"),
            "gap_high": Column("CI high", "points"),
            "with_cue": Column("test examples with the cue", "count"),
            "log10_p": Column("p-value", "log10_p"),
        },
        alt="Map of the accuracy gap of each model for each cue; the table has the same numbers.",
        caption="Accuracy with the cue minus without, in points; ° marks a gap that is not significant.",
        name="gaps",
    )


def _weakness(models: Summary) -> Bars:
    """Return Σ|Δ| of every model: raw, and without what noise adds, with its interval."""
    rows = [
        {
            "model": name,
            "raw": scores["weakness"],
            "corrected": max(scores["weakness_corrected"], 0.0),
            "low": scores["weakness_low"],
            "high": scores["weakness_high"],
        }
        for name, scores in models.items()
        if "weakness" in scores
    ]
    schema = {"model": pl.String, **dict.fromkeys(("raw", "corrected", "low", "high"), pl.Float64)}
    return Bars(
        title="Model weakness",
        data=pl.DataFrame(rows, schema=schema).sort("corrected", maintain_order=True),
        y="model",
        x=Axis("corrected", "sum of absolute accuracy gaps, in points", "points"),
        behind="raw",
        low="low",
        high="high",
        alt="Bars of the sum of absolute accuracy gaps of each model, raw and corrected for noise.",
        caption="Grey: raw sum. Blue: corrected for noise. Line: 95 % CI.",
        name="weakness",
    )


def _gaps(table: pl.DataFrame) -> Table:
    columns = {
        "feature": Column("Cue"),
        "model": Column("Model", brief=table["model"].n_unique() > 1),
        "gap": Column("ΔAcc", "points", "accuracy with the cue minus accuracy without, in points"),
        **interval_columns("gap_", "points", brief=True),
        "q_value": Column("q", "probability", _ADJUSTED),
        "accuracy_with": Column("Acc. with", "percent"),
        "accuracy_without": Column("Acc. without", "percent"),
        "with_cue": Column("With cue", "count", "test examples with the cue"),
        "label": Column("Usual label", "label"),
    }
    shown = table.sort(~pl.col("significant"), -pl.col("gap").abs(), nulls_last=True, maintain_order=True)
    title = "Accuracy with and without each cue"
    return Table(title, "accuracy_test", columns, data=shown, most=MOST_ROWS, searchable=True)


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
            # The correction may go below zero, which no sum of sizes is.
            weakness["value"] = max(weakness["value"], weakness["low"])
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
